/** Cancelled requests: those of the client, in every kind of handler, and those that a server sends to a client. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  CancelledError,
  elicitQuestion,
  type HandlerContext,
  inputRequired,
  McpError,
  McpServer,
  type Question,
  QuestionError,
  type ServerOptions,
  type SubscriptionPlace,
  ToolError,
} from "../../src/core/index.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { type Members, requestOf, standardHeaders } from "../http/messages.ts";
import { type Child, type Ended, type Message, runChild } from "../node/child.ts";
import {
  ALL_VERSIONS,
  closePeers,
  type Json,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  openPeer,
  type Peer,
  type PeerOptions,
  type RequestHow,
  resultOf,
  settle,
} from "./peer.ts";

afterEach(closePeers);

/** Waits until an expectation holds. Polls often, because there are many tests and each takes only a moment. */
const soon = <Value>(look: () => Value) => expect.poll(look, { interval: 1 });

const REASON = "the user left";

/** Handlers that run until their signal aborts, and the reasons of their signals. */
class Held {
  readonly reasons: unknown[] = [];
  running = 0;
  readonly #leave: ((signal: AbortSignal) => unknown) | undefined;

  /** @param leave How a handler ends once its signal has aborted. @default returns "done" */
  constructor(leave?: (signal: AbortSignal) => unknown) {
    this.#leave = leave;
  }

  async wait(signal: AbortSignal): Promise<string> {
    this.running += 1;
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    this.reasons.push(signal.reason);
    await this.#leave?.(signal);
    return "done";
  }
}

interface Kind {
  readonly kind: string;
  readonly method: string;
  readonly params: Json;
  /** Versions in which the kind exists. @default all versions */
  readonly versions?: readonly string[];
  /** A request to send first, so that there is something to cancel. */
  readonly before?: { readonly method: string; readonly params: Json };
  define(held: Held): { readonly options?: Partial<ServerOptions<unknown>>; add?(server: McpServer): void };
}

const WATCHED = "test://watched";
const addWatched = (server: McpServer) => void server.resource(WATCHED, {}, () => "text");
const suggest = async (held: Held, ctx: HandlerContext) => [await held.wait(ctx.signal)];

