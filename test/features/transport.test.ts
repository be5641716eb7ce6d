/** Batches and transports, as far as `connection.test.ts` does not cover them. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, describe, expect, test } from "vitest";
import { REGISTRY } from "../../src/core/define/server.ts";
import {
  type JSONRPCMessage,
  KitError,
  McpServer,
  type ServeTransportOptions,
  serveTransport,
  type Transport,
} from "../../src/core/index.ts";
import { createPair } from "../harness/pair.ts";
import { closePeers, type Json, openPeer, type Peer } from "./peer.ts";

afterEach(closePeers);

function createServer(): McpServer {
  return new McpServer({ name: "transport", version: "1.0.0" }).tool("hello", {}, () => "hello");
}

/** A tool that runs until its signal aborts, and records the reason. */
function addWaiting(server: McpServer) {
  const seen = { running: 0, reasons: [] as unknown[] };
  server.tool("waits", {}, async (_, ctx) => {
    seen.running += 1;
    await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
    seen.reasons.push(ctx.signal.reason);
    return "aborted";
  });
  return seen;
}

const list = (id: unknown) => ({ jsonrpc: "2.0", id, method: "tools/list" });
const call = (id: unknown, name: string) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name } });
const cancel = (requestId: unknown) => ({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });

describe("a batch in 2025-03-26", () => {
  const open = (server = createServer(), limits = {}): Promise<Peer> =>
    openPeer(server, "2025-03-26", { judgeClient: false, limits });

  async function batch(peer: Peer, members: readonly unknown[]): Promise<unknown> {
    const before = peer.received.length;
    peer.send(members);
    await expect.poll(() => peer.received.length).toBe(before + 1);
    peer.oracle.problems.splice(0);
    return peer.received.at(-1);
  }

  test("gets an error without an id for each member that is not a message, and its other members still run", async () => {
    const answers = await batch(await open(), [1, null, [], { jsonrpc: "2.0" }, { ...list(null) }, list("good")]);
    expect(answers).toHaveLength(6);
    expect(answers).toMatchObject([...Array(5).fill({ error: { code: -32600 } }), { id: "good", result: {} }]);
    for (const answer of (answers as Json[]).slice(0, 5)) expect(answer).not.toHaveProperty("id");
  });

  test("gets an array even for a single response, and a failing member does not affect other members", async () => {
    const peer = await open();
    const unknown = { jsonrpc: "2.0", id: 2, method: "none/such" };
    expect(await batch(peer, [list(1), unknown, call(3, "hello")])).toMatchObject([
      { id: 1, result: {} },
      { id: 2, error: { code: -32601 } },
      { id: 3, result: { content: [{ text: "hello" }] } },
    ]);
    expect(await batch(peer, [list(4)])).toMatchObject([{ id: 4 }]);
  });

  test("has one member refused and one served if both have the same id", async () => {
    const answers = (await batch(await open(), [call(1, "hello"), call(1, "hello")])) as Json[];
    expect(answers.map(({ id }) => id)).toEqual([1, 1]);
    expect(answers.filter((answer) => "error" in answer)).toMatchObject([{ error: { code: -32600 } }]);
  });

  test("gets an array without the response to a cancelled member", async () => {
    const server = createServer();
    const seen = addWaiting(server);
    const peer = await open(server);
    const answers = batch(peer, [call("gone", "waits"), list("kept")]);
    await expect.poll(() => seen.running).toBe(1);
    peer.send(cancel("gone"));
    expect(await answers).toMatchObject([{ id: "kept" }]);
    expect(seen.reasons).toMatchObject([{ name: "CancelledError" }]);
  });

  test("gets no response if all its requests are cancelled", async () => {
    const server = createServer();
    const seen = addWaiting(server);
    const peer = await open(server);
    const before = peer.received.length;
    peer.send([call("gone", "waits")]);
    await expect.poll(() => seen.running).toBe(1);
    peer.send([cancel("gone")]);
    await peer.connection.idle();
    expect(peer.received).toHaveLength(before);
  });

  test("may have batchMax members, and is refused as a whole if it has one more", async () => {
    const server = createServer();
    let calls = 0;
    server.tool("counts", {}, () => String(++calls));
    const peer = await open(server, { batchMax: 2 });
    expect(await batch(peer, [list(1), list(2)])).toHaveLength(2);
    const refused = await batch(
      peer,
      [1, 2, 3].map((id) => call(id, "counts")),
    );
    expect(refused).toMatchObject({ error: { code: -32600, message: expect.stringContaining("2") } });
    expect(calls).toBe(0);
  });
});

test.each(["2024-11-05", "2025-06-18", "2025-11-25"])("in %s an empty array is rejected too", async (version) => {
  const peer = await openPeer(createServer(), version, { judgeClient: false });
  const before = peer.received.length;
  peer.send([]);
  await expect.poll(() => peer.received.slice(before)).toMatchObject([{ error: { code: -32600 } }]);
  peer.oracle.problems.splice(0);
});

