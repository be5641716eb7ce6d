/** The endpoints of HTTP+SSE (2024-11-05), used by the official clients that support it. */

import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as Sse1 } from "@modelcontextprotocol/sdk/client/sse.js";
import { Client as Client2024 } from "sdk-2024-11-05/client/index.js";
import { SSEClientTransport as Sse2024 } from "sdk-2024-11-05/client/sse.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HttpStream, openStream } from "../../src/testing/http-stream.ts";
import { expectLogs } from "../harness/logs.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { nested } from "../http/messages.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { watch } from "../oracle/transport-watch.ts";

expectLogs(/^mcp-edge: "\(notifications\)" failed .* \[migration-missing\]/);

let worker: Workerd;
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/changing.ts",
    objects: ["McpObject", "FewObject", "HastyObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

const ME = { name: "http-sse", version: "1.0.0" };

describe("the HTTP+SSE transport", () => {
  test("serves the release of 2024-11-05: list, call, progress, notifications", async () => {
    const oracle = new WireOracle();
    const client = new Client2024(ME);
    await client.connect(watch(new Sse2024(new URL("/sse", worker.origin)), oracle) as never);
    expect(oracle.agreedVersion()).toBe("2024-11-05");
    const progress: unknown[] = [];
    const called = await client.callTool({ name: "progress", arguments: {} }, undefined, {
      onprogress: (each) => progress.push(each.progress),
    });
    expect(called).toMatchObject({ content: [{ type: "text", text: "done" }] });
    // This release drops progress that arrives in one piece with the result.
    expect([1, 2]).toEqual(expect.arrayContaining(progress));
    const changed = new Promise<void>((resolve) => {
      client.fallbackNotificationHandler = async ({ method }) => {
        if (method === "notifications/tools/list_changed") resolve();
      };
    });
    await client.callTool({ name: "add_tool", arguments: { name: "from-2024" } });
    await changed;
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("from-2024");
    await client.close();
    oracle.expectClean();
  });

  test("serves a later release that falls back to it, in the version that it requests, including questions", async () => {
    const oracle = new WireOracle();
    const client = new Client1(ME, { capabilities: { elicitation: {} } });
    const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: "decline" }));
    await client.connect(watch(new Sse1(new URL("/sse", worker.origin)), oracle) as never);
    expect(oracle.agreedVersion()).toBe("2025-11-25");
    expect(await client.callTool({ name: "ask" })).toMatchObject({ content: [{ text: "decline" }] });
    await client.close();
    oracle.expectClean();
  });

  test("first sends an endpoint with an unguessable session, answers POSTs with 202 and no body, and sends heartbeats", async () => {
    const leave = new AbortController();
    const stream = await fetch(`${worker.origin}/sse`, { signal: leave.signal });
    expect(stream.headers.get("content-type")).toBe("text/event-stream");
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const read = async (until: RegExp) => {
      while (!until.test(text)) text += (await reader?.read())?.value ?? "";
    };
    await read(/\n\n/);
    const [, endpoint = ""] = /^event: endpoint\ndata: (\/messages\?sessionId=[\w-]{100,256})\n\n/.exec(text) ?? [];
    const post = (body: unknown, path = endpoint, type = "application/json") =>
      fetch(new URL(path, worker.origin), {
        method: "POST",
        headers: { "Content-Type": type },
        body: JSON.stringify(body),
      });
    const accepted = await post({ jsonrpc: "2.0", id: 0, method: "ping" });
    expect([accepted.status, await accepted.text()]).toEqual([202, ""]);
    await read(/"id":0,"result":\{\}/);
    await read(/: keepalive/);
    expect((await post({ jsonrpc: "2.0", id: 1, method: "ping" }, "/messages?sessionId=garbage")).status).toBe(404);
    expect((await post({ jsonrpc: "2.0", id: 1, method: "ping" }, "/messages")).status).toBe(400);
    expect((await post("no message")).status).toBe(400);
    // A page of any origin can send these types without a preflight.
    for (const type of ["text/plain", "application/x-www-form-urlencoded"]) {
      expect((await post({ jsonrpc: "2.0", id: 1, method: "ping" }, endpoint, type)).status).toBe(415);
    }
    expect((await post(JSON.parse(nested(1_000)))).status).toBe(400);
    // A notification never gets a response, not even if it is invalid.
    const bad = await post({ jsonrpc: "2.0", method: "notifications/cancelled", params: [] });
    expect([bad.status, await bad.text()]).toEqual([202, ""]);
    leave.abort();
    // Heartbeats show that the client has disconnected; then the session has no stream for a response.
    await expect.poll(async () => (await post({ jsonrpc: "2.0", id: 2, method: "ping" })).status).toBe(404);
  });

  test("has no GET on the messages path and no POST on the stream's path, and returns 404 if it is not enabled", {
    tags: "long",
  }, async () => {
    const statusOf = async (method: string, path: string) =>
      (await fetch(`${worker.origin}${path}`, { method })).status;
    expect(await statusOf("GET", "/messages")).toBe(405);
    expect(await statusOf("POST", "/sse")).toBe(405);
    const plain = await Workerd.start({ entry: "test/size/stateless.ts" });
    expect((await fetch(`${plain.origin}/sse`)).status).toBe(404);
    await plain.stop();
  });
});

const INITIALIZE = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: ME };

