import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type AroundHook,
  type ClientCapabilities,
  connect,
  DEFAULT_LIMITS,
  definePrompt,
  defineResource,
  defineTool,
  type ErrorPlace,
  type ErrorReporter,
  type HandlerContext,
  type JSONRPCMessage,
  McpError,
  McpServer,
  type RequestEnd,
  type ServerOptions,
  ToolError,
  type WithContext,
} from "../../src/core/index.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { createPair } from "../harness/pair.ts";
import { runChild } from "../node/child.ts";
import { METHODS } from "../oracle/methods.ts";
import { WireOracle } from "../oracle/oracle.ts";
import {
  ALL_VERSIONS,
  errorOf,
  type Json,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  openPeer,
  type Peer,
  type Response,
  resultOf,
  settle,
} from "./peer.ts";

const IDENTITY = { name: "hooks", version: "1.0.0" };

describe.each(ALL_VERSIONS)("%s", (version) => {
  test("H4 around hooks run in onion order and see method, tool, arguments, result and client", async () => {
    const seen: unknown[] = [];
    const hook =
      (name: string): AroundHook =>
      async (data, next) => {
        seen.push([name, "before", data.method, data.tool, data.arguments]);
        const result = await next();
        seen.push([name, "after", data.result === result, data.client.protocolVersion]);
        return result;
      };
    const server = new McpServer({ ...IDENTITY, around: [hook("outer"), hook("inner")] });
    server.tool("echo", {}, () => "hello");
    const peer = await openPeer(server, version);
    seen.length = 0;
    await peer.request("tools/call", { name: "echo", arguments: {} });
    expect(seen).toEqual([
      ["outer", "before", "tools/call", "echo", {}],
      ["inner", "before", "tools/call", "echo", {}],
      ["inner", "after", true, version],
      ["outer", "after", true, version],
    ]);
    peer.oracle.expectClean();
  });

  test("H4 an around hook sees the objects of a list, and may answer in its place", async () => {
    const names: unknown[] = [];
    const around: AroundHook[] = [
      async (data, next) => {
        const result = await next();
        if (data.method === "tools/list") names.push(...(result.tools as { name: string }[]).map(({ name }) => name));
        return data.tool === "secret" ? { content: [{ type: "text", text: "hidden" }] } : result;
      },
    ];
    const server = new McpServer({ ...IDENTITY, around });
    server.tool("secret", {}, () => "the secret");
    const peer = await openPeer(server, version);
    await peer.request("tools/list");
    expect(names).toEqual(["secret"]);
    const called = await peer.request("tools/call", { name: "secret" });
    expect(called).toMatchObject({ result: { content: [{ text: "hidden" }] } });
    peer.oracle.expectClean();
  });

  test("H4 an around hook refuses with an McpError of its own, and the tool does not run", async () => {
    let runs = 0;
    const around: AroundHook[] = [
      async (data, next) => {
        if (data.tool === "guarded") throw new McpError(4001, "Not today", { until: "tomorrow" });
        return next();
      },
    ];
    const server = new McpServer({ ...IDENTITY, around });
    server.tool("guarded", {}, () => String(++runs));
    const peer = await openPeer(server, version);
    const refused = await peer.request("tools/call", { name: "guarded" });
    expect(refused).toMatchObject({ error: { code: 4001, message: "Not today", data: { until: "tomorrow" } } });
    expect(runs).toBe(0);
    peer.oracle.expectClean();
  });

  test("H4 a hook that returns nothing is -32603, and onError is told which hook it was", async () => {
    const reports: unknown[] = [];
    const forgetful = (async (data, next) => {
      if (data.tool === undefined) return next();
    }) as AroundHook;
    const onError = (error: unknown) => {
      reports.push(error);
    };
    const server = new McpServer({ ...IDENTITY, around: [forgetful], onError });
    server.tool("echo", {}, () => "hello");
    const peer = await openPeer(server, version);
    expect(await peer.request("tools/call", { name: "echo" })).toMatchObject({ error: { code: -32603 } });
    expect(String(reports[0])).toContain("forgetful");
    peer.oracle.expectClean();
  });

  test("H5 the end of each request is told once, on success, failure, and for unknown methods", async () => {
    const ends: RequestEnd[] = [];
    const onRequestEnd = (end: RequestEnd) => {
      ends.push(end);
    };
    const server = new McpServer({ ...IDENTITY, onRequestEnd });
    server.tool("echo", {}, () => "hello");
    server.tool("fails", {}, () => {
      throw new ToolError("no");
    });
    const peer = await openPeer(server, version);
    ends.length = 0;
    await peer.request("tools/call", { name: "echo", arguments: {} });
    await peer.request("tools/call", { name: "fails" });
    await peer.request("tools/call", { name: "absent" });
    await peer.request("example/unknown", {}, undefined, { bad: true });
    expect(ends.map(({ method, tool, errorCode }) => [method, tool, errorCode])).toEqual([
      ["tools/call", "echo", undefined],
      ["tools/call", "fails", undefined],
      ["tools/call", "absent", -32602],
      ["example/unknown", undefined, -32601],
    ]);
    expect(ends.every(({ durationMs, client }) => durationMs >= 0 && client.protocolVersion === version)).toBe(true);
  });

  test("H5: the end of a request has its prompt or URI, and tells success from failure", async () => {
    const ends: RequestEnd[] = [];
    const server = new McpServer({ ...IDENTITY, onRequestEnd: (end) => void ends.push(end) });
    server.prompt("hello", {}, () => "Hello");
    server.resource("hooks://a", {}, () => "a");
    server.tool("fails", {}, () => {
      throw new ToolError("no");
    });
    server.method("example.com/own", () => ({}));
    const peer = await openPeer(server, version);
    ends.length = 0;
    await peer.request("prompts/get", { name: "hello" });
    await peer.request("prompts/get", { name: "none" });
    await peer.request("resources/read", { uri: "hooks://a" });
    await peer.request("tools/call", { name: "fails" });
    await peer.request("example.com/own", {});
    if (version !== MODERN_VERSION) await peer.request("ping");
    const ping = version === MODERN_VERSION ? [] : [["ping", undefined, undefined, "ok", undefined]];
    expect(
      ends.map(({ method, prompt, uri, outcome, errorCode }) => [method, prompt, uri, outcome, errorCode]),
    ).toEqual([
      ["prompts/get", "hello", undefined, "ok", undefined],
      ["prompts/get", "none", undefined, "error", -32602],
      ["resources/read", undefined, "hooks://a", "ok", undefined],
      ["tools/call", undefined, undefined, "error", undefined],
      ["example.com/own", undefined, undefined, "ok", undefined],
      ...ping,
    ]);
  });

  test("H5: a cancelled request ends once, as cancelled, also where its handler pays no attention", async () => {
    const ends: RequestEnd[] = [];
    const server = new McpServer({ ...IDENTITY, onRequestEnd: (end) => void ends.push(end) });
    const started = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    server.tool("deaf", {}, async () => {
      started.resolve();
      await goOn.promise;
      return "done";
    });
    const peer = await openPeer(server, version);
    ends.length = 0;
    peer.request("tools/call", { name: "deaf" }, {}, { id: "deaf" }).catch(() => undefined);
    await started.promise;
    peer.notify("notifications/cancelled", { requestId: "deaf" });
    goOn.resolve();
    await expect
      .poll(() => ends.map(({ requestId, outcome }) => [requestId, outcome]))
      .toEqual([["deaf", "cancelled"]]);
    await peer.close();
  });

  test("H5: the duration is that of the handler and of the hooks around it", async () => {
    const ends: RequestEnd[] = [];
    /** Returns once the clock has moved on by this much, however fast the machine is. */
    const spend = async (ms: number) => {
      const untilMs = performance.now() + ms;
      while (performance.now() < untilMs) await new Promise((resolve) => setTimeout(resolve, 1));
    };
    const around: AroundHook[] = [
      async (_, next) => {
        await spend(10);
        const result = await next();
        await spend(10);
        return result;
      },
    ];
    const server = new McpServer({ ...IDENTITY, around, onRequestEnd: (end) => void ends.push(end) });
    server.tool("slow", {}, async () => {
      await spend(10);
      return "done";
    });
    const peer = await openPeer(server, version);
    ends.length = 0;
    await peer.request("tools/call", { name: "slow" });
    expect(ends).toHaveLength(1);
    expect(ends[0]?.durationMs).toBeGreaterThanOrEqual(30);
  });

  test("H5 a failing end callback changes nothing but what onError hears", async () => {
    const reports: ErrorPlace[] = [];
    const server = new McpServer({
      ...IDENTITY,
      onRequestEnd: () => {
        throw new Error("the metrics are down");
      },
      onError: (_, where) => {
        reports.push(where);
      },
    });
    server.tool("echo", {}, () => "hello");
    const peer = await openPeer(server, version);
    expect(await peer.request("tools/call", { name: "echo" })).toMatchObject({
      result: { content: [{ text: "hello" }] },
    });
    expect(reports.at(-1)?.method).toContain("tools/call");
    peer.oracle.expectClean();
  });

  test("U1 a custom method is served with params and context, and a custom notification is heard", async () => {
    const heard: unknown[] = [];
    const server = new McpServer(IDENTITY);
    server.method("example.com/add", ({ a, b }, ctx) => ({
      sum: Number(a) + Number(b),
      version: ctx.client.protocolVersion,
    }));
    server.notification("notifications/example.com/tick", (params) => {
      heard.push(params.count);
    });
    const peer = await openPeer(server, version);
    expect(await peer.request("example.com/add", { a: 5, b: 3 })).toMatchObject({ result: { sum: 8, version } });
    peer.notify("notifications/example.com/tick", { count: 1 });
    await expect.poll(() => heard).toEqual([1]);
  });
});