const KINDS: readonly Kind[] = [
  {
    kind: "a tool",
    method: "tools/call",
    params: { name: "held", arguments: {} },
    define: (held) => ({ add: (server) => void server.tool("held", {}, (_, ctx) => held.wait(ctx.signal)) }),
  },
  {
    kind: "a tool with a timeout",
    method: "tools/call",
    params: { name: "held", arguments: {} },
    define: (held) => ({
      add: (server) => void server.tool("held", { timeoutMs: 60_000 }, (_, ctx) => held.wait(ctx.signal)),
    }),
  },
  {
    kind: "a prompt",
    method: "prompts/get",
    params: { name: "held" },
    define: (held) => ({ add: (server) => void server.prompt("held", {}, (_, ctx) => held.wait(ctx.signal)) }),
  },
  {
    kind: "a resource",
    method: "resources/read",
    params: { uri: "test://held" },
    define: (held) => ({ add: (server) => void server.resource("test://held", {}, (_, ctx) => held.wait(ctx.signal)) }),
  },
  {
    kind: "a template",
    method: "resources/read",
    params: { uri: "test://held/1" },
    define: (held) => ({
      add: (server) => void server.resourceTemplate("test://held/{id}", {}, (_, __, ctx) => held.wait(ctx.signal)),
    }),
  },
  {
    kind: "a resource provider's reader",
    method: "resources/read",
    params: { uri: "test://elsewhere" },
    define: (held) => ({
      add: (server) => void server.resourceProvider({ read: (_, ctx) => held.wait(ctx.signal) }),
    }),
  },
  {
    kind: "a resource provider's list",
    method: "resources/list",
    params: {},
    define: (held) => ({
      add: (server) =>
        void server.resourceProvider({
          read: () => undefined,
          list: async (ctx) => [{ uri: `test://${await held.wait(ctx.signal)}` }],
        }),
    }),
  },
  {
    kind: "a completer of a prompt",
    method: "completion/complete",
    params: { ref: { type: "ref/prompt", name: "held" }, argument: { name: "a", value: "" } },
    define: (held) => ({
      add: (server) => {
        const complete = { a: (_: string, __: object, ctx: HandlerContext) => suggest(held, ctx) };
        server.prompt("held", { arguments: [{ name: "a" }], complete }, () => "text");
      },
    }),
  },
  {
    kind: "a completer of a template",
    method: "completion/complete",
    params: { ref: { type: "ref/resource", uri: "test://{a}" }, argument: { name: "a", value: "" } },
    define: (held) => ({
      add: (server) => {
        const complete = { a: (_: string, __: object, ctx: HandlerContext) => suggest(held, ctx) };
        server.resourceTemplate("test://{a}", { complete }, () => "text");
      },
    }),
  },
  {
    kind: "onSubscribe",
    method: "resources/subscribe",
    params: { uri: WATCHED },
    versions: LEGACY_VERSIONS,
    define: (held) => ({
      options: { onSubscribe: async (_, { signal }) => void (await held.wait(signal)) },
      add: addWatched,
    }),
  },
  {
    kind: "onSubscribe of a listen request",
    method: "subscriptions/listen",
    params: { notifications: { resourceSubscriptions: [WATCHED] } },
    versions: [MODERN_VERSION],
    define: (held) => ({
      options: { onSubscribe: async (_, { signal }) => void (await held.wait(signal)) },
      add: addWatched,
    }),
  },
  {
    kind: "onUnsubscribe",
    method: "resources/unsubscribe",
    params: { uri: WATCHED },
    versions: LEGACY_VERSIONS,
    before: { method: "resources/subscribe", params: { uri: WATCHED } },
    define: (held) => ({
      options: { onUnsubscribe: async (_, { signal }) => void (await held.wait(signal)) },
      add: addWatched,
    }),
  },
  {
    kind: "a custom method",
    method: "example.com/held",
    params: {},
    define: (held) => ({ add: (server) => void server.method("example.com/held", (_, ctx) => held.wait(ctx.signal)) }),
  },
];

const ROWS = KINDS.flatMap((row) => (row.versions ?? ALL_VERSIONS).map((version) => ({ ...row, version })));

interface Met {
  readonly peer: Peer;
  readonly held: Held;
  readonly errors: readonly unknown[];
}

/** Starts a request of this kind and cancels it while its handler runs. Checks that there was no answer. */
async function cancelled({ define, method, params, before, version }: (typeof ROWS)[number], held: Held): Promise<Met> {
  const errors: unknown[] = [];
  const { options, add } = define(held);
  const onError = (error: unknown) => void errors.push(error);
  const server = new McpServer({ name: "cancelling", version: "1.0.0", onError, ...options });
  add?.(server);
  const peer = await openPeer(server, version);
  if (before) resultOf(await peer.request(before.method, before.params));
  const running = ask(peer, method, params, { id: "c" });
  await soon(() => held.running).toBe(1);
  peer.notify("notifications/cancelled", { requestId: "c", reason: REASON });
  await soon(() => held.reasons.length).toBe(1);
  await settle(peer);
  expect(answersTo(peer, "c")).toEqual([]);
  // The connection still works.
  resultOf(await peer.request(version === MODERN_VERSION ? "server/discover" : "ping"));
  await peer.close();
  expect(await running).toBe("no answer");
  return { peer, held, errors };
}

/** Returns the answer, or "no answer" if the connection closed first. */
function ask(peer: Peer, method: string, params: Json, how?: RequestHow): Promise<unknown> {
  return peer.request(method, params, undefined, how).catch(() => "no answer");
}

