// @module-tag long
/** Every protocol version and the official clients over `src/http/` on Node: what Workers serve without sessions. */

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { REGISTRY } from "../../src/core/define/server.ts";
import { McpServer } from "../../src/core/index.ts";
import { replayRounds } from "../../src/core/run/replay.ts";
import { listenMethods, localNotifications } from "../../src/core/serve/subscriptions.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { createReferenceServer } from "../../src/reference/server.ts";
import { Listener, TOOLS } from "../conformance/listen-support.ts";
import { newKeys } from "../harness/workerd.ts";
import { HTTP_PEERS } from "../interop/peers.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { clientOf, LegacyClient, ModernClient, Reading, readAnswer, VERSIONS } from "../worker/client.ts";
import { createLab } from "../worker/fixtures/lab.ts";
import { CAPABILITIES_KEY, isMembers, LEGACY_VERSIONS, type Members } from "./messages.ts";
import { type NodeServer, startNodeServer } from "./node-server.ts";
import { until } from "./wire.ts";

const WIDE = "é☃".repeat(1_000_000);

let node: NodeServer;
/** The reference server, and tools that report how their runs ended. */
let reference: HttpTap;
let lab: HttpTap;
const reports: unknown[] = [];

function createWide(): McpServer {
  return new McpServer({ name: "wide", version: "1.0.0" })
    .tool("whole", {}, () => WIDE)
    .tool("streamed", {}, (_, ctx) => {
      ctx.progress(1);
      return WIDE;
    });
}

beforeAll(async () => {
  const options = { onError: (error: unknown) => void reports.push(error) };
  const server = createReferenceServer();
  const notifications = { source: () => localNotifications(server[REGISTRY].changes), methods: listenMethods };
  node = await startNodeServer(
    {
      "/mcp": createHttpHandler(server, { ...options, notifications, replay: replayRounds }),
      // No stream begins by itself here, so only the request's signal shows that a client which waits for JSON has
      // disconnected.
      "/lab": createHttpHandler(createLab("lab"), { ...options, jsonWaitMs: 600_000 }),
      "/wide": createHttpHandler(createWide(), options),
    },
    { MCP_KEYS: newKeys() },
  );
});

afterAll(() => node.stop());

beforeEach(async () => {
  reference = await startHttpTap(`${node.origin}/mcp`);
  lab = await startHttpTap(`${node.origin}/lab`);
});

afterEach(async () => {
  for (const tap of [reference, lab]) {
    await tap.close();
    expect(tap.oracle.problems).toEqual([]);
  }
  expect([node.failures, reports]).toEqual([[], []]);
});

function resultOf({ messages }: { readonly messages: readonly Members[] }): Members {
  const result = messages.at(-1)?.result;
  if (!isMembers(result)) throw new Error(`no result: ${JSON.stringify(messages)}`);
  return result;
}

describe.each(LEGACY_VERSIONS)("initialize in %s", (version) => {
  test("negotiates the version without a session", async () => {
    const client = await LegacyClient.open(reference.url, { version });
    expect(client.greeting).toMatchObject({
      protocolVersion: version,
      serverInfo: { name: "mcp-edge-reference" },
      capabilities: { tools: {}, prompts: {}, resources: {} },
    });
    expect(client.sessionId).toBeUndefined();
    expect((await client.get()).status).toBe(405);
    expect((await client.delete()).status).toBe(405);
  });
});