test("U1: every name that some version or the tasks extension defines is refused, and no other name", () => {
  const server = new McpServer(IDENTITY);
  const defined = expect.objectContaining({ code: "method-defined" });
  for (const { method } of METHODS) {
    expect(() => server.method(method, () => ({}))).toThrow(defined);
    expect(() => server.notification(method, () => undefined)).toThrow(defined);
  }
  for (const name of [
    "tools/export",
    "tasks/run",
    "rpc.add",
    "skills/list",
    "notifications/tasks/mine",
    "server.info",
  ]) {
    server.method(name, () => ({}));
    server.notification(name, () => undefined);
    expect(() => server.method(name, () => ({}))).toThrow(defined);
    expect(() => server.notification(name, () => undefined)).toThrow(defined);
  }
});

describe.each(ALL_VERSIONS)("U1: notifications of the author's own in %s", (version) => {
  interface Env {
    readonly region: string;
  }
  type Bindings = WithContext<Env, string>;
  const NAME = "notifications/example.com/tick";

  test("U1: a handler gets the context, the bindings, the client and the _meta", async () => {
    const heard: unknown[] = [];
    const server = new McpServer<Bindings>({ ...IDENTITY, context: (_, env) => `in ${env.region}` });
    server.notification(NAME, ({ count }, ctx) => {
      const { context, env, principal, client, meta, signal } = ctx;
      heard.push([
        count,
        context,
        env.region,
        principal,
        client.name,
        client.protocolVersion,
        meta.mine,
        signal.aborted,
      ]);
    });
    const peer = await openPeer(server, version, { env: { region: "north" } as Bindings });
    peer.notify(NAME, { count: 1, _meta: { mine: "kept" } });
    // A modern notification does not say who sent it.
    const name = version === MODERN_VERSION ? undefined : "peer";
    await expect.poll(() => heard).toEqual([[1, "in north", "north", undefined, name, version, "kept", false]]);
  });

  test("U1: around hooks wrap it, see what it says, and may keep it from its handler", async () => {
    const seen: unknown[] = [];
    const around: AroundHook[] = [
      async (data, next) => {
        if (data.method !== NAME) return next();
        seen.push(["before", data.requestId, data.params, data.client.protocolVersion]);
        if (data.params?.count === 2) throw new McpError(4003, "not this one");
        const result = await next();
        seen.push(["after", result]);
        return result;
      },
    ];
    const reports: unknown[] = [];
    const onError: ErrorReporter = (error, where) => void reports.push([String(error), where.method, where.params]);
    const ends: unknown[] = [];
    const onRequestEnd = ({ method }: RequestEnd) => void ends.push(method);
    const server = new McpServer({ ...IDENTITY, around, onError, onRequestEnd });
    server.notification(NAME, ({ count }) => void seen.push(["handler", count]));
    const peer = await openPeer(server, version);
    peer.notify(NAME, { count: 1 });
    await expect.poll(() => seen).toHaveLength(3);
    expect(seen).toEqual([
      ["before", undefined, { count: 1 }, version],
      ["handler", 1],
      ["after", {}],
    ]);
    peer.notify(NAME, { count: 2 });
    await expect.poll(() => reports).toEqual([["McpError: not this one", NAME, { count: 2 }]]);
    expect(seen).toHaveLength(4);
    expect(ends).not.toContain(NAME);
  });

  test("U1: what its handler or the context throws goes to onError with the notification", async () => {
    const reports: ErrorPlace[] = [];
    const onError: ErrorReporter = (_, where) => void reports.push(where);
    let isFailing = true;
    const context = () => {
      if (isFailing) throw new Error("no context");
      return undefined;
    };
    const server = new McpServer({ ...IDENTITY, onError, context });
    let heard = 0;
    server.notification(NAME, async () => {
      heard += 1;
      throw new Error("no handler");
    });
    const peer = await openPeer(server, version);
    reports.length = 0;
    peer.notify(NAME, { count: 1 });
    await expect.poll(() => reports).toMatchObject([{ method: NAME, params: { count: 1 } }]);
    expect(heard).toBe(0);
    isFailing = false;
    peer.notify(NAME, { count: 2 });
    await expect.poll(() => reports).toHaveLength(2);
    expect(reports[1]).toMatchObject({ method: NAME, params: { count: 2 } });
  });
});