function answersTo(peer: Peer, id: unknown): readonly unknown[] {
  return peer.received.filter((message) => (message as Json).id === id && !("method" in (message as Json)));
}

describe.each(ROWS)("$kind in $version", (row) => {
  test("X1 X2 its signal has the client's reason, and what it then returns is not sent", async () => {
    const { held, errors } = await cancelled(row, new Held());
    expect(held.reasons).toEqual([expect.any(CancelledError)]);
    expect(held.reasons).toMatchObject([{ reason: REASON }]);
    expect(errors).toEqual([]);
  });

  test("X2 throwing the signal's reason is neither answered nor reported", async () => {
    const { errors } = await cancelled(row, new Held((signal) => signal.throwIfAborted()));
    expect(errors).toEqual([]);
  });

  test("X2 another exception is not answered, but reported to onError", async () => {
    const mishap = new Error("while cleaning up");
    const { errors } = await cancelled(
      row,
      new Held(() => {
        throw mishap;
      }),
    );
    expect(errors).toEqual([mishap]);
  });

  test("X2 an error that would otherwise be answered is not sent", async () => {
    const { errors } = await cancelled(
      row,
      new Held(() => {
        throw new McpError(4001, "too late");
      }),
    );
    expect(errors).toEqual([]);
  });
});

describe.each(ALL_VERSIONS)("in %s", (version) => {
  test("X2 a handler that ignores its signal runs to its end; neither its answer nor its progress is sent", async () => {
    let [finish, isDone]: [() => void, boolean] = [() => undefined, false];
    const server = new McpServer({ name: "deaf", version: "1.0.0" }).tool("deaf", {}, async (_, ctx) => {
      ctx.progress(1);
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      ctx.progress(2);
      ctx.log("emergency", "too late");
      isDone = true;
      return "done";
    });
    const peer = await openPeer(server, version);
    const running = peer
      .request("tools/call", { name: "deaf" }, { progressToken: "p" }, { id: "c" })
      .catch(() => "none");
    await soon(() => peer.notifications.length).toBe(1);
    peer.notify("notifications/cancelled", { requestId: "c" });
    await new Promise((resolve) => setTimeout(resolve, 0));
    finish();
    await settle(peer);
    expect(isDone).toBe(true);
    expect(peer.notifications).toMatchObject([{ params: { progress: 1 } }]);
    expect(answersTo(peer, "c")).toEqual([]);
    await peer.close();
    expect(await running).toBe("none");
  });

  test("X2 a ToolError after the cancellation is not sent", async () => {
    const held = new Held(() => {
      throw new ToolError("too late");
    });
    const row = ROWS.find(({ kind }) => kind === "a tool") as (typeof ROWS)[number];
    expect((await cancelled({ ...row, version }, held)).errors).toEqual([]);
  });

  test("X2 the end of a cancelled request is reported once", async () => {
    const held = new Held();
    const ends: string[] = [];
    const options = { onRequestEnd: ({ method }: { method: string }) => void ends.push(method) };
    const row = ROWS.find(({ kind }) => kind === "a tool") as (typeof ROWS)[number];
    const define: Kind["define"] = (given) => ({ ...row.define(given), options });
    await cancelled({ ...row, version, define }, held);
    expect(ends.filter((method) => method === "tools/call")).toEqual(["tools/call"]);
  });

  test("X3 unknown, finished and malformed cancellations are ignored", async () => {
    const held = new Held();
    const server = new McpServer({ name: "s", version: "1.0.0" })
      .tool("held", {}, (_, ctx) => held.wait(ctx.signal))
      .tool("quick", {}, () => "quick");
    const peer = await openPeer(server, version);
    resultOf(await peer.request("tools/call", { name: "quick" }, undefined, { id: "over" }));
    const running = ask(peer, "tools/call", { name: "held" }, { id: "1" });
    await soon(() => held.running).toBe(1);
    for (const requestId of ["unknown", "over", 1]) peer.notify("notifications/cancelled", { requestId });
    const malformed = [undefined, {}, { requestId: null }, { requestId: ["1"] }, { requestId: { id: "1" } }, []];
    for (const params of malformed) {
      peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", ...(params ? { params } : {}) });
    }
    const before = peer.received.length;
    resultOf(await peer.request("tools/call", { name: "quick" }));
    expect(held.reasons).toEqual([]);
    expect(peer.received.length - before).toBe(1);
    // A reason of another type is ignored; the request is cancelled anyway.
    peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "1", reason: 7 } });
    await soon(() => held.reasons).toMatchObject([{ name: "CancelledError", reason: undefined }]);
    await peer.close();
    expect(await running).toBe("no answer");
    expect(peer.reports).toEqual([]);
  });

  test("X3 an id that was cancelled can be used again", async () => {
    const held = new Held();
    const server = new McpServer({ name: "s", version: "1.0.0" })
      .tool("held", {}, (_, ctx) => held.wait(ctx.signal))
      .tool("quick", {}, () => "quick");
    const peer = await openPeer(server, version, { judgeClient: false });
    void ask(peer, "tools/call", { name: "held" }, { id: "c" });
    await soon(() => held.running).toBe(1);
    peer.notify("notifications/cancelled", { requestId: "c" });
    await soon(() => held.reasons.length).toBe(1);
    await settle(peer);
    expect(await peer.request("tools/call", { name: "quick" }, undefined, { id: "c" })).toMatchObject({
      result: { content: [{ text: "quick" }] },
    });
  });

  test("X3 a request with the same id on another connection is not affected", async () => {
    const held = new Held();
    const server = new McpServer({ name: "s", version: "1.0.0" }).tool("held", {}, (_, ctx) => held.wait(ctx.signal));
    const [own, other] = [await openPeer(server, version), await openPeer(server, version)];
    const runs = [own, other].map((peer) => ask(peer, "tools/call", { name: "held" }, { id: "same" }));
    await soon(() => held.running).toBe(2);
    own.notify("notifications/cancelled", { requestId: "same", reason: "mine" });
    await soon(() => held.reasons).toMatchObject([{ reason: "mine" }]);
    await settle(own);
    expect(held.reasons).toHaveLength(1);
    other.notify("notifications/cancelled", { requestId: "same", reason: "theirs" });
    await soon(() => held.reasons).toMatchObject([{ reason: "mine" }, { reason: "theirs" }]);
    await own.close();
    await other.close();
    expect(await Promise.all(runs)).toEqual(["no answer", "no answer"]);
  });
});