describe.each(VERSIONS)("a client of %s", (version) => {
  test("lists, reads and calls with JSON responses", async () => {
    const client = await clientOf(version, reference.url);
    const listed = await readAnswer(client.request("tools/list"));
    expect(listed.contentType).toBe("application/json");
    const { tools } = resultOf(listed);
    expect(tools).toEqual(expect.arrayContaining([expect.objectContaining({ name: "add" })]));
    const { contents } = resultOf(await readAnswer(client.request("resources/read", { uri: "test://static-text" })));
    expect(contents).toMatchObject([{ uri: "test://static-text" }]);
    const added = await readAnswer(client.call("add", { a: 2, b: 3 }));
    expect(added).toMatchObject({ status: 200, contentType: "application/json" });
    expect(added.text).toBe('{"sum":5}');
  });

  test("calls with progress over SSE, with the result last", async () => {
    const client = await clientOf(version, reference.url);
    const call = await readAnswer(client.call("test_tool_with_progress", {}, { progressToken: "p" }));
    expect(call).toMatchObject({ status: 200, contentType: "text/event-stream", text: "Progress reported." });
    expect(call.messages.slice(0, -1).map(({ params }) => params)).toMatchObject(
      [0, 50, 100].map((progress) => ({ progressToken: "p", progress, total: 100 })),
    );
  });

  test.each(["whole", "streamed"])("gets a result of five megabytes %s", async (tool) => {
    const tap = await startHttpTap(`${node.origin}/wide`);
    const client = await clientOf(version, tap.url);
    const answer = await readAnswer(client.call(tool, {}, { progressToken: 1 }));
    expect(answer.text === WIDE).toBe(true);
    await tap.close();
    tap.oracle.expectClean();
  });

  test("gets errors for an unknown tool and for invalid arguments", async () => {
    const client = await clientOf(version, reference.url);
    const { messages } = await readAnswer(client.call("none"));
    expect(messages).toMatchObject([{ error: { code: -32602, message: expect.stringContaining("none") } }]);
    expect(resultOf(await readAnswer(client.call("add", { a: 1, b: "two" })))).toMatchObject({ isError: true });
  });
});

/** Returns how the handler with this key ended. */
async function reportOf(key: string): Promise<string | undefined> {
  return (await readAnswer(new ModernClient(lab.url).call("report", { key }))).text;
}

describe("a client that closes its stream", () => {
  test("cancels its request in 2026-07-28: the signal aborts", async () => {
    const leave = new AbortController();
    const key = crypto.randomUUID();
    const call = new ModernClient(lab.url).call("emit_and_hold", { key }, { progressToken: 1, signal: leave.signal });
    const reading = new Reading(await call);
    await reading.has("progress", ({ messages }) => messages.length === 1);
    leave.abort();
    await until("the handler is aborted", async () => (await reportOf(key)) === "started aborted");
  });

  test("cancels its request in 2026-07-28 before the response has begun", async () => {
    const leave = new AbortController();
    const key = crypto.randomUUID();
    const call = new ModernClient(lab.url).call("hold", { key }, { signal: leave.signal }).catch(() => "left");
    await until("the handler runs", async () => (await reportOf(key)) === "started");
    leave.abort();
    expect(await call).toBe("left");
    await until("the handler is aborted", async () => (await reportOf(key)) === "started aborted");
  });

  test.each(LEGACY_VERSIONS)("does not cancel in %s: the network may have closed it", async (version) => {
    const leave = new AbortController();
    const key = crypto.randomUUID();
    const client = await LegacyClient.open(lab.url, { version });
    const call = client.call("emit_and_hold", { key }, { progressToken: 1, signal: leave.signal });
    const reading = new Reading(await call);
    await reading.has("progress", ({ messages }) => messages.length === 1);
    leave.abort();
    await until("the stream is cut", () => reading.isOver);
    await readAnswer(client.call("release", { key }));
    await until("the handler ends by itself", async () => (await reportOf(key)) === "started finished");
  });
});

