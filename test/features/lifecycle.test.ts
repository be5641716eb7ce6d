/** Opening, ids, notifications and closing, as far as `connection.test.ts` does not cover them. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { type AroundHook, type JSONRPCMessage, McpError, McpServer, serveTransport } from "../../src/core/index.ts";
import { createPair } from "../harness/pair.ts";
import {
  ALL_VERSIONS,
  closePeers,
  errorOf,
  type Json,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  openPeer,
  type Peer,
  resultOf,
} from "./peer.ts";

afterEach(closePeers);

const VERSION_FIELD = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_FIELD = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL_FIELD = "io.modelcontextprotocol/logLevel";
const ENVELOPE = { [VERSION_FIELD]: MODERN_VERSION, [CAPABILITIES_FIELD]: {} };
const CLIENT = { capabilities: {}, clientInfo: { name: "raw", version: "1.0.0" } };

function createServer(options: Partial<ConstructorParameters<typeof McpServer>[0]> = {}): McpServer {
  return new McpServer({ name: "lifecycle", version: "1.0.0", ...options }).tool("hello", {}, () => "hello");
}

type Identity = { name: string; version: string };

function modern(id: string | number, method: string, meta: Json = ENVELOPE, params: Json = {}): Json {
  return { jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } };
}

/** The `_meta` envelope, in versions that have one. */
function paramsOf(version: string): Json {
  return version === MODERN_VERSION ? { _meta: ENVELOPE } : {};
}

/** Connects as a client that makes mistakes on purpose, which the oracle ignores. */
function openLoose(server: McpServer, version: string, handshake = true): Promise<Peer> {
  return openPeer(server, version, { judgeClient: false, handshake });
}

async function answerTo(peer: Peer, id: string | number): Promise<Json> {
  const find = () => peer.received.find((message) => (message as Json).id === id) as Json | undefined;
  await expect.poll(find).toBeDefined();
  return find() ?? {};
}

/** A tool that waits until its signal aborts or the test releases it. */
function addHeld(server: McpServer) {
  const held = { running: 0, reasons: [] as unknown[], release: () => {} };
  server.tool("held", {}, async (_, ctx) => {
    held.running += 1;
    await new Promise<void>((resolve) => {
      held.release = resolve;
      ctx.signal.addEventListener("abort", () => {
        held.reasons.push(ctx.signal.reason);
        resolve();
      });
    });
    return "released";
  });
  return held;
}

describe("the server information", () => {
  test.each(ALL_VERSIONS)("has no instructions in %s if the server has none", async (version) => {
    const peer = await openPeer(createServer(), version);
    const result = resultOf(peer.initialized ?? (await peer.request("server/discover")));
    expect(result).not.toHaveProperty("instructions");
  });

  test("must have a name and a version: otherwise the constructor throws", () => {
    const make = (options: object) => () => new McpServer(options as { name: string; version: string });
    expect(make({ name: "x" })).toThrow("version");
    expect(make({ version: "1" })).toThrow("name");
  });
});