describe.each(ALL_VERSIONS)("U1: handlers that never return in %s", (version) => {
  const NAME = "notifications/example.com/hang";
  /** A server whose handlers wait for ever, and the reasons with which their signals aborted. */
  function hanging() {
    const aborted: unknown[] = [];
    const reports: { readonly code: unknown; readonly message: string; readonly method: string }[] = [];
    const hang = ({ signal }: { readonly signal: AbortSignal }) => {
      signal.addEventListener("abort", () => aborted.push((signal.reason as { code?: unknown }).code));
      return new Promise<never>(() => undefined);
    };
    const server = new McpServer({
      ...IDENTITY,
      onError: (error, { method }) => {
        const { code, message } = error as { code?: unknown; message: string };
        reports.push({ code, message, method });
      },
    });
    server.prompt("hang", { arguments: [{ name: "a" }], complete: { a: (_, __, ctx) => hang(ctx) } }, (_, ctx) =>
      hang(ctx),
    );
    server.resource("hooks://hang", {}, (_, ctx) => hang(ctx));
    server.resourceTemplate("hooks://many/{name}", {}, (_, __, ctx) => hang(ctx));
    server.resourceProvider({ list: (ctx) => hang(ctx), read: (_, ctx) => hang(ctx) });
    server.method("example.com/hang", (_, ctx) => hang(ctx));
    server.notification(NAME, (_, ctx) => hang(ctx));
    return { server, aborted, reports };
  }

  test.each([
    ["example.com/hang", {}],
    ["prompts/get", { name: "hang" }],
    ["resources/read", { uri: "hooks://hang" }],
    ["resources/read", { uri: "hooks://many/a" }],
    ["resources/read", { uri: "hooks://elsewhere" }],
    ["resources/list", {}],
    ["completion/complete", { ref: { type: "ref/prompt", name: "hang" }, argument: { name: "a", value: "" } }],
  ] as const)("U1: %s %o ends with -32603 and the reason timeout, and its signal aborts", async (method, params) => {
    const { server, aborted, reports } = hanging();
    const peer = await openPeer(server, version, { limits: { handlerTimeoutMs: 20 } });
    const answer = await peer.request(method, params);
    expect(answer).toMatchObject({ error: { code: -32603, data: { reason: "timeout" } } });
    expect(aborted).toEqual(["timeout"]);
    expect(reports).toMatchObject([{ code: "timeout", method, message: expect.stringContaining("within 20 ms") }]);
  });

  test("U1: a notification's handler is given up, and onError hears of it", async () => {
    const { server, aborted, reports } = hanging();
    const peer = await openPeer(server, version, { limits: { handlerTimeoutMs: 20 } });
    peer.notify(NAME, {});
    await expect.poll(() => reports).toMatchObject([{ code: "timeout", method: NAME }]);
    expect(aborted).toEqual(["timeout"]);
  });

  test("U1: a time of 0 bounds nothing", async () => {
    const server = new McpServer(IDENTITY);
    server.method("example.com/slow", async (_, ctx) => {
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
      return { aborted: ctx.signal.aborted };
    });
    const peer = await openPeer(server, version, { limits: { handlerTimeoutMs: 0 } });
    expect(await peer.request("example.com/slow")).toMatchObject({ result: { aborted: false } });
  });
});

