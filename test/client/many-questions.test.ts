// @module-tag long
/** Servers that ask more than a client can answer at once. */
import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import {
  type Client,
  type ClientEvent,
  connect,
  type QuestionContext,
  type ServerHandlers,
} from "../../src/client/index.ts";
import { clientTasks } from "../../src/client/tasks/index.ts";
import { createTransportPair } from "../../src/core/connection/transport-pair.ts";
import type { JSONRPCMessage } from "../../src/core/protocol/jsonrpc.ts";
import { until } from "../http/wire.ts";
import { useClients } from "./join.ts";
import { ME } from "./places.ts";
import { DONE, discovered, initialized, result, type Scripted, scripted } from "./scripted.ts";

const join = useClients();
const PER_CALL = 16;
const PER_CONNECTION = 64;
const FORM = { message: "Who?", requestedSchema: { type: "object", properties: {} } };

const question = (id: number) => ({ jsonrpc: "2.0", id, method: "elicitation/create", params: FORM });
const event = (message: unknown) => `data: ${JSON.stringify(message)}\n\n`;

/** Counts how many of something are open at once, and the most that ever were. */
class Gauge {
  open = 0;
  most = 0;
  total = 0;
  enter(): void {
    this.open += 1;
    this.total += 1;
    this.most = Math.max(this.most, this.open);
  }
  leave(): void {
    this.open -= 1;
  }
}

/** A handler that answers when the test releases it, and the number of its open questions. */
function heldHandler() {
  const gauge = new Gauge();
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const onElicit = async (_: unknown, { signal }: QuestionContext) => {
    gauge.enter();
    await Promise.race([released, new Promise((resolve) => signal.addEventListener("abort", resolve))]);
    gauge.leave();
    return { action: "decline" } as const;
  };
  return { gauge, release, onElicit };
}

/** A legacy server whose calls ask so many questions in one stream, and end when all are answered. */
function legacyServer(count: number, posts: Gauge): Promise<Scripted> {
  const calls = new Map<number, { readonly response: ServerResponse; readonly id: unknown; open: number }>();
  return scripted(async ({ method, message }, response) => {
    const { id } = message ?? {};
    if (message?.method === "initialize") {
      return result(response, id, initialized("2025-11-25"), { "mcp-session-id": "s" });
    }
    if (message?.method === "tools/call") {
      const first = calls.size * 100_000;
      calls.set(first, { response, id, open: count });
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (let at = 0; at < count; at += 1) response.write(event(question(first + at)));
      return undefined;
    }
    if (message && message.method === undefined) {
      posts.enter();
      const call = calls.get(Math.floor(Number(id) / 100_000) * 100_000);
      await new Promise((resolve) => setImmediate(resolve));
      posts.leave();
      response.writeHead(202).end();
      if (call) call.open -= 1;
      if (call?.open === 0) call.response.end(event({ jsonrpc: "2.0", id: call.id, result: { content: [] } }));
      return undefined;
    }
    if (message?.method === "ping") return result(response, id, {});
    return response.writeHead(method === "GET" ? 405 : 202).end();
  });
}

describe("many questions of a legacy server over HTTP", () => {
  test("300 questions in one call are all answered, 16 at a time", async () => {
    const [handlers, posts] = [new Gauge(), new Gauge()];
    await using server = await legacyServer(300, posts);
    const onElicit = async () => {
      handlers.enter();
      await new Promise((resolve) => setImmediate(resolve));
      handlers.leave();
      return { action: "decline" } as const;
    };
    const { client } = await join(server.url, { protocolVersions: ["2025-11-25"], onElicit });
    expect(await client.callTool("ask")).toEqual({ content: [] });
    expect([handlers.total, posts.total]).toEqual([300, 300]);
    expect(handlers.most).toBeLessThanOrEqual(PER_CALL);
    expect(posts.most).toBeLessThanOrEqual(PER_CALL);
  });

  test("questions of ten calls at once are limited to 64 open questions", async () => {
    const { gauge, release, onElicit } = heldHandler();
    await using server = await legacyServer(20, new Gauge());
    const { client } = await join(server.url, { protocolVersions: ["2025-11-25"], onElicit });
    const calls = Promise.all(Array.from({ length: 10 }, () => client.callTool("ask")));
    await until("the handlers are busy", () => gauge.open >= PER_CONNECTION);
    await until("all calls ask", () => server.asked.filter((each) => each === "POST tools/call").length === 10);
    // An answered call shows that the client has read what the server sent before.
    await client.ping();
    for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    release();
    await calls;
    expect(gauge).toMatchObject({ total: 200, most: PER_CONNECTION });
  });

  test("5,000 questions are read only as far as they are answered, and the server is notified when the call is cancelled", async () => {
    const { gauge, onElicit } = heldHandler();
    await using server = await legacyServer(0, new Gauge());
    let asked = 0;
    const questions = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        asked += 1;
        if (asked > 5_000) return controller.close();
        return controller.enqueue(new TextEncoder().encode(event(question(asked))));
      },
    });
    const answer = new Response(questions, { headers: { "content-type": "text/event-stream" } });
    const { client, kinds } = await join(server.url, {
      protocolVersions: ["2025-11-25"],
      onElicit,
      fetch: (url, init) => (String(init.body).includes("tools/call") ? Promise.resolve(answer) : fetch(url, init)),
    });
    const controller = new AbortController();
    const call = client.callTool("ask", {}, { signal: controller.signal });
    await until("the handlers are busy", () => gauge.open === PER_CALL);
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toBeLessThan(300);
    controller.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    await until("the server is told", () => server.asked.includes("POST notifications/cancelled"));
    expect(kinds()).toEqual(["connected"]);
  });
});