describe("a capability", () => {
  test.each(ALL_VERSIONS)(
    "gives an empty list in %s if it is declared without definitions; a method of an undeclared one is unknown",
    async (version) => {
      const declared = new McpServer({
        name: "lifecycle",
        version: "1.0.0",
        capabilities: { tools: { listChanged: true } },
      });
      const peer = await openPeer(declared, version);
      expect(resultOf(await peer.request("tools/list"))).toMatchObject({ tools: [] });
      expect(errorOf(await peer.request("tools/call", { name: "later" }))).toMatchObject({ code: -32602 });
      expect(errorOf(await peer.request("prompts/list"))).toMatchObject({ code: -32601 });
      declared.tool("later", {}, () => "now");
      expect(resultOf(await peer.request("tools/call", { name: "later" }))).toMatchObject({
        content: [{ text: "now" }],
      });
    },
  );

  const declaredBy = async (server: McpServer, version: string): Promise<Json> => {
    const peer = await openPeer(server, version);
    const result = resultOf(peer.initialized ?? (await peer.request("server/discover")));
    return result.capabilities as Json;
  };
  const complete = { a: () => ["x"] };

  test.each(ALL_VERSIONS)(
    "follows from the definitions in %s, if the version has this capability at all",
    async (version) => {
      const completions = version === "2024-11-05" ? {} : { completions: {} };
      const bare = () => new McpServer({ name: "c2", version: "1.0.0" });
      const listChanged = true;
      expect(await declaredBy(bare(), version)).toEqual({ logging: {} });
      expect(await declaredBy(createServer(), version)).toEqual({ logging: {}, tools: { listChanged } });
      const prompts = bare().prompt("p", { arguments: [{ name: "a" }] }, () => "p");
      expect(await declaredBy(prompts, version)).toEqual({ logging: {}, prompts: { listChanged } });
      const resources = { listChanged, subscribe: true };
      const resource = bare().resource("a://b", { name: "b" }, () => "b");
      expect(await declaredBy(resource, version)).toEqual({ logging: {}, resources });
      const template = bare().resourceTemplate("a://{a}", { name: "t", complete }, () => "t");
      expect(await declaredBy(template, version)).toEqual({ logging: {}, resources, ...completions });
      const provider = bare().resourceProvider({ read: async () => undefined });
      expect(await declaredBy(provider, version)).toEqual({ logging: {}, resources });
    },
  );

  test.each(ALL_VERSIONS)("makes its methods fail with -32601 in %s if it is undeclared", async (version) => {
    const peer = await openPeer(new McpServer({ name: "c2", version: "1.0.0" }), version);
    for (const method of ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]) {
      expect(errorOf(await peer.request(method)).code).toBe(-32601);
    }
  });

  test.each(ALL_VERSIONS)(
    "takes precedence in %s if the server option sets it to a value, and undefined removes it",
    async (version) => {
      const server = createServer({ capabilities: { tools: { listChanged: false }, logging: undefined } });
      expect(await declaredBy(server, version)).toEqual({ tools: { listChanged: false } });
    },
  );
});

test.each(LEGACY_VERSIONS)("in %s a capability that the client declares as false is missing", async (version) => {
  const server = createServer();
  server.tool("able", {}, (_, ctx) => JSON.stringify([ctx.client.can("roots"), ctx.client.can("roots.listChanged")]));
  for (const listChanged of [true, false]) {
    const peer = await openPeer(server, version, { capabilities: { roots: { listChanged } } });
    const result = resultOf(await peer.request("tools/call", { name: "able" }));
    expect(result.content).toMatchObject([{ text: JSON.stringify([true, listChanged]) }]);
  }
});

describe("initialize", () => {
  test.each([
    ["protocolVersion", { ...CLIENT }],
    ["protocolVersion", { ...CLIENT, protocolVersion: 20251125 }],
    ["capabilities", { protocolVersion: "2025-11-25", clientInfo: CLIENT.clientInfo }],
    ["clientInfo", { protocolVersion: "2025-11-25", capabilities: {} }],
    ["clientInfo", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x" } }],
  ])("is rejected with -32602 without a valid %s, naming it (%#), and can be repeated", async (field, params) => {
    const peer = await openLoose(createServer(), "2025-11-25", false);
    const error = errorOf(await peer.request("initialize", params, undefined, { bad: true }));
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(field) });
    const again = await peer.request("initialize", { ...CLIENT, protocolVersion: "2025-06-18" });
    expect(resultOf(again).protocolVersion).toBe("2025-06-18");
  });

  test("has no effect if it is refused as the second one: client and version of the first one stay", async () => {
    const server = createServer();
    server.tool("who", {}, (_, ctx) => `${ctx.client.info?.name} ${ctx.client.protocolVersion}`);
    const peer = await openLoose(server, "2025-03-26");
    const other = { capabilities: {}, clientInfo: { name: "other", version: "9" }, protocolVersion: "2025-11-25" };
    await peer.request("initialize", other, undefined, { bad: true });
    const result = resultOf(await peer.request("tools/call", { name: "who" }));
    expect(result.content).toEqual([{ type: "text", text: "peer 2025-03-26" }]);
  });

  test("can be repeated if a hook refused it, and only then does the server store the client", async () => {
    let isOpen = false;
    const around: AroundHook[] = [
      async ({ method }, next) => {
        if (method === "initialize" && !isOpen) throw new McpError(4001, "not yet");
        return next();
      },
    ];
    const server = createServer({ around });
    server.tool("who", {}, (_, ctx) => `${ctx.client.name} ${ctx.client.protocolVersion}`);
    const peer = await openLoose(server, "2025-03-26", false);
    const introduce = (name: string, protocolVersion: string) =>
      peer.request("initialize", { capabilities: {}, clientInfo: { name, version: "1" }, protocolVersion });
    expect(errorOf(await introduce("early", "2024-11-05")).code).toBe(4001);
    isOpen = true;
    expect(resultOf(await introduce("late", "2025-03-26")).protocolVersion).toBe("2025-03-26");
    const result = resultOf(await peer.request("tools/call", { name: "who" }));
    expect(result.content).toEqual([{ type: "text", text: "late 2025-03-26" }]);
  });

  test("returns the newest served legacy version for an unknown version", async () => {
    const server = createServer({ protocolVersions: ["2026-07-28", "2024-11-05", "2025-03-26"] });
    const peer = await openLoose(server, "2025-03-26", false);
    const answer = await peer.request("initialize", { ...CLIENT, protocolVersion: "2025-11-25" });
    expect(resultOf(answer).protocolVersion).toBe("2025-03-26");
  });
});

