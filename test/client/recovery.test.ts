/** Cut streams, lost sessions and absent servers: what the client does by itself, and what it reports. */
import type { ServerResponse } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ClientEvent } from "../../src/client/index.ts";
import { type CuttableProxy, startProxy } from "../../src/testing/proxy.ts";
import { until } from "../http/wire.ts";
import { useClients } from "./join.ts";
import { Lab, LEGACY } from "./places.ts";
import { CACHED, DONE, discovered, initialized, result, scripted } from "./scripted.ts";

let lab: Lab;
let proxy: CuttableProxy;
beforeAll(async () => {
  lab = await Lab.start();
  proxy = await startProxy(lab.worker.origin);
});
afterEach(() => lab.leave());
afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]();
  await lab?.[Symbol.asyncDispose]();
});

const join = useClients();
const NEWEST_LEGACY = { protocolVersions: ["2025-11-25"] };

describe("the stream of a legacy call", () => {
  test("survives being cut three times, with every message once and in order", { tags: "long" }, async () => {
    const { client, events } = await join(proxy.url("/mcp"), NEWEST_LEGACY);
    const seen: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => {
      seen.push(progress);
      if (progress === 3 || progress === 13 || progress === 23) proxy.cut("rst");
    };
    const called = await client.callTool("slow", { steps: 40, stepMs: 40 }, { onProgress });
    expect(called).toMatchObject({ content: [{ text: "done" }] });
    expect(seen).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
    const resumed = events.filter(({ type }) => type === "stream-resumed");
    expect(resumed).toHaveLength(3);
    expect(resumed).toMatchObject(Array(3).fill({ method: "tools/call", lastEventId: expect.any(String) }));
  });

  test("is resumed after the time that the server requests, from the last event, however many times it ends", async () => {
    const cursors: unknown[] = [];
    await using server = await scripted(({ method, headers, message }, response) => {
      if (message?.method === "initialize")
        return result(response, message.id, initialized("2025-11-25"), { "mcp-session-id": "s" });
      if (method === "GET") cursors.push(headers["last-event-id"]);
      if (method === "POST" && message?.method !== "tools/call") return response.writeHead(202).end();
      const count = cursors.length;
      if (count < 4) return stream(response, `id: e${count}\nretry: 300\ndata: \n\n`);
      return stream(response, 'id: last\ndata: {"jsonrpc":"2.0","id":2,"result":{"content":[]}}\n\n');
    });
    const { client, events } = await join(server.url, NEWEST_LEGACY);
    expect(await client.callTool("any")).toEqual({ content: [] });
    expect(cursors).toEqual(["e0", "e1", "e2", "e3"]);
    for (const event of events.filter(({ type }) => type === "stream-reconnecting")) {
      expect(event).toMatchObject({ attempt: 1 });
      expect((event as { delayMs: number }).delayMs).toBeGreaterThanOrEqual(300);
      expect((event as { delayMs: number }).delayMs).toBeLessThanOrEqual(330);
    }
  });

  test("is abandoned after reconnectsMax attempts without an event, and the error says that the call may have run", async () => {
    await using server = await scripted(({ method, message }, response) => {
      if (message?.method === "initialize") return result(response, message.id, initialized("2025-11-25"));
      if (method === "GET") return response.writeHead(503).end();
      return message?.method === "tools/call" ? stream(response, "id: 1\ndata: \n\n") : response.writeHead(202).end();
    });
    const { client, kinds } = await join(server.url, { ...NEWEST_LEGACY, reconnectsMax: 2 });
    await expect(client.callTool("any")).rejects.toMatchObject({
      code: "stream-lost",
      source: "transport",
      mayHaveRun: true,
    });
    expect(kinds()).toEqual(["connected", "stream-reconnecting", "stream-reconnecting"]);
    expect(server.asked.filter((each) => each === "GET")).toHaveLength(2);
  });

  test("cannot be resumed without an event id, so that the call fails at once", async () => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "initialize") return result(response, message.id, initialized("2025-11-25"));
      return message?.method === "tools/call" ? stream(response, ": nothing\n\n") : response.writeHead(202).end();
    });
    const { client } = await join(server.url, NEWEST_LEGACY);
    await expect(client.callTool("any")).rejects.toMatchObject({ code: "stream-lost", mayHaveRun: true });
    expect(server.asked).not.toContain("GET");
  });
});