test("a modern server that asks 300 questions at once gets all answers, 16 questions at a time", async () => {
  const gauge = new Gauge();
  let answered = 0;
  await using server = await scripted(({ message }, response) => {
    if (message?.method === "server/discover") return result(response, message.id, discovered());
    const { inputResponses } = message?.params ?? {};
    if (inputResponses) {
      answered = Object.keys(inputResponses).length;
      return result(response, message?.id, DONE);
    }
    const asked = Array.from({ length: 300 }, (_, at) => [`q${at}`, { method: "elicitation/create", params: FORM }]);
    return result(response, message?.id, { resultType: "input_required", inputRequests: Object.fromEntries(asked) });
  });
  const onElicit = async () => {
    gauge.enter();
    await new Promise((resolve) => setImmediate(resolve));
    gauge.leave();
    return { action: "decline" } as const;
  };
  const { client } = await join(server.url, { onElicit });
  expect(await client.callTool("ask")).toEqual(DONE);
  expect(answered).toBe(300);
  expect(gauge.most).toBe(PER_CALL);
});

test("a task that asks 100 questions at once gets all answers, 16 questions at a time", async () => {
  const gauge = new Gauge();
  let answered = 0;
  const task = { taskId: "t", createdAt: "2026-11-22T12:00:00Z", ttlMs: 60_000, pollIntervalMs: 30 };
  const asked = Array.from({ length: 100 }, (_, at) => [`q${at}`, { method: "elicitation/create", params: FORM }]);
  await using server = await scripted(({ message }, response) => {
    const { id, method, params } = message ?? {};
    const capabilities = { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
    const state = { ...task, lastUpdatedAt: `2026-11-22T12:00:0${answered > 0 ? 1 : 0}Z` };
    if (method === "server/discover") return result(response, id, discovered(undefined, capabilities));
    if (method === "tools/call") return result(response, id, { resultType: "task", ...state, status: "working" });
    if (method === "tasks/update") {
      answered = Object.keys(params?.inputResponses ?? {}).length;
      return result(response, id, { resultType: "complete" });
    }
    const open = { status: "input_required", inputRequests: Object.fromEntries(asked) };
    const now = answered > 0 ? { status: "completed", result: DONE } : open;
    return result(response, id, { resultType: "complete", ...state, ...now });
  });
  const onElicit = async () => {
    gauge.enter();
    await new Promise((resolve) => setImmediate(resolve));
    gauge.leave();
    return { action: "decline" } as const;
  };
  const { client } = await join(server.url, { onElicit, use: [clientTasks()] });
  expect(await client.callTool("ask")).toEqual(DONE);
  expect([answered, gauge.total, gauge.most]).toEqual([100, 100, PER_CALL]);
});

describe("a server on a pipe", () => {
  const clients: Client[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });

  /** Connects to a server that sends what the test requests, and records the ids of the answers. */
  async function onPipe(onElicit: ServerHandlers["onElicit"]) {
    const [serverEnd, clientEnd] = createTransportPair();
    const answers: unknown[] = [];
    serverEnd.onmessage = (message: JSONRPCMessage) => {
      const { id, method } = message as { id?: number; method?: string };
      if (method === "initialize") {
        void serverEnd.send({ jsonrpc: "2.0", id: id as number, result: initialized("2025-11-25") });
      } else if (method === undefined) answers.push(id);
    };
    await serverEnd.start();
    const events: ClientEvent[] = [];
    const options = { ...ME, protocolVersions: ["2025-11-25"], ...(onElicit ? { onElicit } : {}) };
    clients.push(await connect(clientEnd, { ...options, onEvent: (each) => events.push(each) }));
    return { events, answers, ask: (id: number) => serverEnd.send(question(id) as JSONRPCMessage) };
  }

  test.each([
    ["different ids", (count: number) => count],
    ["the same id", () => 7],
  ])("has at most 64 open questions, and more than 10,000 are ignored (%s)", async (_, idOf) => {
    const { gauge, release, onElicit } = heldHandler();
    const { events, answers, ask } = await onPipe(onElicit);
    for (let count = 0; count < 10_100; count += 1) await ask(idOf(count));
    await until("the handlers are busy", () => gauge.open === PER_CONNECTION);
    expect(events.filter(({ type }) => type === "warning")).toMatchObject([
      { message: "A message of the server was ignored: 10000 earlier questions are not answered yet." },
    ]);
    release();
    await until("all others are answered", () => answers.length === 10_000);
    expect(gauge).toMatchObject({ total: 10_000, most: PER_CONNECTION });
    await ask(20_000);
    await until("a later question is answered", () => answers.includes(20_000));
  });
});