describe("ping", () => {
  test.each(LEGACY_VERSIONS)(
    "returns {} in %s between initialize and initialized, with and without params",
    async (version) => {
      const peer = await openPeer(createServer(), version, { handshake: false });
      await peer.request("initialize", { ...CLIENT, protocolVersion: version });
      expect(resultOf(await peer.request("ping"))).toEqual({});
      expect(resultOf(await peer.request("ping", {}))).toEqual({});
    },
  );

  test("returns {} before initialize, without knowing the client", async () => {
    const peer = await openLoose(createServer(), "2025-11-25", false);
    peer.send({ jsonrpc: "2.0", id: 0, method: "ping" });
    expect(await answerTo(peer, 0)).toEqual({ jsonrpc: "2.0", id: 0, result: {} });
  });
});

describe.each(ALL_VERSIONS)("requests and notifications in %s", (version) => {
  test.each([
    ["params that are an array", { method: "notifications/none", params: [] }],
    ["params that are a string", { method: "notifications/none", params: "x" }],
    ["initialized with params that are an array", { method: "notifications/initialized", params: [] }],
    ["cancelled without params", { method: "notifications/cancelled" }],
    ["the name of a request", { method: "tools/list", params: paramsOf(version) }],
    ["an unknown name without the prefix", { method: "none/such" }],
  ])("a notification with %s gets no response", async (_, message) => {
    const peer = await openLoose(createServer(), version);
    const before = peer.received.length;
    peer.send({ jsonrpc: "2.0", ...message });
    peer.send({ jsonrpc: "2.0", id: "after", method: "tools/list", params: paramsOf(version) });
    await answerTo(peer, "after");
    peer.oracle.problems.splice(0);
    expect(peer.received.slice(before)).toMatchObject([{ id: "after", result: {} }]);
  });

  test("a custom notification whose handler throws is reported and gets no response", async () => {
    const server = createServer().notification("example.com/heard", () => {
      throw new Error("deaf");
    });
    const peer = await openLoose(server, version);
    const before = peer.received.length;
    peer.send({ jsonrpc: "2.0", method: "example.com/heard" });
    await expect.poll(() => peer.reports).toHaveLength(1);
    await peer.request("tools/list", {}, undefined, { id: "after" });
    expect(peer.received.slice(before)).toMatchObject([{ id: "after" }]);
  });

  test.each([
    ["a string as params", { params: "x" }],
    ["null as params", { params: null }],
    ["another version of JSON-RPC", { jsonrpc: "1.0" }],
  ])("a request with %s is rejected with -32600 and its id, and the next request is served", async (_, fields) => {
    const peer = await openLoose(createServer(), version);
    peer.send({ jsonrpc: "2.0", id: "bad", method: "tools/list", ...fields });
    peer.send({ jsonrpc: "2.0", id: "good", method: "tools/list", params: paramsOf(version) });
    expect(await answerTo(peer, "bad")).toMatchObject({ error: { code: -32600 } });
    expect(await answerTo(peer, "good")).toMatchObject({ result: { tools: [{ name: "hello" }] } });
    peer.oracle.problems.splice(0);
  });

  test.each([{}, [], true, 2 ** 60])("a request with the id %j is refused with an error without an id", async (id) => {
    const peer = await openLoose(createServer(), version);
    const before = peer.received.length;
    peer.send({ jsonrpc: "2.0", id, method: "tools/list", params: paramsOf(version) });
    await expect.poll(() => peer.received.length).toBe(before + 1);
    expect(peer.received.at(-1)).toMatchObject({ error: { code: -32600 } });
    expect(peer.received.at(-1)).not.toHaveProperty("id");
    peer.oracle.problems.splice(0);
  });

  test('7 and "7" are different ids: both run concurrently, and cancelling one does not affect the other', async () => {
    const server = createServer();
    const held = addHeld(server);
    const peer = await openLoose(server, version);
    const call = { jsonrpc: "2.0", method: "tools/call", params: { name: "held", ...paramsOf(version) } };
    peer.send({ ...call, id: "7" });
    peer.send({ ...call, id: 7 });
    await expect.poll(() => held.running).toBe(2);
    peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "7" } });
    await expect.poll(() => held.reasons).toHaveLength(1);
    held.release();
    expect(await answerTo(peer, 7)).toMatchObject({ result: { content: [{ text: "released" }] } });
    await peer.connection.idle();
    expect(peer.received.filter((message) => (message as Json).id === "7")).toEqual([]);
  });

  test("an id can be used again after its request has ended", async () => {
    const peer = await openLoose(createServer(), version);
    for (const _ of [1, 2])
      expect(await peer.request("tools/list", {}, undefined, { id: "x" })).toHaveProperty("result");
  });
});

