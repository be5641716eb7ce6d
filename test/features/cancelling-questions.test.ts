/** Questions of cancelled calls, and questions that are not answered in time: the client is notified of their end. */
import { afterEach, describe, expect, test } from "vitest";
import {
  CancelledError,
  elicitQuestion,
  type HandlerContext,
  inputRequired,
  McpServer,
  type Question,
  QuestionError,
} from "../../src/core/index.ts";
import { answersTo, ask, REASON, soon } from "./cancelling.ts";
import {
  closePeers,
  type Json,
  LEGACY_VERSIONS,
  openPeer,
  type Peer,
  type PeerOptions,
  resultOf,
  settle,
} from "./peer.ts";

afterEach(closePeers);

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
  "asking with $how in $version",
  ({ method, capabilities, timeout, answer, ask: asks, version }) => {
    test("times out without an answer: the client is notified, the await rejects with a typed error, and a late answer is ignored", async () => {
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

    test("ends with CancelledError when the request is cancelled: the handler may clean up, and the client is notified", async () => {
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

  test("cancelling one call does not affect another call's open question", async () => {
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

  test("a handler that asks after it was cancelled gets CancelledError at once, and nothing is sent", async () => {
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

  test("a question of onRootsChanged ends with the connection and does not leave a timer", async () => {
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

  test("a cancelled call cancels all questions that it waits for, and reports no failure", async () => {
    const { server, errors, samples } = returningServer({ roots, sampling });
    const peer = await openPeer(server, version, { capabilities });
    void ask(peer, "tools/call", { name: "ask" }, { id: "c" });
    await soon(() => peer.questions.length).toBe(2);
    peer.notify("notifications/cancelled", { requestId: "c" });
    await soon(() => cancellationsOf(peer)).toEqual(peer.questions.map(({ id }) => id));
    await settle(peer);
    expect([answersTo(peer, "c"), errors, samples]).toEqual([[], [], ["cancelled"]]);
  });

  test("when one question is not answered in time, the other questions are cancelled too", async () => {
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

  test("when one question is refused, the other questions are cancelled before the result is sent", async () => {
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

  test("when the client cannot answer one question, no question is sent", async () => {
    const { server, errors } = returningServer({ roots, sampling });
    const peer = await openPeer(server, version, { capabilities: { roots: {} } });
    expect(resultOf(await peer.request("tools/call", { name: "ask" })).isError).toBe(true);
    expect(errors).toMatchObject([{ name: "QuestionError", reason: "unsupported" }]);
    expect(peer.questions).toEqual([]);
  });
});