const PARAMS = { messages: [{ role: "user", content: { type: "text", text: "hi" } }], maxTokens: 10 } as const;
const FORM = { type: "object", properties: { name: { type: "string" } } } as const;

interface Asking {
  readonly how: string;
  readonly method: string;
  readonly capabilities: PeerOptions["capabilities"] & object;
  readonly versions: readonly string[];
  readonly timeout: "askTimeoutMs" | "elicitTimeoutMs";
  readonly answer: Json;
  ask(ctx: HandlerContext): Promise<unknown>;
}

const ASKS: readonly Asking[] = [
  {
    how: "listRoots",
    method: "roots/list",
    capabilities: { roots: {} },
    versions: LEGACY_VERSIONS,
    timeout: "askTimeoutMs",
    answer: { roots: [] },
    ask: (ctx) => ctx.listRoots(),
  },
  {
    how: "sample",
    method: "sampling/createMessage",
    capabilities: { sampling: {} },
    versions: LEGACY_VERSIONS,
    timeout: "askTimeoutMs",
    answer: { model: "m", role: "assistant", content: { type: "text", text: "hello" } },
    ask: (ctx) => ctx.sample(PARAMS),
  },
  {
    how: "elicit",
    method: "elicitation/create",
    capabilities: { elicitation: {} },
    versions: ["2025-06-18", "2025-11-25"],
    timeout: "elicitTimeoutMs",
    answer: { action: "decline" },
    ask: (ctx) => ctx.elicit("Who?", FORM),
  },
  {
    how: "elicitUrl",
    method: "elicitation/create",
    capabilities: { elicitation: { url: {} } },
    versions: ["2025-11-25"],
    timeout: "elicitTimeoutMs",
    answer: { action: "decline" },
    ask: (ctx) => ctx.elicitUrl("Go there", "https://example.com/"),
  },
  {
    how: "ping",
    method: "ping",
    capabilities: {},
    versions: LEGACY_VERSIONS,
    timeout: "askTimeoutMs",
    answer: {},
    ask: (ctx) => ctx.ping(),
  },
];