test("U1: handlers other than tools may run for 15 minutes by default", () => {
  expect(DEFAULT_LIMITS.handlerTimeoutMs).toBe(15 * 60_000);
});

test("U1 a custom name that is the protocol's, of any version, or taken is refused where it is defined", () => {
  const server = new McpServer(IDENTITY);
  const names = [
    "ping",
    "initialize",
    "tools/call",
    "server/discover",
    "subscriptions/listen",
    "tasks/get",
    "sampling/createMessage",
  ];
  for (const name of names) {
    expect(() => server.method(name, () => ({}))).toThrow(expect.objectContaining({ code: "method-defined" }));
  }
  const notices = ["notifications/initialized", "notifications/cancelled", "notifications/tools/list_changed"];
  for (const name of notices) {
    expect(() => server.notification(name, () => undefined)).toThrow(
      expect.objectContaining({ code: "method-defined" }),
    );
  }
  server.method("add", () => ({}));
  expect(() => server.method("add", () => ({}))).toThrow(/already defined/);
});

test.each(LEGACY_VERSIONS)("U2 add answers the bare value 8 in %s", async (version) => {
  const server = new McpServer(IDENTITY);
  server.method("add", ({ a, b }) => Number(a) + Number(b));
  // The envelope of every version wants an object; a bare value is what the author chose to send.
  const peer = await openPeer(server, version, { judgeClient: false });
  expect(await peer.request("add", { a: 5, b: 3 })).toMatchObject({ result: 8 });
});

test("U2 add answers { value: 8 } in 2026-07-28, where results are objects", async () => {
  const server = new McpServer(IDENTITY);
  server.method("add", ({ a, b }) => Number(a) + Number(b));
  const peer = await openPeer(server, MODERN_VERSION);
  expect(await peer.request("add", { a: 5, b: 3 })).toMatchObject({ result: { value: 8, resultType: "complete" } });
  peer.oracle.expectClean();
});

test.each(LEGACY_VERSIONS)(
  "H4 a hook that passes on what next() gives leaves a bare result as it is in %s",
  async (version) => {
    const server = new McpServer({ ...IDENTITY, around: [(_, next) => next()] });
    server.method("bare", ({ value }) => value);
    const peer = await openPeer(server, version, { judgeClient: false });
    for (const value of [8, "text", false, [1]]) {
      expect(await peer.request("bare", { value })).toMatchObject({ result: value });
    }
  },
);

test("H4 in 2026-07-28 a hook may not answer with what is no object", async () => {
  const server = new McpServer({ ...IDENTITY, around: [async () => 8] });
  const peer = await openPeer(server, MODERN_VERSION);
  expect(await peer.request("ping2")).toMatchObject({ error: { code: -32603 } });
});

test("U2 a method that returns what JSON has nothing for is an error, and onError learns why", async () => {
  for (const version of ALL_VERSIONS) {
    for (const value of [() => 1, Symbol("s")]) {
      const errors: unknown[] = [];
      const server = new McpServer({ ...IDENTITY, onError: (error) => void errors.push(error) });
      server.method("strange", () => value);
      const peer = await openPeer(server, version, { judgeClient: false });
      expect(await peer.request("strange")).toMatchObject({ error: { code: -32603 } });
      expect(errors).toMatchObject([{ code: "result-invalid", message: expect.stringContaining(typeof value) }]);
    }
  }
});

