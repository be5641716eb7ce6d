// @module-tag long
/** The released client that uses tasks of 2025-11-25, end to end; and the same client where tasks are not declared. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { until } from "../http/wire.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { watch } from "../oracle/transport-watch.ts";
import { RELATED } from "./legacy-task-client.ts";

let worker: TestWorker;
let tap: HttpTap;
let client: Client;
/** The questions it got, each with the task that asked. */
let asked: [message: string, taskId: unknown][];

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/tasks.ts",
    objects: { MCP: "McpObject", LASTING: "LastingObject", EFFECTS: "Effects" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());
beforeEach(async () => {
  asked = [];
  client = new Client({ name: "released", version: "1.0.0" }, { capabilities: { elicitation: {}, sampling: {} } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push([params.message, params._meta?.[RELATED]?.taskId]);
    return { action: "accept", content: { name: params.message } };
  });
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    asked.push(["sampling", params._meta?.[RELATED]?.taskId]);
    return { role: "assistant", model: "m", content: { type: "text", text: "sampled" } };
  });
});
const newKey = () => crypto.randomUUID();
const effectsOf = async (key: string) => (await (await fetch(`${worker.origin}/effects/${key}`)).json()) as string[];
const release = (key: string) => fetch(`${worker.origin}/release/${key}`, { method: "POST" });

/** The client must have listed the tools to know which of them are tasks. */
async function connect(): Promise<void> {
  tap = await startHttpTap(`${worker.origin}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(new URL(tap.url)));
  await client.listTools();
}

/** Creates a task and returns without waiting for it. */
async function begin(name: string, key: string): Promise<string> {
  const { task } = await client.request(
    { method: "tools/call", params: { name, arguments: { key } } },
    CreateTaskResultSchema,
    { task: { ttl: 60_000 } },
  );
  return task.taskId;
}

/**
 * Uses a tool as a task. @returns The kinds of messages in order without repeats, the task's id and the last message.
 */
async function use(name: string, args: Record<string, unknown>) {
  const kinds: string[] = [];
  let taskId: string | undefined;
  let last: unknown;
  for await (const news of client.experimental.tasks.callToolStream({ name, arguments: args })) {
    const kind = news.type === "taskStatus" ? news.task.status : news.type;
    if (kinds.at(-1) !== kind) kinds.push(kind);
    if (news.type === "taskCreated") taskId = news.task.taskId;
    last = news.type === "result" ? news.result : news;
  }
  return { kinds, taskId, last };
}

describe("the released client", () => {
  afterEach(async () => {
    await client.close();
    await tap.close();
    tap.oracle.expectClean();
  });

  test("receives the capability", async () => {
    await connect();
    expect(client.getServerCapabilities()?.tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } });
  });

  test("polls a task to its end and gets the result", async () => {
    await connect();
    const { kinds, taskId, last } = await use("steps", { key: newKey(), pauseMs: 50 });
    expect(kinds).toEqual(["taskCreated", "working", "completed", "result"]);
    expect(last).toMatchObject({ content: [{ type: "text", text: "1 2 3" }], _meta: { [RELATED]: { taskId } } });
  });

  test("answers the questions of a task", async () => {
    await connect();
    const { taskId, last } = await use("asking", { key: newKey() });
    expect(last).toMatchObject({ content: [{ text: "1 One? 2 Two? Three?" }] });
    expect(asked).toEqual([
      ["One?", taskId],
      ["Two?", taskId],
      ["Three?", taskId],
    ]);
    const sampled = await use("sampling", { key: newKey() });
    expect(JSON.stringify(sampled.last)).toContain("sampled");
    expect(asked.at(-1)).toEqual(["sampling", sampled.taskId]);
  });

  test("gets the failure of a task", async () => {
    await connect();
    const { kinds } = await use("tool_error", { key: newKey() });
    expect(kinds.slice(-2)).toEqual(["failed", "error"]);
  });

  test("gets a task, waits for it and cancels it", async () => {
    await connect();
    const key = newKey();
    const taskId = await begin("hold", key);
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ taskId, status: "working", ttl: 60_000 });
    const waiting = client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
    await release(key);
    expect(await waiting).toMatchObject({ content: [{ text: "1 2" }] });
    await expect(client.experimental.tasks.cancelTask(taskId)).rejects.toThrow(
      "The task has ended: its status is completed.",
    );
    const other = await begin("hold", newKey());
    expect(await client.experimental.tasks.cancelTask(other)).toMatchObject({ taskId: other, status: "cancelled" });
  });

  test("gets the result of a task after the server was killed", async () => {
    await connect();
    const key = newKey();
    const taskId = await begin("hold", key);
    await until("the handler has begun", async () => (await effectsOf(key)).length > 0);
    await worker.restart();
    await release(key);
    const result = await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
    expect(result).toMatchObject({ content: [{ text: "1 2" }] });
  });
});

test("over HTTP+SSE tasks are not declared, and a call that asks for a task is served like any other call", async () => {
  const oracle = new WireOracle();
  await client.connect(watch(new SSEClientTransport(new URL("/sse", worker.origin)), oracle));
  expect(oracle.agreedVersion()).toBe("2025-11-25");
  expect(client.getServerCapabilities()).not.toHaveProperty("tasks");
  expect(JSON.stringify(await client.listTools())).not.toContain("taskSupport");
  const params = { name: "steps", arguments: { key: newKey() }, task: {} };
  const result = await client.request({ method: "tools/call", params }, CallToolResultSchema);
  expect(result).toMatchObject({ content: [{ text: "1 2 3" }] });
  await expect(client.experimental.tasks.getTask("any")).rejects.toThrow("-32601");
  await client.close();
  oracle.expectClean();
});