describe.each(ALL_VERSIONS)("an McpError in %s", (version) => {
  const thrown = (error: McpError) => () => {
    throw error;
  };

  test("is sent unchanged from prompts, resources and custom methods, whatever its data", async () => {
    const server = createServer()
      .prompt("p", {}, thrown(new McpError(1, "from a prompt", [1, { two: null }])))
      .resource("a://b", { name: "b" }, thrown(new McpError(-31999, "from a resource", 0)))
      .method("example.com/m", thrown(new McpError(4711, "from a method")));
    const peer = await openPeer(server, version);
    const errorFrom = async (method: string, params: Json) =>
      errorOf(await peer.request(method, params, undefined, { bad: true }));
    expect(await errorFrom("prompts/get", { name: "p" })).toEqual({
      code: 1,
      message: "from a prompt",
      data: [1, { two: null }],
    });
    expect(await errorFrom("resources/read", { uri: "a://b" })).toEqual({
      code: -31999,
      message: "from a resource",
      data: 0,
    });
    expect(await errorFrom("example.com/m", {})).toEqual({ code: 4711, message: "from a method" });
    expect(peer.reports).toEqual([]);
  });
});

describe("the end of a connection", () => {
  test.each(ALL_VERSIONS)(
    "aborts running handlers and leaves nothing pending if the transport is lost (%s)",
    async (version) => {
      const server = createServer();
      const held = addHeld(server);
      const [serverEnd, clientEnd] = createPair();
      const reports: unknown[] = [];
      const connection = await serveTransport(server, serverEnd, { onError: (error) => void reports.push(error) });
      const params = { name: "held", ...paramsOf(version) };
      await clientEnd.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
      await expect.poll(() => held.running).toBe(1);
      await clientEnd.close();
      expect(held.reasons).toMatchObject([{ name: "KitError", code: "transport-closed" }]);
      await connection.idle();
      await connection.close();
      expect(reports).toEqual([]);
    },
  );

  test.each(["close", "lost"])(
    "rejects a pending question with a typed error and does not leave a timer (%s)",
    async (how) => {
      const server = createServer();
      const outcome = Promise.withResolvers<unknown>();
      server.tool("asks", {}, async (_, ctx) => {
        await ctx.listRoots().catch(outcome.resolve);
        return "done";
      });
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
      try {
        const [serverEnd, clientEnd] = createPair();
        const received: JSONRPCMessage[] = [];
        const asked = Promise.withResolvers<void>();
        clientEnd.onmessage = (message) => {
          received.push(message);
          if ("method" in message && message.method === "roots/list") asked.resolve();
        };
        const connection = await serveTransport(server, serverEnd, { onError: () => undefined });
        const params = { ...CLIENT, capabilities: { roots: {} }, protocolVersion: "2025-11-25" };
        await clientEnd.send({ jsonrpc: "2.0", id: 0, method: "initialize", params });
        await clientEnd.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "asks" } });
        await asked.promise;
        expect(vi.getTimerCount()).toBe(1);
        await (how === "close" ? connection : clientEnd).close();
        expect(await outcome.promise).toMatchObject({ name: "KitError", code: "transport-closed" });
        await connection.idle();
        expect(vi.getTimerCount()).toBe(0);
      } finally {
        vi.useRealTimers();
      }
    },
  );

  test("resolves close() if it is called twice, and idle() after close()", async () => {
    const peer = await openPeer(createServer(), "2025-11-25");
    await peer.connection.close();
    await peer.connection.close();
    await peer.connection.idle();
  });
});

