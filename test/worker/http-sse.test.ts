/** The endpoints of HTTP+SSE (2024-11-05), used by the official clients that speak it. */

import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as Sse1 } from "@modelcontextprotocol/sdk/client/sse.js";
import { Client as Client2024 } from "sdk-2024-11-05/client/index.js";
import { SSEClientTransport as Sse2024 } from "sdk-2024-11-05/client/sse.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { watch } from "../oracle/transport-watch.ts";

let worker: Workerd;
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/changing.ts",
    objects: { MCP_SESSION: "McpSession", MCP_HUB: "McpHub" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

const ME = { name: "http-sse", version: "1.0.0" };

describe("W3 the HTTP+SSE transport", () => {
  test("serves the release of 2024-11-05: list, call, progress, notices", async () => {
    const oracle = new WireOracle();
    const client = new Client2024(ME);
    await client.connect(watch(new Sse2024(new URL("/sse", worker.origin)), oracle) as never);
    expect(oracle.agreedVersion()).toBe("2024-11-05");
    const progress: unknown[] = [];
    const called = await client.callTool({ name: "progress", arguments: {} }, undefined, {
      onprogress: (each) => progress.push(each.progress),
    });
    expect(called).toMatchObject({ content: [{ type: "text", text: "done" }] });
    expect(progress).toEqual([1, 2]);
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

  test("serves a later release that falls back to it, in the version it asks for, questions included", async () => {
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

  test("names an endpoint with an unguessable session first, takes POSTs with 202 and no body, and beats", async () => {
    const leave = new AbortController();
    const stream = await fetch(`${worker.origin}/sse`, { signal: leave.signal });
    expect(stream.headers.get("content-type")).toBe("text/event-stream");
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const read = async (until: RegExp) => {
      while (!until.test(text)) text += (await reader?.read())?.value ?? "";
    };
    await read(/\n\n/);
    const [, endpoint = ""] = /^event: endpoint\ndata: (\/messages\?sessionId=[\w-]{100,128})\n\n/.exec(text) ?? [];
    const post = (body: unknown, path = endpoint) =>
      fetch(new URL(path, worker.origin), {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
    const accepted = await post({ jsonrpc: "2.0", id: 0, method: "ping" });
    expect([accepted.status, await accepted.text()]).toEqual([202, ""]);
    await read(/"id":0,"result":\{\}/);
    await read(/: keepalive/);
    expect((await post({ jsonrpc: "2.0", id: 1, method: "ping" }, "/messages?sessionId=garbage")).status).toBe(404);
    expect((await post({ jsonrpc: "2.0", id: 1, method: "ping" }, "/messages")).status).toBe(400);
    expect((await post("no message")).status).toBe(400);
    // C5: a notification is never answered, not even a bad one.
    const bad = await post({ jsonrpc: "2.0", method: "notifications/cancelled", params: [] });
    expect([bad.status, await bad.text()]).toEqual([202, ""]);
    leave.abort();
    // Heartbeats find out that the client is gone; then the session has no stream to answer on.
    await expect.poll(async () => (await post({ jsonrpc: "2.0", id: 2, method: "ping" })).status).toBe(404);
  });

  test("has no GET of the messages path, no POST of the stream's, and nothing where it is off", async () => {
    const statusOf = async (method: string, path: string) =>
      (await fetch(`${worker.origin}${path}`, { method })).status;
    expect(await statusOf("GET", "/messages")).toBe(405);
    expect(await statusOf("POST", "/sse")).toBe(405);
    const plain = await Workerd.start({ entry: "test/size/stateless.ts" });
    expect((await fetch(`${plain.origin}/sse`)).status).toBe(404);
    await plain.stop();
  });
});