test("U1 a method or notification without a function is refused where it is defined, by name", () => {
  const server = new McpServer(IDENTITY);
  const invalid = expect.objectContaining({ code: "definition-invalid", message: expect.stringContaining('"mine"') });
  expect(() => server.method("mine", undefined as never)).toThrow(invalid);
  expect(() => server.notification("mine", undefined as never)).toThrow(invalid);
});

type Options = ServerOptions<unknown>;

/** One option: what the defaults say, what one server says instead, and what a client or the author sees of each. */
interface OptionRow {
  /** @default 2025-11-25 */
  readonly version?: string;
  readonly capabilities?: ClientCapabilities;
  parts(told: (what: unknown) => void): readonly [shared: Partial<Options>, own: Partial<Options>];
  /** What is seen besides what was told. */
  look(peer: Peer): Promise<unknown>;
  readonly seen: readonly [shared: unknown, own: unknown];
}

const infoOf = (field: string) => async (peer: Peer) =>
  (resultOf(peer.initialized as Response).serverInfo as Json)[field];
const listOf = (method: string, list: string, key: string) => async (peer: Peer) =>
  (resultOf(await peer.request(method))[list] as Json[]).map((entry) => entry[key]);
const textOf = async (peer: Peer, name: string) =>
  (resultOf(await peer.request("tools/call", { name })).content as Json[])[0]?.text;
const info = (field: "title" | "description" | "websiteUrl"): OptionRow => ({
  parts: () => [{ [field]: "https://shared.example" }, { [field]: "https://own.example" }],
  look: infoOf(field),
  seen: ["https://shared.example", "https://own.example"],
});
const aTool = (name: string) => defineTool(name, {}, () => name);
const watched = { uri: "test://watched" };
const subscribed = async (peer: Peer) => {
  resultOf(await peer.request("resources/subscribe", watched));
  resultOf(await peer.request("resources/unsubscribe", watched));
};

// Every option has a row: one that is forgotten does not compile.
const OPTIONS: { readonly [Option in keyof Required<Options>]: OptionRow } = {
  name: { parts: () => [{ name: "shared" }, { name: "own" }], look: infoOf("name"), seen: ["shared", "own"] },
  version: {
    parts: () => [{ version: "1.0.0" }, { version: "2.0.0" }],
    look: infoOf("version"),
    seen: ["1.0.0", "2.0.0"],
  },
  title: info("title"),
  description: info("description"),
  websiteUrl: info("websiteUrl"),
  icons: {
    parts: () => [{ icons: [{ src: "https://shared.example/i.png" }] }, { icons: [] }],
    look: infoOf("icons"),
    seen: [[{ src: "https://shared.example/i.png" }], []],
  },
  instructions: {
    parts: () => [{ instructions: "shared" }, { instructions: "own" }],
    look: async ({ initialized }) => resultOf(initialized as Response).instructions,
    seen: ["shared", "own"],
  },
  tools: {
    parts: () => [{ tools: [aTool("shared")] }, { tools: [aTool("own")] }],
    look: listOf("tools/list", "tools", "name"),
    seen: [
      ["shared", "echo", "fails", "samples"],
      ["own", "echo", "fails", "samples"],
    ],
  },
  prompts: {
    parts: () => [
      { prompts: [definePrompt("shared", {}, () => "p")] },
      { prompts: [definePrompt("own", {}, () => "p")] },
    ],
    look: listOf("prompts/list", "prompts", "name"),
    seen: [["shared"], ["own"]],
  },
  resources: {
    parts: () => [
      { resources: [defineResource("test://shared", {}, () => "r")] },
      { resources: [defineResource("test://own", {}, () => "r")] },
    ],
    look: listOf("resources/list", "resources", "uri"),
    seen: [
      ["test://shared", "test://watched"],
      ["test://own", "test://watched"],
    ],
  },
  pageSize: {
    parts: () => [{ pageSize: 1 }, { pageSize: 2 }],
    look: listOf("tools/list", "tools", "name"),
    seen: [["echo"], ["echo", "fails"]],
  },
  capabilities: {
    parts: () => [{ capabilities: { experimental: { shared: {} } } }, { capabilities: { experimental: { own: {} } } }],
    look: async ({ initialized }) => (resultOf(initialized as Response).capabilities as Json).experimental,
    seen: [{ shared: {} }, { own: {} }],
  },
  protocolVersions: {
    parts: () => [{ protocolVersions: ["2025-11-25"] }, { protocolVersions: ["2025-11-25", "2025-06-18"] }],
    look: async (peer) => {
      const meta = { "io.modelcontextprotocol/protocolVersion": "1999-01-01" };
      const capabilities = { "io.modelcontextprotocol/clientCapabilities": {} };
      const refused = await peer.request("tools/list", {}, { ...meta, ...capabilities }, { bad: true });
      return errorOf(refused).message;
    },
    seen: [expect.not.stringContaining("2025-06-18"), expect.stringContaining("2025-06-18")],
  },
  cacheHints: {
    version: MODERN_VERSION,
    parts: () => [{ cacheHints: { "tools/list": { ttlMs: 1 } } }, { cacheHints: { "tools/list": { ttlMs: 2 } } }],
    look: async (peer) => resultOf(await peer.request("tools/list")).ttlMs,
    seen: [1, 2],
  },
  around: {
    parts: () => {
      const saying = (text: string): Partial<Options> => ({
        around: [async ({ tool }, next) => (tool === "echo" ? { content: [{ type: "text", text }] } : next())],
      });
      return [saying("shared"), saying("own")];
    },
    look: (peer) => textOf(peer, "echo"),
    seen: ["shared", "own"],
  },
  context: {
    // The servers here have no type for it.
    parts: () => [{ context: "shared" as never }, { context: (() => "own") as never }],
    look: (peer) => textOf(peer, "echo"),
    seen: ["shared", "own"],
  },
  definitions: {
    parts: () => [{ definitions: () => [aTool("shared")] }, { definitions: () => [aTool("own")] }],
    look: listOf("tools/list", "tools", "name"),
    seen: [
      ["echo", "fails", "samples", "shared"],
      ["echo", "fails", "samples", "own"],
    ],
  },
  visible: {
    parts: () => {
      const only = (name: string): Partial<Options> => ({ visible: (seen) => "name" in seen && seen.name === name });
      return [only("echo"), only("fails")];
    },
    look: listOf("tools/list", "tools", "name"),
    seen: [["echo"], ["fails"]],
  },
  onSubscribe: {
    parts: (told) => [{ onSubscribe: () => told("shared") }, { onSubscribe: () => told("own") }],
    look: subscribed,
    seen: ["shared", "own"],
  },
  onUnsubscribe: {
    parts: (told) => [{ onUnsubscribe: () => told("shared") }, { onUnsubscribe: () => told("own") }],
    look: subscribed,
    seen: ["shared", "own"],
  },
  onRequestEnd: {
    parts: (told) => {
      const of = (name: string): Partial<Options> => ({ onRequestEnd: ({ tool }) => void (tool && told(name)) });
      return [of("shared"), of("own")];
    },
    look: async (peer) => void (await textOf(peer, "echo")),
    seen: ["shared", "own"],
  },
  onSample: {
    capabilities: { sampling: {} },
    parts: (told) => [{ onSample: () => told("shared") }, { onSample: () => told("own") }],
    look: async (peer) => void (await textOf(peer, "samples")),
    seen: ["shared", "own"],
  },
  onError: {
    parts: (told) => [{ onError: () => told("shared") }, { onError: () => told("own") }],
    look: async (peer) => void (await textOf(peer, "fails")),
    seen: ["shared", "own"],
  },
};

