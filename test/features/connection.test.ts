import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { afterEach, describe, expect, test } from "vitest";
import { CancelledError, McpError, McpServer, serveTransport, type Transport } from "../../src/core/index.ts";
import { createPair } from "../harness/pair.ts";
import { ALL_VERSIONS, closePeers, LEGACY_VERSIONS, MODERN_VERSION, openPeer, type Peer, resultOf } from "./peer.ts";

afterEach(closePeers);

const ICON = { src: "https://example.com/icon.png", mimeType: "image/png" };
const IDENTITY = { name: "lifecycle", title: "Life cycle", version: "1.2.3", description: "Tests", icons: [ICON] };
const INFO = "io.modelcontextprotocol/serverInfo";

function createServer(): McpServer {
  const server = new McpServer({ ...IDENTITY, instructions: "Call hello." });
  server.tool("hello", {}, () => "hello");
  return server;
}

function initializedOf(peer: Peer) {
  if (!peer.initialized) throw new Error("there was no handshake");
  return resultOf(peer.initialized);
}

/** A tool that runs until the test releases it and records how its signal ended. */
function addHeld(server: McpServer) {
  const held = { isRunning: false, reason: undefined as unknown, release: () => {} };
  server.tool("held", {}, async (_, ctx) => {
    held.isRunning = true;
    ctx.signal.addEventListener("abort", () => {
      held.reason = ctx.signal.reason;
    });
    await new Promise<void>((resolve) => {
      held.release = resolve;
    });
    return "released";
  });
  return held;
}

const CLIENT = { capabilities: {}, clientInfo: { name: "raw", version: "1.0.0" } };

describe.each(LEGACY_VERSIONS)("initialize on a connection in %s", (version) => {
  test("returns name, version, instructions and the other fields that the version has", async () => {
    const peer = await openPeer(createServer(), version);
    const { serverInfo, instructions } = initializedOf(peer);
    const has2025June = version >= "2025-06-18";
    const hasNovember = version >= "2025-11-25";
    expect(serverInfo).toEqual({
      name: "lifecycle",
      version: "1.2.3",
      ...(has2025June ? { title: "Life cycle" } : {}),
      ...(hasNovember ? { description: "Tests", icons: [ICON] } : {}),
    });
    expect(instructions).toBe("Call hello.");
  });

  test("returns the requested version, and a second initialize is refused", async () => {
    const peer = await openPeer(createServer(), version);
    expect(peer.initialized).toMatchObject({ result: { protocolVersion: version } });
    const again = await peer.request("initialize", { protocolVersion: version, ...CLIENT }, undefined, { bad: true });
    expect(again).toMatchObject({ error: { code: -32600 } });
  });

  test("may be preceded by ping, which is also served while a handler runs", async () => {
    const server = createServer();
    const held = addHeld(server);
    const early = await openPeer(server, version, { handshake: false });
    expect(await early.request("ping")).toMatchObject({ result: {} });
    const peer = await openPeer(server, version);
    const running = peer.request("tools/call", { name: "held" });
    await expect.poll(() => held.isRunning).toBe(true);
    expect(await peer.request("ping")).toMatchObject({ result: {} });
    held.release();
    await running;
  });
});