/** A server with one tool that asks, and a list of what its `await` met. */
function askingServer(ask: Asking["ask"]) {
  const met: unknown[] = [];
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const server = new McpServer({ name: "asker", version: "1.0.0", onError }).tool("ask", {}, async (_, ctx) => {
    try {
      return JSON.stringify({ answer: await ask(ctx) });
    } catch (error) {
      met.push(error);
      // The clean-up takes a turn and is not interrupted.
      await new Promise((resolve) => setTimeout(resolve, 0));
      met.push("cleaned up");
      if (error instanceof QuestionError) return error.reason;
      throw error;
    }
  });
  return { server, met, errors };
}

const cancellationsOf = (peer: Peer) =>
  peer.notifications
    .filter(({ method }) => method === "notifications/cancelled")
    .map(({ params }) => params?.requestId);

describe.each(ASKS.flatMap((row) => row.versions.map((version) => ({ ...row, version }))))(
  "$how in $version",
  ({ method, capabilities, timeout, answer, ask: asks, version }) => {
    test("C8 without an answer in time the client is notified, the await rejects with a typed error, and a late answer is ignored", async () => {
      const { server, met, errors } = askingServer(asks);
      // The other timeout does not apply here.
      const other = timeout === "askTimeoutMs" ? "elicitTimeoutMs" : "askTimeoutMs";
      const peer = await openPeer(server, version, { capabilities, limits: { [timeout]: 20, [other]: 60_000 } });
      const result = resultOf(await peer.request("tools/call", { name: "ask" }));
      expect(result).toMatchObject({ content: [{ text: "timeout" }] });
      expect(met[0]).toBeInstanceOf(QuestionError);
      expect(met[0]).toMatchObject({ reason: "timeout", message: expect.stringContaining(method) });
      await settle(peer);
      const [question] = peer.questions;
      expect(cancellationsOf(peer)).toEqual([question?.id]);
      const before = peer.received.length;
      peer.send({ jsonrpc: "2.0", id: question?.id, result: answer });
      peer.send({ jsonrpc: "2.0", id: question?.id, error: { code: -32603, message: "late" } });
      resultOf(await peer.request("ping"));
      expect([peer.received.length - before, met.length, errors, peer.reports]).toEqual([1, 2, [], []]);
    });

    test("X4 a cancelled handler gets CancelledError from its await and may clean up; the client is notified", async () => {
      const { server, met, errors } = askingServer(asks);
      const peer = await openPeer(server, version, { capabilities });
      const running = ask(peer, "tools/call", { name: "ask" }, { id: "c" });
      await soon(() => peer.questions.length).toBe(1);
      expect(peer.questions).toMatchObject([{ method }]);
      peer.notify("notifications/cancelled", { requestId: "c", reason: REASON });
      await soon(() => met.at(-1)).toBe("cleaned up");
      expect(met[0]).toBeInstanceOf(CancelledError);
      expect(met[0]).toMatchObject({ reason: REASON });
      await settle(peer);
      expect(cancellationsOf(peer)).toEqual([peer.questions[0]?.id]);
      const before = peer.received.length;
      peer.send({ jsonrpc: "2.0", id: peer.questions[0]?.id, result: answer });
      resultOf(await peer.request("ping"));
      expect([peer.received.length - before, answersTo(peer, "c"), errors]).toEqual([1, [], []]);
      await peer.close();
      expect(await running).toBe("no answer");
    });
  },
);

