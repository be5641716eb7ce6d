/** Cancelled requests of every kind: the handler's signal, the missing response, and what is reported. */
import { afterEach, describe, expect, test } from "vitest";
import {
  CancelledError,
  type HandlerContext,
  McpError,
  McpServer,
  type ServerOptions,
  ToolError,
} from "../../src/core/index.ts";
import { addWatched, answersTo, ask, Held, REASON, soon, WATCHED } from "./cancelling.ts";
import {
  ALL_VERSIONS,
  closePeers,
  type Json,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  openPeer,
  type Peer,
  resultOf,
  settle,
} from "./peer.ts";

afterEach(closePeers);

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

/** Starts a request of this kind and cancels it while its handler runs. Checks that there was no response. */
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

describe.each(ROWS)("a cancelled request to $kind in $version", (row) => {
  test("gives the signal the client's reason, and what the handler then returns is not sent", async () => {
    const { held, errors } = await cancelled(row, new Held());
    expect(held.reasons).toEqual([expect.any(CancelledError)]);
    expect(held.reasons).toMatchObject([{ reason: REASON }]);
    expect(errors).toEqual([]);
  });

  test("gets no response and no report if the handler throws the signal's reason", async () => {
    const { errors } = await cancelled(row, new Held((signal) => signal.throwIfAborted()));
    expect(errors).toEqual([]);
  });

  test("gets no response if the handler throws another exception, which is reported to onError", async () => {
    const mishap = new Error("while cleaning up");
    const { errors } = await cancelled(
      row,
      new Held(() => {
        throw mishap;
      }),
    );
    expect(errors).toEqual([mishap]);
  });

  test("gets no response if the handler throws an McpError", async () => {
    const { errors } = await cancelled(
      row,
      new Held(() => {
        throw new McpError(4001, "too late");
      }),
    );
    expect(errors).toEqual([]);
  });
});

describe.each(ALL_VERSIONS)("cancelling in %s", (version) => {
  test("a ToolError after the cancellation is not sent", async () => {
    const held = new Held(() => {
      throw new ToolError("too late");
    });
    const row = ROWS.find(({ kind }) => kind === "a tool") as (typeof ROWS)[number];
    expect((await cancelled({ ...row, version }, held)).errors).toEqual([]);
  });

  test("the end of a cancelled request is reported once", async () => {
    const held = new Held();
    const ends: string[] = [];
    const options = { onRequestEnd: ({ method }: { method: string }) => void ends.push(method) };
    const row = ROWS.find(({ kind }) => kind === "a tool") as (typeof ROWS)[number];
    const define: Kind["define"] = (given) => ({ ...row.define(given), options });
    await cancelled({ ...row, version, define }, held);
    expect(ends.filter((method) => method === "tools/call")).toEqual(["tools/call"]);
  });
});