describe("a session that the server has lost", () => {
  test.each(LEGACY)("is reopened, and the refused request is sent again (%s)", async (version) => {
    const events: ClientEvent[] = [];
    const { client, tap } = await lab.http("/mcp", {
      protocolVersions: [version],
      onEvent: (event) => events.push(event),
    });
    await endSession(lab.url(), tap?.exchanges[0]?.responseHeaders["mcp-session-id"], version);
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    expect(events.map(({ type }) => type)).toEqual(["connected", "connected", "session-reopened", "request-repeated"]);
    expect(await client.tools().all()).not.toHaveLength(0);
  });

  test("is reopened once for all requests that need it, and never for the second refusal of a request", async () => {
    let [sessions, refused, answered] = [0, 0, 0];
    await using server = await scripted(async ({ method, headers, message }, response) => {
      if (message?.method === "initialize") {
        sessions += 1;
        return result(response, message.id, initialized("2025-11-25"), { "mcp-session-id": `s${sessions}` });
      }
      if (method !== "POST" || message?.id === undefined)
        return response.writeHead(method === "POST" ? 202 : 405).end();
      if (headers["mcp-session-id"] === "s2") {
        answered += 1;
        return result(response, message.id, { tools: [] });
      }
      refused += 1;
      // The last refusal arrives after the new session is in use.
      if (refused === 3) await until("a request of the new session", () => answered === 2);
      return response.writeHead(404).end();
    });
    const { client } = await join(server.url, NEWEST_LEGACY);
    const lists = await Promise.all([client.listTools(), client.listTools(), client.listTools()]);
    expect(lists).toEqual(Array(3).fill({ tools: [] }));
    expect(sessions).toBe(2);
  });

  test("makes the request fail if it cannot be reopened", async () => {
    await using server = await scripted(({ method, message }, response) => {
      if (message?.method === "initialize")
        return result(response, message.id, initialized("2025-11-25"), { "mcp-session-id": "s" });
      if (method === "POST" && message?.id === undefined) return response.writeHead(202).end();
      return response.writeHead(404).end("gone");
    });
    const { client } = await join(server.url, NEWEST_LEGACY);
    await expect(client.callTool("any")).rejects.toMatchObject({
      code: "session-lost",
      mayHaveRun: false,
      response: { body: "gone" },
    });
    expect(server.asked.filter((each) => each === "POST tools/call")).toHaveLength(2);
  });

  test.each([
    ["readOnlyHint", { readOnlyHint: true }, 2],
    ["idempotentHint", { idempotentHint: true }, 2],
    ["no hint", {}, 1],
    ["destructiveHint", { destructiveHint: true }, 1],
  ])("repeats only safe calls that were running: a tool with %s", async (_, annotations, calls) => {
    let count = 0;
    await using server = await scripted(({ method, message }, response) => {
      if (message?.method === "initialize")
        return result(response, message.id, initialized("2025-11-25"), { "mcp-session-id": "s" });
      if (message?.method === "tools/list")
        return result(response, message.id, { tools: [{ name: "t", inputSchema: { type: "object" }, annotations }] });
      if (message?.method === "tools/call") {
        count += 1;
        return count === 1
          ? stream(response, "id: 1\nretry: 1\ndata: \n\n")
          : result(response, message.id, { content: [] });
      }
      return response.writeHead(method === "GET" ? 404 : 202).end();
    });
    const { client } = await join(server.url, NEWEST_LEGACY);
    await client.listTools();
    const call = client.callTool("t");
    if (calls === 2) expect(await call).toEqual({ content: [] });
    else await expect(call).rejects.toMatchObject({ code: "session-lost", mayHaveRun: true });
    expect(count).toBe(calls);
  });

  test("keeps its subscriptions and its log level", async () => {
    const updated: string[] = [];
    const logged: unknown[] = [];
    const { client, tap } = await lab.http("/mcp", {
      ...NEWEST_LEGACY,
      onResourceUpdated: (uri) => updated.push(uri),
      onLog: ({ data }) => logged.push(data),
      onEvent: () => undefined,
    });
    await client.subscribe("test://notes/1");
    await client.setLevel("error");
    await endSession(lab.url(), tap?.exchanges[0]?.responseHeaders["mcp-session-id"], "2025-11-25");
    await client.callTool("log");
    await until("the message has arrived", async () => logged.length > 0);
    // What changed in between is unknown, so the handler is called once for it.
    expect(updated).toContain("test://notes/1");
    updated.length = 0;
    await until("an update arrives again", async () => {
      await client.callTool("touch", { uri: "test://notes/1" });
      return updated.length > 0;
    });
  });
});