describe("a transport of the official SDK with the official client", () => {
  async function open(server: McpServer) {
    const [clientEnd, serverEnd] = InMemoryTransport.createLinkedPair();
    const reports: unknown[] = [];
    const options: ServeTransportOptions<unknown> = { onError: (error) => void reports.push(error) };
    const connection = await serveTransport(server, serverEnd, options);
    const client = new Client({ name: "official", version: "1.0.0" });
    await client.connect(clientEnd);
    return { client, connection, reports };
  }

  test("serves lists, calls and pings and delivers change notifications", async () => {
    const server = createServer();
    const { client, connection, reports } = await open(server);
    expect(client.getServerVersion()).toMatchObject({ name: "transport", version: "1.0.0" });
    expect(await client.ping()).toEqual({});
    const changed = Promise.withResolvers<void>();
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed.resolve());
    server.tool("more", {}, () => "more");
    await changed.promise;
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["hello", "more"]);
    await expect(client.callTool({ name: "none" })).rejects.toMatchObject({ code: -32602 });
    await client.close();
    await connection.close();
    expect(reports).toEqual([]);
  });

  test("cancels a call: its signal has the client's reason", async () => {
    const server = createServer();
    const seen = addWaiting(server);
    const { client, connection } = await open(server);
    const abort = new AbortController();
    const called = client.callTool({ name: "waits" }, undefined, { signal: abort.signal }).catch(() => "aborted");
    await expect.poll(() => seen.running).toBe(1);
    abort.abort("enough");
    expect(await called).toBe("aborted");
    await expect.poll(() => seen.reasons).toMatchObject([{ name: "CancelledError", reason: "enough" }]);
    await connection.close();
  });

  test("aborts running handlers when the client closes", async () => {
    const server = createServer();
    const seen = addWaiting(server);
    const { client, connection, reports } = await open(server);
    const called = client.callTool({ name: "waits" }).catch(() => "closed");
    await expect.poll(() => seen.running).toBe(1);
    await client.close();
    expect(await called).toBe("closed");
    await connection.idle();
    expect(seen.reasons).toMatchObject([{ name: "KitError", code: "transport-closed" }]);
    expect(reports).toEqual([]);
  });

  test("ends the client's requests when the server closes", async () => {
    const server = createServer();
    const seen = addWaiting(server);
    const { client, connection } = await open(server);
    const closed = Promise.withResolvers<void>();
    client.onclose = () => closed.resolve();
    const called = client.callTool({ name: "waits" }).catch(() => "closed");
    await expect.poll(() => seen.running).toBe(1);
    await connection.close();
    await closed.promise;
    expect(await called).toBe("closed");
  });
});

describe("official clients of earlier revisions, each over its own in-memory transport", () => {
  const ofRevision = {
    "2024-11-05": async () => ({
      ...(await import("sdk-2024-11-05/client/index.js")),
      ...(await import("sdk-2024-11-05/inMemory.js")),
    }),
    "2025-03-26": async () => ({
      ...(await import("sdk-2025-03-26/client/index.js")),
      ...(await import("sdk-2025-03-26/inMemory.js")),
    }),
    "2025-06-18": async () => ({
      ...(await import("sdk-2025-06-18/client/index.js")),
      ...(await import("sdk-2025-06-18/inMemory.js")),
    }),
  };

  test.each(Object.entries(ofRevision))("serves version %s", async (version, load) => {
    const sdk = await load();
    const [clientEnd, serverEnd] = sdk.InMemoryTransport.createLinkedPair();
    const server = createServer();
    server.tool("version", {}, (_, ctx) => ctx.client.protocolVersion);
    const end = serverEnd as unknown as Transport;
    const connection = await serveTransport(server, end, { onError: (error) => Promise.reject(error) });
    const client = new sdk.Client({ name: "official", version: "1.0.0" });
    await client.connect(clientEnd as never);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["hello", "version"]);
    expect(await client.callTool({ name: "version" })).toMatchObject({ content: [{ type: "text", text: version }] });
    await client.close();
    await connection.close();
  });
});