test("initialize that requests a modern version returns the newest legacy one", async () => {
  const peer = await openLoose(createServer(), "2025-11-25", false);
  const params = { ...CLIENT, capabilities: {}, protocolVersion: MODERN_VERSION };
  peer.send({ jsonrpc: "2.0", id: "i", method: "initialize", params });
  expect(await answerTo(peer, "i")).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
});

describe("the option protocolVersions", () => {
  test("means all versions if it is undefined", async () => {
    const server = new McpServer({ name: "h7", version: "1.0.0", protocolVersions: undefined } as unknown as Identity);
    for (const version of LEGACY_VERSIONS) {
      const peer = await openPeer(server, version);
      expect(peer.initialized).toMatchObject({ result: { protocolVersion: version } });
    }
    const peer = await openPeer(server, MODERN_VERSION);
    expect(await peer.request("server/discover")).toMatchObject({ result: { supportedVersions: [MODERN_VERSION] } });
  });

  test.each([[[""]], [["latest"]], [["2025-11-25 "]]])("lists the valid versions for %j", (protocolVersions) => {
    expect(() => createServer({ protocolVersions })).toThrow(
      `${JSON.stringify(protocolVersions[0])}. Valid versions: 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28`,
    );
  });

  test("causes an error with the valid versions if it is an empty list", () => {
    expect(() => createServer({ protocolVersions: [] })).toThrow(
      "protocolVersions is empty. Valid versions: 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28",
    );
  });

  test("refuses modern requests with -32022 if it has no modern version, naming the versions for initialize", async () => {
    const peer = await openLoose(createServer({ protocolVersions: ["2025-11-25"] }), "2025-11-25", false);
    peer.send(modern("m", "tools/list"));
    expect(await answerTo(peer, "m")).toMatchObject({
      error: {
        code: -32022,
        data: { supported: [], requested: MODERN_VERSION },
        message: expect.stringContaining("initialize: 2025-11-25"),
      },
    });
  });

  test("refuses requests without _meta with -32602 if it has no legacy version, naming the missing field", async () => {
    const peer = await openLoose(createServer({ protocolVersions: [MODERN_VERSION] }), MODERN_VERSION);
    peer.send({ jsonrpc: "2.0", id: "l", method: "tools/list" });
    const error = { code: -32602, message: expect.stringContaining(VERSION_FIELD) };
    expect(await answerTo(peer, "l")).toMatchObject({ error });
  });
});

test("initialize cannot be cancelled", async () => {
  const server = createServer({
    around: [
      async (_, next) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return next();
      },
    ],
  });
  const peer = await openLoose(server, "2025-11-25", false);
  const params = { ...CLIENT, protocolVersion: "2025-11-25" };
  peer.send({ jsonrpc: "2.0", id: "init", method: "initialize", params });
  peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "init", reason: "no" } });
  expect(await answerTo(peer, "init")).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
});