describe.each(LEGACY_VERSIONS)("asking in %s", (version) => {
  const capabilities = { roots: {} };

  test("X4 cancelling one call leaves another's question open", async () => {
    const { server, met } = askingServer((ctx) => ctx.listRoots());
    const peer = await openPeer(server, version, { capabilities });
    void ask(peer, "tools/call", { name: "ask" }, { id: "gone" });
    await soon(() => peer.questions.length).toBe(1);
    const staying = peer.request("tools/call", { name: "ask" }, undefined, { id: "stays" });
    await soon(() => peer.questions.length).toBe(2);
    peer.notify("notifications/cancelled", { requestId: "gone" });
    await soon(() => met.at(-1)).toBe("cleaned up");
    expect(cancellationsOf(peer)).toEqual([peer.questions[0]?.id]);
    peer.send({ jsonrpc: "2.0", id: peer.questions[1]?.id, result: { roots: [] } });
    expect(resultOf(await staying)).toMatchObject({ content: [{ text: '{"answer":[]}' }] });
  });

  test("X4 a handler that asks after it was cancelled gets CancelledError at once, and nothing is sent", async () => {
    const { server, met } = askingServer(async (ctx) => {
      await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve(), { once: true }));
      return ctx.listRoots();
    });
    const peer = await openPeer(server, version, { capabilities });
    void ask(peer, "tools/call", { name: "ask" }, { id: "c" });
    resultOf(await peer.request("ping"));
    peer.notify("notifications/cancelled", { requestId: "c" });
    await soon(() => met).toEqual([expect.any(CancelledError), "cleaned up"]);
    expect(peer.questions).toEqual([]);
  });

  test("C9 a question of onRootsChanged ends with the connection and leaves no timer", async () => {
    const met: unknown[] = [];
    const server = new McpServer({ name: "s", version: "1.0.0" }).onRootsChanged(async (ctx) => {
      await ctx.listRoots().catch((error: unknown) => met.push(error));
    });
    const peer = await openPeer(server, version, { capabilities });
    peer.notify("notifications/roots/list_changed");
    await soon(() => peer.questions.length).toBe(1);
    await peer.close();
    await soon(() => met).toMatchObject([{ name: "QuestionError", reason: "interrupted" }]);
  });
});