describe("a modern request whose connection breaks", () => {
  test("is sent again if it only reads", async () => {
    let reads = 0;
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover")
        return result(response, message.id, discovered(undefined, { resources: {} }));
      reads += 1;
      if (reads === 1) return response.destroy();
      return reads === 2 ? stream(response, ": hello\n\n") : result(response, message?.id, { ...CACHED, contents: [] });
    });
    const { client, kinds } = await join(server.url);
    expect(await client.readResource("test://a")).toMatchObject({ contents: [] });
    expect(kinds()).toEqual(["connected", "request-repeated", "request-repeated"]);
  });

  test("is not sent again if it may have changed data", async () => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      return stream(response, ": hello\n\n");
    });
    const { client, kinds } = await join(server.url);
    await expect(client.callTool("pay")).rejects.toMatchObject({ code: "stream-lost", mayHaveRun: true });
    expect(kinds()).toEqual(["connected"]);
  });

  test("is sent again, whatever it does, if there was no connection at all", { tags: "long" }, async () => {
    const server = await scripted(({ message }, response) => result(response, message?.id, discovered()));
    const { client, kinds } = await join(server.url);
    await server[Symbol.asyncDispose]();
    await expect(client.callTool("pay")).rejects.toMatchObject({ code: "unreachable", mayHaveRun: false });
    expect(kinds()).toEqual(["connected", "request-repeated", "request-repeated", "request-repeated"]);
  });
});