describe("a modern request over a connection", () => {
  test.each([
    [VERSION_FIELD, { [CAPABILITIES_FIELD]: {} }],
    [VERSION_FIELD, { ...ENVELOPE, [VERSION_FIELD]: 20260728 }],
    [VERSION_FIELD, { ...ENVELOPE, [VERSION_FIELD]: null }],
    [CAPABILITIES_FIELD, { [VERSION_FIELD]: MODERN_VERSION }],
    [CAPABILITIES_FIELD, { ...ENVELOPE, [CAPABILITIES_FIELD]: [] }],
    [CAPABILITIES_FIELD, { ...ENVELOPE, [CAPABILITIES_FIELD]: null }],
  ])("is rejected with -32602 for a missing or invalid %s, naming it: %j", async (field, meta) => {
    const peer = await openLoose(createServer(), MODERN_VERSION);
    peer.send(modern("x", "tools/list", meta));
    expect(await answerTo(peer, "x")).toMatchObject({
      error: { code: -32602, message: expect.stringContaining(field) },
    });
  });

  test.each(["2025-11-25", "2026-07-27", ""])("is rejected with -32022 for version %j", async (requested) => {
    const peer = await openLoose(createServer(), MODERN_VERSION);
    peer.send(modern("x", "server/discover", { ...ENVELOPE, [VERSION_FIELD]: requested }));
    const data = { supported: [MODERN_VERSION], requested };
    expect((await answerTo(peer, "x")).error).toMatchObject({ code: -32022, data });
  });
});

describe("both eras on one connection", () => {
  test("have their own client, level and results while both run", async () => {
    const server = createServer();
    const held = addHeld(server);
    server.tool("who", {}, (_, ctx) => {
      ctx.log("info", "said");
      return `${ctx.client.info?.name ?? "nobody"} ${ctx.client.protocolVersion} ${ctx.client.can("roots")}`;
    });
    const peer = await openPeer(server, "2025-06-18", { judgeClient: false, capabilities: { roots: {} } });
    await peer.request("logging/setLevel", { level: "debug" });
    const running = peer.request("tools/call", { name: "held" });
    await expect.poll(() => held.running).toBe(1);

    const logs = () => peer.notifications.filter(({ method }) => method === "notifications/message").length;
    peer.send(modern("m1", "tools/call", ENVELOPE, { name: "who" }));
    expect(await answerTo(peer, "m1")).toMatchObject({
      result: { resultType: "complete", content: [{ text: `nobody ${MODERN_VERSION} false` }] },
    });
    expect(logs()).toBe(0);
    const info = { name: "modern", version: "1" };
    const meta = { ...ENVELOPE, "io.modelcontextprotocol/clientInfo": info, [LOG_LEVEL_FIELD]: "info" };
    peer.send(modern("m2", "tools/call", meta, { name: "who" }));
    expect(await answerTo(peer, "m2")).toMatchObject({
      result: { content: [{ text: `modern ${MODERN_VERSION} false` }] },
    });
    expect(logs()).toBe(1);

    const legacy = resultOf(await peer.request("tools/call", { name: "who" }));
    expect(legacy).toEqual({ content: [{ type: "text", text: "peer 2025-06-18 true" }] });
    expect(logs()).toBe(2);
    held.release();
    expect(resultOf(await running)).not.toHaveProperty("resultType");
    peer.oracle.problems.splice(0);
  });

  test("do not affect each other: a preceding modern request does not replace initialize", async () => {
    const peer = await openLoose(createServer(), "2025-06-18", false);
    peer.send(modern("m", "server/discover"));
    await answerTo(peer, "m");
    const answer = await peer.request("initialize", { ...CLIENT, protocolVersion: "2025-06-18" });
    expect(resultOf(answer).protocolVersion).toBe("2025-06-18");
    expect(resultOf(await peer.request("ping"))).toEqual({});
    peer.send(modern("p", "ping"));
    expect(await answerTo(peer, "p")).toMatchObject({ error: { code: -32601 } });
    peer.oracle.problems.splice(0);
  });
});