describe.each(LEGACY_VERSIONS)("asking by returning in %s", (version) => {
  const roots: Question = { method: "roots/list" };
  const sampling: Question = { method: "sampling/createMessage", params: PARAMS };
  const capabilities = { roots: {}, sampling: {} };

  function returningServer(inputRequests: { readonly [key: string]: Question }) {
    const [errors, samples]: [unknown[], string[]] = [[], []];
    const server = new McpServer({
      name: "asker",
      version: "1.0.0",
      onError: (error) => void errors.push(error),
      onSample: ({ outcome }) => void samples.push(outcome),
    }).tool("ask", {}, (_, ctx) => (ctx.inputResponses.roots ? "done" : inputRequired(inputRequests)));
    return { server, errors, samples };
  }

  test("X4 a cancelled call cancels all questions that it waits for, and reports no failure", async () => {
    const { server, errors, samples } = returningServer({ roots, sampling });
    const peer = await openPeer(server, version, { capabilities });
    void ask(peer, "tools/call", { name: "ask" }, { id: "c" });
    await soon(() => peer.questions.length).toBe(2);
    peer.notify("notifications/cancelled", { requestId: "c" });
    await soon(() => cancellationsOf(peer)).toEqual(peer.questions.map(({ id }) => id));
    await settle(peer);
    expect([answersTo(peer, "c"), errors, samples]).toEqual([[], [], ["cancelled"]]);
  });

  test("C8 when one question is not answered in time, the others are cancelled too", async () => {
    // A question with a longer timeout, if the version has one.
    const hasElicitation = version === "2025-06-18" || version === "2025-11-25";
    const more: { readonly [key: string]: Question } = hasElicitation ? { who: elicitQuestion("Who?", FORM) } : {};
    const { server, errors } = returningServer({ roots, ...more });
    const limits = { askTimeoutMs: 20, elicitTimeoutMs: 60_000 };
    const peer = await openPeer(server, version, { capabilities: { ...capabilities, elicitation: {} }, limits });
    expect(resultOf(await peer.request("tools/call", { name: "ask" })).isError).toBe(true);
    expect(errors).toMatchObject([{ name: "QuestionError", reason: "timeout" }]);
    await settle(peer);
    expect(cancellationsOf(peer)).toEqual(peer.questions.map(({ id }) => id));
  });

  test("S3 when one question is refused, the others are cancelled before the result is sent", async () => {
    const { server, errors, samples } = returningServer({ roots, sampling });
    const peer = await openPeer(server, version, {
      capabilities,
      onRequest: ({ method }) => {
        if (method === "roots/list") throw new Error("not now");
        return new Promise<Json>(() => undefined);
      },
    });
    expect(resultOf(await peer.request("tools/call", { name: "ask" })).isError).toBe(true);
    expect(errors).toMatchObject([{ name: "QuestionError", reason: "refused" }]);
    await settle(peer);
    expect(cancellationsOf(peer)).toEqual([peer.questions[1]?.id]);
    expect(samples).toEqual(["cancelled"]);
  });

  test("S2 when the client cannot answer one question, none is sent", async () => {
    const { server, errors } = returningServer({ roots, sampling });
    const peer = await openPeer(server, version, { capabilities: { roots: {} } });
    expect(resultOf(await peer.request("tools/call", { name: "ask" })).isError).toBe(true);
    expect(errors).toMatchObject([{ name: "QuestionError", reason: "unsupported" }]);
    expect(peer.questions).toEqual([]);
  });
});

describe("R6 onUnsubscribe after the client has disconnected", () => {
  const released = (peers: { places: SubscriptionPlace<unknown>[] }) => ({
    name: "watching",
    version: "1.0.0",
    onUnsubscribe: (_: string, place: SubscriptionPlace<unknown>) => void peers.places.push(place),
  });

  test.each([...LEGACY_VERSIONS])("R6 gets a signal that has not been aborted (%s)", async (version) => {
    const seen = { places: [] as SubscriptionPlace<unknown>[] };
    const server = new McpServer(released(seen));
    addWatched(server);
    const peer = await openPeer(server, version);
    resultOf(await peer.request("resources/subscribe", { uri: WATCHED }));
    await peer.close();
    await soon(() => seen.places).toMatchObject([{ signal: { aborted: false } }]);
  });

  test("R6 gets a signal that has not been aborted (2026-07-28)", async () => {
    const seen = { places: [] as SubscriptionPlace<unknown>[] };
    const server = new McpServer(released(seen));
    addWatched(server);
    const peer = await openPeer(server, MODERN_VERSION);
    const notifications = { resourceSubscriptions: [WATCHED] };
    void ask(peer, "subscriptions/listen", { notifications }, { id: "listen" });
    await soon(() => peer.notifications.length).toBe(1);
    peer.notify("notifications/cancelled", { requestId: "listen" });
    await soon(() => seen.places).toMatchObject([{ signal: { aborted: false } }]);
  });
});