/** The URL that the first event of a stream names. */
async function endpointOf(stream: HttpStream): Promise<string> {
  await stream.waitFor("the endpoint", ({ events }) => events.length > 0);
  const { event, data = "" } = stream.events[0] ?? {};
  expect(event).toBe("endpoint");
  return data;
}

/** Sends a request whose response comes on the stream. */
async function post(endpoint: string, method: string, params: object, id: number): Promise<void> {
  const body = { jsonrpc: "2.0", id, method, params };
  const posted = await openStream(new URL(endpoint, worker.origin).href, { body, headers: { accept: undefined } });
  expect(posted.status).toBe(202);
}

describe("one URL for HTTP+SSE and Streamable HTTP", () => {
  const get = (headers: Record<string, string | undefined>, path = "/mcp") =>
    openStream(`${worker.origin}${path}`, { headers });

  test.each([
    ["by name", { accept: "text/event-stream" }],
    ["by name, and anything else", { accept: "text/event-stream, */*" }],
    ["by name, in any case", { accept: "application/json, Text/Event-Stream" }],
    ["as anything", { accept: "*/*" }],
    ["as anything, with a weight", { accept: "*/*;q=0.9" }],
    ["by saying nothing", { accept: undefined }],
    // HttpClientSseClientTransport of io.modelcontextprotocol:mcp-core (Java).
    [
      "as the Java SDK does",
      { accept: "text/event-stream", "cache-control": "no-cache", "mcp-protocol-version": "2024-11-05" },
    ],
    ["with the newest legacy version", { accept: "text/event-stream", "mcp-protocol-version": "2025-11-25" }],
  ])("tells a GET that accepts text/event-stream %s to POST to this URL", async (_, headers) => {
    await using stream = await get(headers, "/mcp?key=a%20b&sessionId=old");
    const endpoint = await endpointOf(stream);
    expect(endpoint).toMatch(/^\/mcp\?key=a\+b&sessionId=[\w-]{100,256}$/);
    await post(endpoint, "ping", {}, 7);
    await stream.waitFor("the answer", ({ events }) => events.length > 1);
    expect(stream.messages[1]).toEqual({ jsonrpc: "2.0", id: 7, result: {} });
  });

  test("ends a stream whose client does not send initialize in time, and no other stream", async () => {
    const accept = "text/event-stream";
    // The one that is used is opened first, so its time is over when the other one has ended.
    await using used = await get({ accept }, "/hasty");
    const usedAt = await endpointOf(used);
    await using silent = await get({ accept }, "/hasty");
    const silentAt = await endpointOf(silent);
    await post(usedAt, "initialize", INITIALIZE, 1);
    await silent.end();
    expect(silent.events.map(({ event }) => event)).toEqual(["endpoint"]);
    const body = { jsonrpc: "2.0", id: 2, method: "ping" };
    await expect.poll(async () => (await openStream(`${worker.origin}${silentAt}`, { body })).status).toBe(404);
    await post(usedAt, "ping", {}, 2);
    await used.waitFor("the answer", ({ messages }) => messages.length > 2);
    expect(used.messages.at(-1)).toMatchObject({ id: 2, result: {} });
  });

  test("sends notifications to a client after initialize, and none before", async () => {
    await using stream = await get({ accept: "text/event-stream" });
    const endpoint = await endpointOf(stream);
    const publish = () => fetch(`${worker.origin}/publish/tools`, { method: "POST" });
    await publish();
    await post(endpoint, "initialize", INITIALIZE, 1);
    await stream.waitFor("the answer", ({ messages }) => messages.length > 1);
    await publish();
    await stream.waitFor("the notification", ({ messages }) => messages.length > 2);
    expect(stream.messages.slice(1)).toMatchObject([{ id: 1 }, { method: "notifications/tools/list_changed" }]);
  });

  test("refuses any other GET without a session with 400", async () => {
    const accept = "text/event-stream";
    const others: Record<string, string | undefined>[] = [
      { accept, "last-event-id": "a-b-c" },
      { accept, "last-event-id": "a-b-c", "mcp-protocol-version": "2025-11-25" },
      { accept, "mcp-protocol-version": "2099-01-01" },
      { accept: "text/*" },
      { accept: "text/html, */*;q=0.8" },
      { accept: "application/json, text/plain, */*" },
    ];
    for (const headers of others) {
      await using answer = await get(headers);
      expect([answer.status, headers]).toEqual([400, headers]);
    }
    await using unwanted = await get({ accept: "application/json, text/event-stream;q=0" });
    expect(unwanted.status).toBe(406);
    await using nothing = await get({ accept: "*/*;q=0" });
    expect(nothing.status).toBe(406);
    await using modern = await get({ accept, "mcp-protocol-version": "2026-07-28" });
    expect(modern.status).toBe(405);
    await using unknown = await get({ accept, "mcp-session-id": "x" });
    expect(unknown.status).toBe(404);
  });

  test("refuses a stream beyond streamsMax with 429 before an object is created, until another stream has ended", async () => {
    const open = () => get({ accept: "text/event-stream" }, "/few");
    const first = await open();
    await using second = await open();
    expect([first.status, second.status]).toEqual([200, 200]);
    const objects = (await worker.worker.objects("FewObject")).length;
    const third = await open();
    expect([third.status, third.headers["retry-after"]]).toEqual([429, "5"]);
    expect(await worker.worker.objects("FewObject")).toHaveLength(objects);
    first.cut("fin");
    await expect
      .poll(async () => {
        await using again = await open();
        return again.status;
      })
      .toBe(200);
  });
});