describe("a connection in 2026-07-28", () => {
  test("server/discover returns the server's identity and instructions", async () => {
    const peer = await openPeer(createServer(), MODERN_VERSION);
    const result = resultOf(await peer.request("server/discover"));
    expect(result).toMatchObject({ supportedVersions: [MODERN_VERSION], instructions: "Call hello." });
    expect(result._meta).toMatchObject({ [INFO]: IDENTITY });
  });

  test.each(["ping", "initialize", "logging/setLevel", "resources/subscribe"])("has no method %s", async (method) => {
    const peer = await openPeer(createServer(), MODERN_VERSION);
    const params = { protocolVersion: MODERN_VERSION, ...CLIENT };
    expect(await peer.request(method, params, undefined, { bad: true })).toMatchObject({ error: { code: -32601 } });
  });

  test("rejects a request whose _meta lacks a required field with -32602, naming the field", async () => {
    const peer = await openPeer(createServer(), MODERN_VERSION, { judgeClient: false });
    const version = { "io.modelcontextprotocol/protocolVersion": MODERN_VERSION };
    peer.send({ jsonrpc: "2.0", id: "x", method: "tools/list", params: { _meta: version } });
    await expect.poll(() => peer.received.at(-1)).toMatchObject({ id: "x", error: { code: -32602 } });
    expect(JSON.stringify(peer.received.at(-1))).toContain("clientCapabilities");
  });

  test("rejects a version that is not served with -32022 and the list of served versions", async () => {
    const peer = await openPeer(createServer(), MODERN_VERSION, { judgeClient: false });
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2030-01-01",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    peer.send({ jsonrpc: "2.0", id: "x", method: "tools/list", params: { _meta } });
    const data = { supported: [MODERN_VERSION], requested: "2030-01-01" };
    await expect.poll(() => peer.received.at(-1)).toMatchObject({ id: "x", error: { code: -32022, data } });
  });
});

test.each(["1999-01-01", "2030-01-01", "", "2026-07-28"])(
  "initialize that requests version %j returns 2025-11-25",
  async (version) => {
    const peer = await openPeer(createServer(), "2025-11-25", { handshake: false, judgeClient: false });
    const answer = await peer.request("initialize", { protocolVersion: version, ...CLIENT });
    expect(answer).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
  },
);

test("capabilities follow from the definitions, and the option overrides them", async () => {
  const bare = await openPeer(new McpServer(IDENTITY), "2025-11-25");
  expect(bare.initialized).toMatchObject({ result: { capabilities: { logging: {} } } });
  expect(Object.keys(initializedOf(bare).capabilities as object)).toEqual(["logging"]);
  const capabilities = { logging: undefined, experimental: { "example.com/x": {} } };
  const server = new McpServer({ ...IDENTITY, capabilities });
  server.prompt("p", { arguments: [{ name: "a" }], complete: { a: () => [] } }, () => "p");
  const peer = await openPeer(server, "2025-11-25");
  const declared = initializedOf(peer).capabilities;
  expect(declared).toEqual({ prompts: { listChanged: true }, completions: {}, experimental: { "example.com/x": {} } });
});

