/** What a client is doing can be read. */
import { afterEach, expect, test } from "vitest";
import { type Client, type ClientExtension, connect } from "../../src/client/index.ts";
import { type ConnectionState, getConnectionState, trackState } from "../../src/client/state/state.ts";
import { serveTransport as serve, type Transport } from "../../src/core/index.ts";
import { createPair } from "../harness/pair.ts";
import { until } from "../http/wire.ts";
import { createServer } from "./fixtures/server.ts";
import { ME, MODERN } from "./places.ts";
import { initialized, result, scripted } from "./scripted.ts";

const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

/** Connects to a server that can be lost, and to others in its place as long as `canReopen`. */
async function enter(canReopen: () => boolean) {
  const ends: Transport[] = [];
  const target = async () => {
    if (ends.length > 0 && !canReopen()) throw new Error("no server is there");
    const [serverEnd, clientEnd] = createPair();
    ends.push(serverEnd);
    await serve(createServer(), serverEnd, { onError: () => undefined });
    return clientEnd;
  };
  let first: ConnectionState | undefined;
  const peek: ClientExtension = ({ client }) => {
    first = getConnectionState(client);
    return {};
  };
  const use = [trackState(), peek];
  const client = await connect(target, { ...ME, use, onEvent: () => undefined, reconnectsMax: 2 });
  clients.push(client);
  return { client, ends, first: () => first };
}

const FRESH = { resuming: [], requests: [], lastError: undefined };

test("the state of a client has the transport, the version, the last event, and the pending requests with their age", async () => {
  const { client } = await enter(() => true);
  expect(getConnectionState(client)).toEqual({
    ...FRESH,
    phase: "connected",
    transport: "pipe",
    protocolVersion: MODERN,
    hasSession: false,
    lastEvent: { event: { type: "connected", protocolVersion: MODERN, reason: undefined }, atMs: expect.any(Number) },
  });
  const controller = new AbortController();
  const held = client
    .callTool("hold", { key: "state" }, { signal: controller.signal })
    .catch((error: unknown) => error);
  expect(getConnectionState(client)?.requests).toEqual([{ method: "tools/call", ageMs: expect.any(Number) }]);
  controller.abort(new Error("enough"));
  await held;
  await until("the request is forgotten", () => getConnectionState(client)?.requests.length === 0);
  expect(getConnectionState(client)).toMatchObject({
    lastError: { error: { message: "enough" }, atMs: expect.any(Number) },
  });
});

test("the state of a client changes when the connection is being opened, opened again, and closed", async () => {
  let canReopen = true;
  const { client, ends, first } = await enter(() => canReopen);
  expect(first()).toMatchObject({ ...FRESH, phase: "connecting", transport: undefined, hasSession: false });
  await ends[0]?.close();
  await until("the loss is noticed", () => getConnectionState(client)?.phase === "reconnecting");
  await client.callTool("add", { a: 1, b: 2 });
  expect(getConnectionState(client)).toMatchObject({
    phase: "connected",
    lastEvent: { event: { type: "reconnected" } },
  });
  canReopen = false;
  await ends[1]?.close();
  await until("the client gives up", () => getConnectionState(client)?.phase === "closed");
  expect(String(getConnectionState(client)?.lastError?.error)).toContain("no server is there");
});

test("the state of a client shows whether a session exists, and which stream is being resumed", async () => {
  await using server = await scripted(({ message, method }, response) => {
    if (message?.method === "initialize") {
      response.setHeader("mcp-session-id", "one");
      return result(response, message.id, initialized("2025-11-25"));
    }
    if (message?.method === "tools/call") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.end("id: 1\nretry: 600000\ndata:\n\n");
    }
    response.writeHead(message && method === "POST" ? 202 : 405).end();
  });
  const client = await connect(server.url, { ...ME, protocolVersions: ["2025-11-25"], use: [trackState()] });
  clients.push(client);
  expect(getConnectionState(client)).toMatchObject({
    phase: "connected",
    transport: "streamable-http",
    hasSession: true,
  });
  const called = client.callTool("any").catch((error: unknown) => error);
  await until("the stream breaks", () => getConnectionState(client)?.resuming.length === 1);
  expect(getConnectionState(client)).toMatchObject({ resuming: ["tools/call"], requests: [{ method: "tools/call" }] });
  await client.close();
  expect(await called).toMatchObject({ code: "closed" });
  await until("the request is forgotten", () => getConnectionState(client)?.requests.length === 0);
  expect(getConnectionState(client)).toMatchObject({ phase: "closed", resuming: [] });
});

test("the state of a closed client is closed, and a client without trackState() has no state", async () => {
  const { client } = await enter(() => true);
  await client.close();
  expect(getConnectionState(client)?.phase).toBe("closed");
  const [serverEnd, clientEnd] = createPair();
  await serve(createServer(), serverEnd, { onError: () => undefined });
  const other = await connect(clientEnd, ME);
  clients.push(other);
  expect(getConnectionState(other)).toBeUndefined();
});

test("a hook for events that throws affects neither the client nor the other hooks", async () => {
  const seen: string[] = [];
  const [serverEnd, clientEnd] = createPair();
  await serve(createServer(), serverEnd, { onError: () => undefined });
  const fail = () => {
    throw new Error("broken hook");
  };
  const client = await connect(clientEnd, {
    ...ME,
    use: [() => ({ onEvent: fail })],
    onEvent: ({ type }) => seen.push(type),
  });
  clients.push(client);
  expect(seen).toEqual(["connected"]);
});