describe("transports", () => {
  test("a transport whose start fails calls onError, and connect rejects with the same error", async () => {
    const [, end] = createPair();
    const error = new Error("the port is taken");
    const reports: unknown[] = [];
    end.start = async () => {
      end.onerror?.(error);
      throw error;
    };
    await expect(serveTransport(createServer(), end, { onError: (heard) => void reports.push(heard) })).rejects.toBe(
      error,
    );
    expect(reports).toEqual([error]);
  });

  test("a transport that reports an error calls onError with the place, and serving continues", async () => {
    const [client, end] = createPair();
    const heard: unknown[] = [];
    const received: JSONRPCMessage[] = [];
    client.onmessage = (message) => received.push(message);
    const onError: ServeTransportOptions<unknown>["onError"] = (error, { method, correlationId }) => {
      heard.push([(error as Error).message, method, correlationId.length > 0]);
    };
    const connection = await serveTransport(createServer(), end, { onError });
    end.onerror?.(new Error("a bad frame"));
    expect(heard).toEqual([["a bad frame", "(transport)", true]]);
    await client.send({ jsonrpc: "2.0", id: 1, method: "ping" });
    await expect.poll(() => received).toHaveLength(1);
    await connection.close();
  });

  test("a transport has its callbacks set before start: a message that arrives during start is served", async () => {
    const [client, end] = createPair();
    const received: JSONRPCMessage[] = [];
    client.onmessage = (message) => received.push(message);
    end.start = async () => end.onmessage?.({ jsonrpc: "2.0", id: "early", method: "ping" });
    await serveTransport(createServer(), end, { onError: () => undefined });
    await expect.poll(() => received).toMatchObject([{ id: "early", result: {} }]);
  });

  test("a transport whose send throws synchronously is reported like a transport whose send rejects", async () => {
    const [client, end] = createPair();
    const reports: unknown[] = [];
    end.send = () => {
      throw new KitError("transport-closed", "not open");
    };
    const connection = await serveTransport(createServer(), end, { onError: (error) => void reports.push(error) });
    await client.send({ jsonrpc: "2.0", id: 1, method: "ping" });
    await expect.poll(() => reports).toMatchObject([{ message: "not open" }]);
    await connection.idle();
  });

  test("sendText is called if it exists, with the text of the whole message", async () => {
    const [client, end] = createPair();
    const texts: string[] = [];
    end.sendText = async (text) => void texts.push(text);
    end.send = () => Promise.reject(new Error("not this one"));
    const connection = await serveTransport(createServer(), end, { onError: () => undefined });
    await client.send({ jsonrpc: "2.0", id: "t", method: "ping" });
    await expect.poll(() => texts).toEqual(['{"jsonrpc":"2.0","id":"t","result":{}}']);
    await connection.close();
  });
});

/** The server's end of a pair, with the given `send`. */
function endThat(send: (message: JSONRPCMessage) => Promise<void>): [Transport, Transport] {
  const [serverEnd, clientEnd] = createPair();
  serverEnd.send = send;
  return [serverEnd, clientEnd];
}

test("a transport that throws synchronously is reported to onError, for notifications and responses", async () => {
  const errors: unknown[] = [];
  const [serverEnd, clientEnd] = endThat(() => {
    throw new Error("no way out");
  });
  const server = createServer();
  const connection = await serveTransport(server, serverEnd, { onError: (error) => void errors.push(error) });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  await clientEnd.send({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  await clientEnd.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  await expect.poll(() => errors.length).toBe(1);
  server.toolsChanged();
  await expect.poll(() => errors).toMatchObject([{ message: "no way out" }, { message: "no way out" }]);
  await connection.close();
});

test("a listener that throws is reported to onError, and the other listeners get the notification", async () => {
  const [errors, heard]: [unknown[], unknown[]] = [[], []];
  const server = new McpServer({ name: "s", version: "1.0.0", onError: (error) => void errors.push(error) });
  server[REGISTRY].changes.subscribe(() => {
    throw new Error("deaf");
  });
  server[REGISTRY].changes.subscribe((notifications) => void heard.push(...notifications));
  server.toolsChanged();
  await expect.poll(() => heard).toEqual([{ kind: "tools" }]);
  expect(errors).toMatchObject([{ message: "deaf" }]);
});

test("progress and logs for a peer that does not read are limited; responses and questions are all sent", async () => {
  const sent: Json[] = [];
  const [serverEnd, clientEnd] = createPair();
  const letGo: (() => void)[] = [];
  serverEnd.send = (message) => {
    sent.push(message as unknown as Json);
    return new Promise((resolve) => letGo.push(resolve));
  };
  const server = createServer().tool("busy", {}, async (_, ctx) => {
    for (let done = 1; done <= 1_000; done++) {
      ctx.progress(done);
      ctx.log("info", "x".repeat(100));
    }
    return JSON.stringify(await ctx.listRoots());
  });
  const limits = { streamBufferBytesMax: 2_000 };
  const connection = await serveTransport(server, serverEnd, { limits, onError: () => undefined });
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: { roots: {} },
    clientInfo: { name: "c", version: "1" },
  };
  const say = (message: Json) => clientEnd.send(message as unknown as JSONRPCMessage);
  await say({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  await say({ jsonrpc: "2.0", id: 2, method: "logging/setLevel", params: { level: "info" } });
  await expect.poll(() => sent.at(-1)).toMatchObject({ id: 2 });
  const busy = () =>
    say({ jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "busy", _meta: { progressToken: 1 } } });
  await busy();
  await expect.poll(() => sent.at(-1)).toMatchObject({ method: "roots/list" });
  const news = sent.filter(({ method }) => String(method).startsWith("notifications/"));
  expect(news.length).toBeGreaterThan(10);
  expect(JSON.stringify(news).length).toBeLessThan(2_100);
  await say({ jsonrpc: "2.0", id: sent.at(-1)?.id, result: { roots: [] } });
  await expect.poll(() => sent.at(-1)).toMatchObject({ id: 3, result: { content: [{ text: "[]" }] } });
  for (const resolve of letGo) resolve();
  await new Promise((resolve) => setTimeout(resolve, 0));
  const before = sent.length;
  await busy();
  await expect.poll(() => sent[before]).toMatchObject({ method: "notifications/progress" });
  await connection.close();
});