describe("a server that declares the idempotency key", () => {
  test.each([
    ["in 2026-07-28", {}],
    ["in 2025-11-25", NEWEST_LEGACY],
  ])("runs a call once, however many times its connection breaks (%s)", async (name, options) => {
    const { client } = await join(proxy.url("/mcp"), options);
    let cuts = 0;
    const onProgress = () => {
      cuts += 1;
      if (cuts <= 2) proxy.cut("rst");
    };
    const outcome = await client.callTool("charge", { key: name }, { onProgress }).catch((error: unknown) => error);
    // A modern server treats a lost connection as cancellation, so the repeated call may learn that it was interrupted.
    expect(JSON.stringify(outcome)).toMatch(/charged|interrupted/);
    expect(await client.callTool("runs", { key: name })).toMatchObject({ content: [{ text: "1" }] });
  });

  test("gets one key for all attempts of a call, and another for the next call", async () => {
    const keys: unknown[] = [];
    await using server = await scripted(({ message }, response) => {
      const capabilities = { tools: {}, experimental: { "mcp-edge/idempotencyKey": {} } };
      if (message?.method === "server/discover")
        return result(response, message.id, discovered(undefined, capabilities));
      const meta = message?.params?._meta as Record<string, unknown> | undefined;
      keys.push(meta?.["mcp-edge/idempotencyKey"]);
      return keys.length === 1 ? response.destroy() : result(response, message?.id, DONE);
    });
    const { client } = await join(server.url);
    await client.callTool("pay");
    await client.callTool("pay");
    expect(keys).toEqual([
      expect.stringMatching(/^\d+-\d+-\d+-\d+$/),
      keys[0],
      expect.not.stringMatching(String(keys[0])),
    ]);
  });

  test("gets no key for a tool with readOnlyHint that was listed or passed, and whose calls are repeated without it", async () => {
    const keyed: string[] = [];
    let calls = 0;
    await using server = await scripted(({ message }, response) => {
      const { id, method, params } = message ?? {};
      const capabilities = { tools: {}, experimental: { "mcp-edge/idempotencyKey": {} } };
      if (method === "server/discover") return result(response, id, discovered(undefined, capabilities));
      const inputSchema = { type: "object" };
      const tools = [
        { name: "read", inputSchema, annotations: { readOnlyHint: true } },
        { name: "set", inputSchema, annotations: { readOnlyHint: false, idempotentHint: true } },
      ];
      if (method === "tools/list") return result(response, id, { tools, ...CACHED });
      calls += 1;
      const meta = params?._meta as Record<string, unknown> | undefined;
      if (meta?.["mcp-edge/idempotencyKey"] !== undefined) keyed.push(String(params?.name));
      // The second call breaks: without a key, the hint still lets the client repeat it.
      return calls === 2 ? response.destroy() : result(response, id, DONE);
    });
    const { client } = await join(server.url);
    await client.callTool("read");
    expect([calls, keyed]).toEqual([1, ["read"]]);
    await client.listTools();
    await client.callTool("read");
    expect([calls, keyed]).toEqual([3, ["read"]]);
    await client.callTool({ name: "unlisted", annotations: { readOnlyHint: true } });
    expect([calls, keyed]).toEqual([4, ["read"]]);
    await client.callTool("set");
    await client.callTool("pay");
    expect([calls, keyed]).toEqual([6, ["read", "set", "pay"]]);
  });
});

describe("the stream of changes", () => {
  test.each([
    ["a legacy session", NEWEST_LEGACY, undefined],
    ["a modern server", {}, "subscriptions/listen"],
  ])("is opened again for %s, and changes that may have been missed are reported", async (_, options, method) => {
    const updated: string[] = [];
    let toolChanges = 0;
    const { client, events } = await join(proxy.url("/mcp"), {
      ...options,
      onResourceUpdated: (uri) => updated.push(uri),
      onToolsChanged: () => {
        toolChanges += 1;
      },
    });
    await client.subscribe("test://notes/1");
    const touchUntilHeard = () =>
      until("the update arrives", async () => {
        await client.callTool("touch", { uri: "test://notes/1" });
        return updated.length > 0;
      });
    await touchUntilHeard();
    updated.length = 0;
    toolChanges = 0;
    proxy.cut("rst");
    await until("the stream is resumed", async () =>
      events.some((event) => event.type === "stream-resumed" && event.method === method),
    );
    expect(updated).toContain("test://notes/1");
    expect(toolChanges).toBeGreaterThan(0);
    updated.length = 0;
    await touchUntilHeard();
  });

  test("is abandoned with an event if the server closes it again and again", async () => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") {
        return result(response, message.id, discovered(undefined, { tools: { listChanged: true } }));
      }
      const params = { _meta: { "io.modelcontextprotocol/subscriptionId": message?.id }, notifications: {} };
      const acknowledged = { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params };
      return stream(response, `data: ${JSON.stringify(acknowledged)}\n\n`);
    });
    const { kinds } = await join(server.url, { reconnectsMax: 2, onToolsChanged: () => undefined });
    await until("the stream is given up", async () => kinds().includes("stream-lost"));
    expect(kinds().filter((kind) => kind === "stream-reconnecting")).toHaveLength(2);
  });
});

/** Responds with a stream that ends after its text. */
function stream(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "text/event-stream" }).end(text);
}

/** Ends a session as another client with its id could. */
async function endSession(url: string, id: string | undefined, version: string): Promise<void> {
  const headers = { "mcp-session-id": String(id), "mcp-protocol-version": version };
  const { status } = await fetch(url, { method: "DELETE", headers });
  expect(status).toBeLessThan(300);
}