describe.each(ALL_VERSIONS)("requests and notifications in %s", (version) => {
  test.each([0, "", "7", 7, -1])("the response has the id %j with its value and type", async (id) => {
    const peer = await openPeer(createServer(), version);
    expect((await peer.request("tools/list", {}, undefined, { id })).id).toBe(id);
  });

  test("a notification never gets a response, even if it is invalid; null, fractions and array params are refused", async () => {
    const peer = await openPeer(createServer(), version, { judgeClient: false });
    const before = peer.received.length;
    peer.send({ jsonrpc: "2.0", method: "notifications/none" });
    peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: [] } });
    for (const bad of [{ id: null }, { id: 1.5 }, { id: 3, params: [] }]) {
      peer.send({ jsonrpc: "2.0", method: "tools/list", ...bad });
    }
    await expect.poll(() => peer.received.length - before).toBe(3);
    expect(peer.received.slice(before)).toMatchObject([1, 2, 3].map(() => ({ error: { code: -32600 } })));
    peer.oracle.problems.splice(0);
  });

  test("an McpError that the author throws is sent with code, message and data", async () => {
    const server = createServer();
    server.tool("refuses", {}, () => {
      throw new McpError(4711, "Out of stock", { until: "Monday" });
    });
    const peer = await openPeer(server, version);
    const error = { code: 4711, message: "Out of stock", data: { until: "Monday" } };
    expect(await peer.request("tools/call", { name: "refuses" })).toMatchObject({ error });
  });

  test("closing aborts running handlers and leaves nothing pending", async () => {
    const server = createServer();
    const held = addHeld(server);
    const peer = await openPeer(server, version);
    const running = peer.request("tools/call", { name: "held" }).catch(() => "rejected");
    await expect.poll(() => held.isRunning).toBe(true);
    await peer.close();
    expect(held.reason).toBeInstanceOf(Error);
    expect(await running).toBe("rejected");
    held.release();
    await peer.connection.idle();
  });

  test("a cancelled request gets no response, and its signal has the client's reason", async () => {
    const server = createServer();
    const held = addHeld(server);
    const peer = await openPeer(server, version);
    const running = peer.request("tools/call", { name: "held" }, undefined, { id: "c" }).catch(() => "no answer");
    await expect.poll(() => held.isRunning).toBe(true);
    peer.notify("notifications/cancelled", { requestId: "c", reason: "changed my mind" });
    peer.notify("notifications/cancelled", { requestId: "unknown" });
    await expect.poll(() => held.reason).toBeInstanceOf(CancelledError);
    expect((held.reason as CancelledError).reason).toBe("changed my mind");
    held.release();
    await peer.connection.idle();
    expect(peer.received.some((message) => (message as { id?: unknown }).id === "c")).toBe(false);
    await peer.close();
    expect(await running).toBe("no answer");
  });

  test("a request whose id is still in flight is refused, and the first request with this id is served", async () => {
    const server = createServer();
    const held = addHeld(server);
    const peer = await openPeer(server, version, { judgeClient: false });
    const running = peer.request("tools/call", { name: "held" }, undefined, { id: 5 });
    await expect.poll(() => held.isRunning).toBe(true);
    const before = peer.received.length;
    peer.send({ jsonrpc: "2.0", id: 5, method: "tools/list", params: modernMeta(version) });
    // The refusal has the id of the pending request, so the client takes it as the response to that request: unique ids are
    // its duty.
    await expect.poll(() => peer.received.length).toBe(before + 1);
    expect(peer.received.at(-1)).toMatchObject({ id: 5, error: { code: -32600 } });
    held.release();
    await expect.poll(() => peer.received.length).toBe(before + 2);
    expect(peer.received.at(-1)).toMatchObject({ id: 5, result: { content: [{ text: "released" }] } });
    await running;
    peer.oracle.problems.splice(0);
  });
});

function modernMeta(version: string): object {
  if (version !== MODERN_VERSION) return {};
  return {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  };
}

describe("batches over a connection", () => {
  const list = (id: unknown) => ({ jsonrpc: "2.0", id, method: "tools/list" });

  test("get one array as response in 2025-03-26, in which an invalid member has its own error and a notification has no entry", async () => {
    const peer = await openPeer(createServer(), "2025-03-26", { judgeClient: false });
    peer.send([list("a"), { jsonrpc: "2.0", method: "notifications/none" }, { ...list("b"), params: [] }, list("c")]);
    await expect
      .poll(() => peer.received.at(-1))
      .toMatchObject([{ id: "a" }, { id: "b", error: { code: -32600 } }, { id: "c" }]);
  });

  test("are refused if they have more members than limits.batchMax", async () => {
    const peer = await openPeer(createServer(), "2025-03-26", { judgeClient: false, limits: { batchMax: 2 } });
    const before = peer.received.length;
    peer.send([list("a"), list("b"), list("c")]);
    await expect.poll(() => peer.received.slice(before)).toMatchObject([{ error: { code: -32600 } }]);
    peer.oracle.problems.splice(0);
  });

  test("get no response if they contain only notifications, and are rejected with -32600 if they are empty", async () => {
    const peer = await openPeer(createServer(), "2025-03-26", { judgeClient: false });
    const before = peer.received.length;
    peer.send([{ jsonrpc: "2.0", method: "notifications/none" }]);
    peer.send([]);
    await expect.poll(() => peer.received.length).toBe(before + 1);
    expect(peer.received.at(-1)).toMatchObject({ error: { code: -32600 } });
    peer.oracle.problems.splice(0);
  });

  test.each(["2024-11-05", "2025-06-18", "2025-11-25"])("are refused in %s", async (version) => {
    const peer = await openPeer(createServer(), version, { judgeClient: false });
    const before = peer.received.length;
    peer.send([list("a")]);
    await expect.poll(() => peer.received.slice(before)).toMatchObject([{ error: { code: -32600 } }]);
    peer.oracle.problems.splice(0);
  });
});