describe("H1", () => {
  const SAMPLED: Json = { model: "m", role: "assistant", content: { type: "text", text: "x" } };

  /** A server as an author writes several: shared defaults, and its own over them. */
  function extended(options: Options): McpServer {
    return new McpServer(options)
      .tool("echo", {}, (_, ctx) => String(ctx.context))
      .tool("fails", {}, () => {
        throw new Error("x");
      })
      .tool("samples", {}, async (_, ctx) => {
        const messages = [{ role: "user", content: { type: "text", text: "hi" } }] as const;
        return (await ctx.sample({ messages, maxTokens: 1 })).model;
      })
      .resource(watched.uri, {}, () => "text");
  }

  test.each(Object.entries(OPTIONS))("H1 %s: one server extends the defaults, the other keeps them", async (_, row) => {
    const told: unknown[] = [];
    const [shared, own] = row.parts((what) => void told.push(what));
    const defaults = Object.freeze({ name: "defaults", version: "1.0.0", ...shared });
    const before = { ...defaults };
    const servers = [extended({ ...defaults }), extended({ ...defaults, ...own })];
    const { version = "2025-11-25", capabilities = {} } = row;
    const options = { capabilities, onRequest: () => SAMPLED };
    const peers = await Promise.all(servers.map((server) => openPeer(server, version, options)));
    told.splice(0);
    const seen: unknown[] = [];
    // The first one again after the second: nothing of one stays with the other.
    for (const peer of [...peers, ...peers.slice(0, 1)]) {
      const looked = await row.look(peer);
      await settle(peer);
      const [what = looked, ...more] = told.splice(0);
      seen.push(what, ...more);
    }
    expect(seen).toEqual([...row.seen, row.seen[0]]);
    expect(defaults).toEqual(before);
    for (const peer of peers) {
      await peer.close();
      peer.oracle.expectClean();
    }
  });

  test("H1 what one server is given later, another made of the same defaults has not", async () => {
    const defaults = { name: "defaults", version: "1.0.0", tools: [aTool("shared")] };
    const [one, two] = [new McpServer(defaults), new McpServer(defaults)];
    one.tool("added", {}, () => "added").method("example.com/own", () => ({}));
    one.remove("tool", "shared");
    const names = listOf("tools/list", "tools", "name");
    expect(await names(await openPeer(one, "2025-11-25"))).toEqual(["added"]);
    const peer = await openPeer(two, "2025-11-25");
    expect(await names(peer)).toEqual(["shared"]);
    const unknown = await peer.request("example.com/own", {}, undefined, { bad: true });
    expect(errorOf(unknown).code).toBe(-32601);
  });
});

interface Report {
  readonly error: unknown;
  readonly where: ErrorPlace;
}