test.each(["2025-11-25", "2026-07-28"] as const)(
  "a client of %s that does not read gets a limited amount of progress, and the result",
  async (version) => {
    const { promise: isOver, resolve } = Promise.withResolvers<void>();
    const server = new McpServer({ name: "flood", version: "1.0.0" }).tool("flood", {}, async (_, ctx) => {
      const message = "x".repeat(64 * 1024);
      for (let progress = 1; progress <= 1_024; progress += 1) {
        ctx.progress(progress, { message });
        await new Promise((next) => setImmediate(next));
      }
      resolve();
      return "over";
    });
    const flood = await startNodeServer({ "/mcp": createHttpHandler(server, { onError: () => undefined }) }, {});
    const tap = await startHttpTap(`${flood.origin}/mcp`);
    const client = await clientOf(version, tap.url);
    const response = await client.call("flood", {}, { progressToken: 1 });
    await isOver;
    const { text, raw } = await readAnswer(response);
    expect(text).toBe("over");
    // Includes what the server, the sockets and the streams in between hold: at most half of everything.
    expect(raw.length).toBeLessThan(32 * 1024 * 1024);
    await tap.close();
    await flood.stop();
    tap.oracle.expectClean();
    expect(flood.failures).toEqual([]);
  },
);

describe("a client of 2026-07-28", () => {
  test("discovers the server", async () => {
    const discovered = resultOf(await readAnswer(new ModernClient(reference.url).request("server/discover")));
    expect(discovered).toMatchObject({
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: { listChanged: true } },
    });
  });

  test("answers a question, and the server keeps its state", async () => {
    const client = new ModernClient(reference.url);
    const options = { meta: { [CAPABILITIES_KEY]: { elicitation: {} } } };
    const name = "test_input_required_result_request_state";
    const asked = resultOf(await readAnswer(client.call(name, {}, options)));
    expect(asked).toMatchObject({
      resultType: "input_required",
      inputRequests: { confirm: { method: "elicitation/create" } },
      requestState: expect.any(String),
    });
    const { requestState } = asked;
    const inputResponses = { confirm: { action: "accept", content: { ok: true } } };
    const again = { name, arguments: {}, requestState, inputResponses };
    expect((await readAnswer(client.request("tools/call", again, options))).text).toBe("state-ok");
    const forged = { ...again, requestState: `${requestState}A` };
    expect((await readAnswer(client.request("tools/call", forged, options))).messages).toMatchObject([
      { error: { code: -32602 } },
    ]);
  });

  test("gets the notifications of the process", async () => {
    const listener = await Listener.open(reference.url, { toolsListChanged: true });
    expect(listener.acknowledged).toEqual({ toolsListChanged: true });
    await readAnswer(new ModernClient(reference.url).call("test_trigger_tool_change"));
    await listener.hears(TOOLS);
    listener.leave();
  });
});

describe("an official client", () => {
  test.each(HTTP_PEERS.map((peer): [string, (typeof HTTP_PEERS)[number]] => [`${peer.name} (${peer.version})`, peer]))(
    "connects, lists and calls: %s",
    async (_, { version, connect }) => {
      const { client, initialized, sessionId, end } = await connect(new URL(reference.url));
      expect([initialized, sessionId]).toEqual([version === "2026-07-28" ? undefined : version, undefined]);
      expect(client.getServerVersion()).toMatchObject({ name: "mcp-edge-reference" });
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain("add");
      const added = await client.callTool({ name: "add", arguments: { a: 2, b: 3 } });
      expect(added).toMatchObject({ content: [{ type: "text", text: '{"sum":5}' }] });
      const streamed = await client.callTool({ name: "test_tool_with_progress", arguments: {} });
      expect(streamed).toMatchObject({ content: [{ type: "text", text: "Progress reported." }] });
      await expect(client.callTool({ name: "none", arguments: {} })).rejects.toMatchObject({ code: -32602 });
      await end();
    },
  );

  test("answers questions, and the call continues (client 2.4)", async () => {
    const client = new Client(
      { name: "asked", version: "1.0.0" },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "Ada" } }));
    await client.connect(new StreamableHTTPClientTransport(new URL(reference.url)));
    const answer = await client.callTool({ name: "test_input_required_result_elicitation", arguments: {} });
    expect(answer).toMatchObject({ content: [{ type: "text", text: "Hello, Ada!" }] });
    await client.close();
  });
});