test("both eras on one connection do not affect each other", async () => {
  const peer = await openPeer(createServer(), "2025-03-26", { judgeClient: false });
  peer.send({ jsonrpc: "2.0", id: "modern", method: "tools/list", params: modernMeta(MODERN_VERSION) });
  await expect.poll(() => peer.received.at(-1)).toMatchObject({ id: "modern", result: { resultType: "complete" } });
  expect(Object.keys(resultOf(await peer.request("tools/list")))).toEqual(["tools"]);
});

describe("the option protocolVersions", () => {
  test("limits the served versions", async () => {
    const server = new McpServer({ ...IDENTITY, protocolVersions: ["2025-06-18"] });
    server.tool("hello", {}, () => "hello");
    const peer = await openPeer(server, "2025-06-18", { handshake: false });
    const answer = await peer.request("initialize", { protocolVersion: "2025-11-25", ...CLIENT });
    expect(answer).toMatchObject({ result: { protocolVersion: "2025-06-18" } });
  });

  test("appears in the result of initialize if it contains only modern versions", async () => {
    const server = new McpServer({ ...IDENTITY, protocolVersions: [MODERN_VERSION] });
    const peer = await openPeer(server, "2025-11-25", { handshake: false });
    const answer = await peer.request("initialize", { protocolVersion: "2025-11-25", ...CLIENT });
    expect(answer).toMatchObject({ error: { message: expect.stringContaining(MODERN_VERSION) } });
  });

  test.each([[[]], [["2025-11-25", "2023-01-01"]]])(
    "makes the constructor throw for %j, listing the valid versions",
    (protocolVersions) => {
      const text = "2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28";
      expect(() => new McpServer({ ...IDENTITY, protocolVersions })).toThrow(text);
    },
  );
});

describe("a connection's transport", () => {
  test("may be a transport of the official SDK that serves the official client", async () => {
    const [clientEnd, serverEnd] = InMemoryTransport.createLinkedPair();
    const onError = () => undefined;
    const connection = await serveTransport(createServer(), serverEnd as unknown as Transport, { onError });
    const client = new Client({ name: "official", version: "1.0.0" });
    await client.connect(clientEnd);
    const called = await client.callTool({ name: "hello", arguments: {} });
    expect(called.content).toEqual([{ type: "text", text: "hello" }]);
    await client.close();
    await connection.close();
  });

  test("makes connect reject if it cannot start", async () => {
    const [, end] = createPair();
    end.start = () => Promise.reject(new Error("the port is taken"));
    await expect(serveTransport(createServer(), end, { onError: () => undefined })).rejects.toThrow(
      "the port is taken",
    );
  });

  test("may fail to send: the failure is reported, and the next request is served", async () => {
    const [client, server] = createPair();
    const reports: unknown[] = [];
    const send = server.send.bind(server);
    let failures = 1;
    server.send = (message) => (failures-- > 0 ? Promise.reject(new Error("the pipe is full")) : send(message));
    const received: unknown[] = [];
    client.onmessage = (message) => received.push(message);
    await serveTransport(createServer(), server, { onError: (error) => void reports.push(error) });
    await client.send({ jsonrpc: "2.0", id: 1, method: "ping" });
    await client.send({ jsonrpc: "2.0", id: 2, method: "ping" });
    await expect.poll(() => received).toEqual([{ jsonrpc: "2.0", id: 2, result: {} }]);
    expect(String(reports[0])).toContain("the pipe is full");
  });
});