/** A server each of whose parts fails, and what its author hears of that. */
function failing(options: Partial<Options> = {}) {
  const reports: Report[] = [];
  const onError: ErrorReporter = (error, where) => void reports.push({ error, where });
  const fail = () => {
    throw new Error("a secret");
  };
  const server = new McpServer({ ...IDENTITY, onError, ...options })
    .tool("t", {}, fail)
    .prompt("p", { arguments: [{ name: "a" }], complete: { a: fail } }, fail)
    .resource("test://r", {}, fail)
    .resourceTemplate("test://t/{id}", {}, fail)
    .resourceProvider({ read: fail, list: fail })
    .method("example.com/m", fail)
    .notification("notifications/example.com/n", fail)
    .onRootsChanged(fail);
  return { server, reports };
}

const FAILURES: readonly [method: string, params: Json, where: Partial<ErrorPlace>][] = [
  ["prompts/get", { name: "p", arguments: { a: "x" } }, { prompt: "p", arguments: { a: "x" } }],
  ["resources/read", { uri: "test://r" }, { uri: "test://r" }],
  ["resources/read", { uri: "test://t/1" }, { uri: "test://t/1" }],
  ["resources/read", { uri: "test://elsewhere" }, { uri: "test://elsewhere" }],
  ["resources/list", {}, {}],
  ["completion/complete", { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }, {}],
  ["example.com/m", { b: 1 }, {}],
];

describe.each(ALL_VERSIONS)("H6 in %s", (version) => {
  test.each(FAILURES)(
    "H6 an exception in %s of %j is -32603, and onError hears where",
    async (method, params, place) => {
      const { server, reports } = failing();
      const peer = await openPeer(server, version);
      const answer = errorOf(await peer.request(method, params, undefined, { id: "here" }));
      expect(answer.code).toBe(-32603);
      expect(JSON.stringify(peer.received)).not.toContain("a secret");
      const correlationId = (answer.data as Json).correlationId;
      expect(reports).toMatchObject([{ error: { message: "a secret" } }]);
      expect(reports[0]?.where).toEqual({ correlationId, method, requestId: "here", ...place });
      expect(peer.reports).toEqual([]);
      peer.oracle.expectClean();
    },
  );

  test("H6 of a tool that fails onError hears the tool and its arguments", async () => {
    const { server, reports } = failing();
    const peer = await openPeer(server, version);
    const args = { city: "Bern", nested: { days: 2 } };
    const result = resultOf(await peer.request("tools/call", { name: "t", arguments: args }, undefined, { id: 0 }));
    expect(result.isError).toBe(true);
    const where = { correlationId: expect.any(String), method: "tools/call", requestId: 0, tool: "t", arguments: args };
    expect(reports.map(({ where: told }) => told)).toEqual([where]);
    expect(JSON.stringify(result)).toContain(reports[0]?.where.correlationId);
    peer.oracle.expectClean();
  });

  test("H6 an exception in an around hook is -32603, and onError hears which tool it was about", async () => {
    const around: AroundHook[] = [
      async ({ tool }, next) => {
        if (tool) throw new Error("a secret");
        return next();
      },
    ];
    const { server, reports } = failing({ around });
    const peer = await openPeer(server, version);
    const answer = await peer.request("tools/call", { name: "t", arguments: { a: 1 } });
    expect(errorOf(answer).code).toBe(-32603);
    expect(reports).toMatchObject([{ where: { method: "tools/call", tool: "t", arguments: { a: 1 } } }]);
  });

  test("H6 of a notification that fails onError hears the notification, and nothing is answered", async () => {
    const { server, reports } = failing();
    const peer = await openPeer(server, version);
    const before = peer.received.length;
    peer.notify("notifications/example.com/n", { count: 1 });
    await expect.poll(() => reports.length).toBe(1);
    const correlationId = expect.any(String);
    expect(reports[0]?.where).toEqual({ correlationId, method: "notifications/example.com/n", params: { count: 1 } });
    expect(peer.received.length).toBe(before);
  });

  test("H6 an onError that throws hides no answer; the runtime hears of its failure", async () => {
    for (const onError of [
      () => {
        throw new Error("the reporter");
      },
      () => Promise.reject(new Error("the reporter")),
    ]) {
      const { server } = failing({ onError });
      const peer = await openPeer(server, version);
      for (const [method, params] of FAILURES) {
        expect(errorOf(await peer.request(method, params))).toMatchObject({
          code: -32603,
          data: { reason: "internal" },
        });
      }
      peer.notify("notifications/example.com/n");
      await expect.poll(() => peer.reports.length).toBe(FAILURES.length + 1);
      expect(new Set(peer.reports.map(String))).toEqual(new Set(["Error: the reporter"]));
      expect(JSON.stringify(peer.received)).not.toContain("the reporter");
      peer.oracle.expectClean();
    }
  });
});

test.each(LEGACY_VERSIONS)("H6 of onRootsChanged that fails onError hears the notification (%s)", async (version) => {
  const { server, reports } = failing();
  const peer = await openPeer(server, version, { capabilities: { roots: {} } });
  peer.notify("notifications/roots/list_changed");
  await expect.poll(() => reports).toMatchObject([{ where: { method: "notifications/roots/list_changed" } }]);
  expect(reports[0]?.where).not.toHaveProperty("requestId");
});