describe("over stdio", () => {
  const FIXTURE = join(import.meta.dirname, "../node/fixtures/cancelling.ts");
  const say = (child: Child, message: Json) =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const cancel = (child: Child, requestId: unknown) =>
    say(child, { method: "notifications/cancelled", params: { requestId, reason: REASON } });

  /** Runs the server with an oracle on its transport and checks that the oracle found no violation. */
  async function serve(talk: (child: Child, next: () => Promise<Message>) => Promise<void>): Promise<Ended> {
    const folder = mkdtempSync(join(tmpdir(), "mcp-edge-cancelling-"));
    try {
      const tapped = join(folder, "report.json");
      const ended = await runChild(FIXTURE, talk, { tapped });
      expect(JSON.parse(readFileSync(tapped, "utf8"))).toMatchObject({ problems: [] });
      return ended;
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  test.each(LEGACY_VERSIONS)(
    "X4 a cancelled handler gets CancelledError from its await, and the client is notified (%s)",
    async (protocolVersion) => {
      const { code, messages, stderr } = await serve(async (child, next) => {
        const clientInfo = { name: "c", version: "1.0.0" };
        say(child, {
          id: 0,
          method: "initialize",
          params: { protocolVersion, capabilities: { roots: {} }, clientInfo },
        });
        await next();
        say(child, { method: "notifications/initialized" });
        say(child, { id: 1, method: "tools/call", params: { name: "asks" } });
        const question = await next();
        cancel(child, 1);
        expect(await next()).toMatchObject({ method: "notifications/cancelled", params: { requestId: question.id } });
        say(child, { id: 2, method: "ping" });
        expect(await next()).toMatchObject({ id: 2, result: {} });
      });
      expect(messages.map(({ id, method }) => (method ? "" : id))).toEqual([0, "", "", 2]);
      // Nothing else is written: a cancellation is not a failure.
      expect([code, stderr]).toEqual([0, `cleaned up after ${REASON}\n`]);
    },
  );

  test("X1 X2 a modern request can be cancelled by notification, and is not answered", async () => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
      "io.modelcontextprotocol/clientInfo": { name: "c", version: "1.0.0" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const { code, messages, stderr } = await serve(async (child) => {
      const heard = new Promise((resolve) => child.stderr.once("data", resolve));
      say(child, { id: 1, method: "tools/call", params: { name: "holds", _meta } });
      await heard;
      cancel(child, 1);
      say(child, { id: 2, method: "tools/list", params: { _meta } });
    });
    expect(messages.map(({ id }) => id)).toEqual([2]);
    expect([code, stderr]).toEqual([0, `holding\ncancelled: ${REASON}\n`]);
  });
});

describe("over HTTP in 2026-07-28", () => {
  const DEFINED: readonly [string, Members, (held: Held, server: McpServer) => void][] = [
    ["tools/call", { name: "held" }, (held, server) => void server.tool("held", {}, (_, ctx) => held.wait(ctx.signal))],
    [
      "prompts/get",
      { name: "held" },
      (held, server) => void server.prompt("held", {}, (_, ctx) => held.wait(ctx.signal)),
    ],
    [
      "resources/read",
      { uri: "test://held" },
      (held, server) => void server.resource("test://held", {}, (_, ctx) => held.wait(ctx.signal)),
    ],
  ];

  test.each(DEFINED)(
    "X2 a client that disconnects during %s causes no failure report",
    async (method, params, define) => {
      const errors: unknown[] = [];
      const ends: string[] = [];
      const held = new Held((signal) => signal.throwIfAborted());
      const server = new McpServer({
        name: "s",
        version: "1.0.0",
        onError: (error) => void errors.push(error),
        onRequestEnd: (end) => void ends.push(end.method),
      });
      define(held, server);
      const handle = createHttpHandler(server, { onError: () => undefined, jsonWaitMs: 0 });
      const message = requestOf("modern", method, params);
      const headers = { "content-type": "application/json", ...(standardHeaders(message) as Record<string, string>) };
      const body = JSON.stringify(message);
      const response = await handle(new Request("http://localhost/mcp", { method: "POST", headers, body }), {});
      await soon(() => held.running).toBe(1);
      await response.body?.cancel();
      await soon(() => ends).toEqual([method]);
      expect([held.reasons.length, errors]).toEqual([1, []]);
    },
  );
});