test("H6 without onError a Worker's failures are in its log, under the reference the client was given", async () => {
  const { lines, messages, stderr } = await runChild(
    join(import.meta.dirname, "../node/fixtures/edge-fails.ts"),
    () => undefined,
  );
  expect(messages).toMatchObject([{ result: { isError: true } }, { error: { code: -32603 } }]);
  for (const line of lines) {
    expect(line).not.toContain("secret");
    expect(stderr).toContain(/[0-9a-f]{8}-[0-9a-f-]{27}/.exec(line)?.[0] ?? "a reference");
  }
  expect(stderr).toContain("a secret of the tool");
  expect(stderr).toContain("a secret of the prompt");
});

test("H6 a function that makes the server and an onError that both throw still leave the client an answer", async () => {
  const throwing = (text: string) => () => {
    throw new Error(text);
  };
  const handle = createHttpHandler(throwing("a secret"), { onError: throwing("the reporter") });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const response = await handle(new Request("http://localhost/mcp", { method: "POST", headers, body }), {});
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { code: -32603 } });
});

describe.each(LEGACY_VERSIONS)("B4 in %s", (version) => {
  /** A connection whose client cannot be told of this; every message it does get passes an oracle. */
  async function deafTo(method: string, server: McpServer, runtime: unknown[] = []) {
    const [serverEnd, clientEnd] = createPair();
    const oracle = new WireOracle();
    const answers: Json[] = [];
    const deliver = serverEnd.send.bind(serverEnd);
    serverEnd.send = (message) => {
      if ("method" in message && message.method === method) throw new Error("no way out");
      return deliver(message);
    };
    clientEnd.onmessage = (message) => {
      oracle.observe("server", message);
      answers.push(message as unknown as Json);
    };
    const say = (message: Json) => {
      const whole = { jsonrpc: "2.0", ...message };
      oracle.observe("client", whole);
      return clientEnd.send(whole as unknown as JSONRPCMessage);
    };
    const connection = await connect(server, serverEnd, { onError: (error) => void runtime.push(error) });
    const clientInfo = { name: "deaf", version: "1.0.0" };
    await say({ id: 0, method: "initialize", params: { protocolVersion: version, capabilities: {}, clientInfo } });
    await expect.poll(() => answers.length).toBe(1);
    await say({ method: "notifications/initialized" });
    return { say, answers, oracle, connection };
  }

  const CASES: readonly [method: string, meta: Json, tell: (server: McpServer, ctx: HandlerContext) => void][] = [
    ["notifications/tools/list_changed", {}, (server) => server.toolsChanged()],
    ["notifications/resources/updated", {}, (server) => server.resourceUpdated("test://r")],
    ["notifications/message", {}, (server) => server.log("error", "x")],
    ["notifications/progress", { progressToken: "p" }, (_, ctx) => ctx.progress(1)],
  ];

  test.each(CASES)(
    "B4 %s that cannot be delivered fails no call and no other delivery",
    async (method, _meta, tell) => {
      const reports: Report[] = [];
      const onError: ErrorReporter = (error, where) => void reports.push({ error, where });
      const server = new McpServer({ ...IDENTITY, onError }).resource("test://r", {}, () => "r");
      server.tool("tells", {}, (_, ctx) => {
        tell(server, ctx);
        return "told";
      });
      const runtime: unknown[] = [];
      const deaf = await deafTo(method, server, runtime);
      const peer = await openPeer(server, version);
      for (const [id, asked, params] of [
        ["s", "resources/subscribe", { uri: "test://r" }],
        ["l", "logging/setLevel", { level: "error" }],
      ] as const) {
        await deaf.say({ id, method: asked, params });
        resultOf(await peer.request(asked, params));
      }
      await deaf.say({ id: "call", method: "tools/call", params: { name: "tells", _meta } });
      await expect
        .poll(() => deaf.answers.at(-1))
        .toMatchObject({ id: "call", result: { content: [{ text: "told" }] } });
      await expect.poll(() => reports).toMatchObject([{ error: { message: "no way out" }, where: { method } }]);
      // Progress belongs to the call alone; the rest reaches the other client.
      const heard = method === "notifications/progress" ? [] : [method];
      await expect.poll(() => peer.notifications.map((notification) => notification.method)).toEqual(heard);
      expect([runtime, peer.reports]).toEqual([[], []]);
      await deaf.connection.close();
      deaf.oracle.expectClean();
      peer.oracle.expectClean();
    },
  );

  test("B4 a connection's onError that throws ends nothing", async () => {
    const server = new McpServer(IDENTITY).tool("tells", {}, () => {
      server.toolsChanged();
      return "told";
    });
    const thrown: unknown[] = [];
    const throwing = Object.assign(thrown, {
      push: () => {
        throw new Error("the reporter");
      },
    });
    const deaf = await deafTo("notifications/tools/list_changed", server, throwing);
    // A rejection that nobody hears fails the run.
    await deaf.say({ id: 1, method: "tools/call", params: { name: "tells" } });
    await deaf.say({ id: 2, method: "ping" });
    await expect.poll(() => deaf.answers.map(({ id }) => id).toSorted()).toEqual([0, 1, 2]);
    await deaf.connection.close();
  });
});
