/** Tasks of servers that ours would never be. */
import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  type Client,
  type ClientEvent,
  type ClientExtension,
  type ClientOptions,
  connect,
  KitError,
  type QuestionContext,
} from "../../../src/client/index.ts";
import { clientTasks, resumeTask, startTask } from "../../../src/client/tasks/index.ts";
import { isStale, readTask } from "../../../src/client/tasks/task-state.ts";
import { until } from "../../http/wire.ts";
import { ME } from "../places.ts";
import { discovered, error, type Faults, initialized, result, type Scripted, scripted } from "../scripted.ts";

const EXTENSION = "io.modelcontextprotocol/tasks";
const TASK = {
  taskId: "t",
  createdAt: "2026-11-22T12:00:00Z",
  lastUpdatedAt: "2026-11-22T12:00:00Z",
  ttlMs: 60_000,
  pollIntervalMs: 30,
};
const DONE = { resultType: "complete", content: [{ type: "text", text: "done" }] };
const WORKING = { ...TASK, status: "working" };
const COMPLETED = { ...TASK, status: "completed", result: DONE };
const FORM = { message: "Who?", requestedSchema: { type: "object", properties: {} } };
const ASKING = {
  ...TASK,
  status: "input_required",
  inputRequests: { q: { method: "elicitation/create", params: FORM } },
};

type Answer = (response: ServerResponse, id: unknown, params: Record<string, unknown>) => unknown;

/** A modern server whose tools become the task `t`. `answers` has the other methods, by their names. */
function serve(answers: Record<string, Answer>, faults?: Faults): Promise<Scripted> {
  const capabilities = { tools: {}, resources: {}, extensions: { [EXTENSION]: {} } };
  return scripted((request, response) => {
    const { method = "", id, params = {} } = request.message ?? {};
    const answer = answers[method];
    if (answer) return answer(response, id, params);
    if (method === "server/discover") return result(response, id, discovered(undefined, capabilities));
    if (method === "tools/call") return result(response, id, { resultType: "task", ...WORKING });
    if (method.startsWith("tasks/")) return result(response, id, { resultType: "complete" });
    return error(response, 404, id, -32601);
  }, faults);
}

/** Returns one state after the other for `tasks/get`, and then the last one again. */
function states(...all: readonly object[]): Answer {
  let at = 0;
  return (response, id) => {
    const state = all[Math.min(at, all.length - 1)];
    at += 1;
    return result(response, id, { resultType: "complete", ...state });
  };
}

const clients: Client[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const client of clients.splice(0)) await client.close();
});

async function visit({ url }: Scripted, options: Partial<ClientOptions> = {}) {
  const events: ClientEvent[] = [];
  const client = await connect(url, {
    ...ME,
    use: [clientTasks()],
    onEvent: (event) => events.push(event),
    ...options,
  });
  clients.push(client);
  return { client, events };
}

const polls = (server: Scripted) => server.asked.filter((each) => each === "POST tasks/get").length;

test("a question is asked once, even if the server lists it for a while after the answer", {
  tags: "long",
}, async () => {
  const got: unknown[] = [];
  let late = 0;
  await using server = await serve({
    "tasks/get": (response, id) => {
      if (got.length > 0) late += 1;
      return states(late > 3 ? COMPLETED : ASKING)(response, id, {});
    },
    "tasks/update": (response, id, { inputResponses }) => {
      got.push(inputResponses);
      return result(response, id, { resultType: "complete" });
    },
  });
  let asked = 0;
  const onElicit = () => {
    asked += 1;
    return { action: "decline" } as const;
  };
  const { client } = await visit(server, { onElicit });
  await expect(client.callTool("x")).resolves.toMatchObject({ content: [{ text: "done" }] });
  expect(asked).toBe(1);
  expect(got).toEqual([{ q: { action: "decline" } }]);
});

test("the answers to questions that are asked at once are sent together when the last one is available", async () => {
  const questions = {
    one: ASKING.inputRequests.q,
    two: { method: "elicitation/create", params: { ...FORM, message: "When?" } },
  };
  const got: unknown[] = [];
  await using server = await serve({
    "tasks/get": (response, id) =>
      states(got.length > 0 ? COMPLETED : { ...ASKING, inputRequests: questions })(response, id, {}),
    "tasks/update": (response, id, { inputResponses }) => {
      got.push(inputResponses);
      return result(response, id, { resultType: "complete" });
    },
  });
  const onElicit = async ({ message }: { message: string }) => {
    const before = polls(server);
    if (message === "When?") await until("the client has polled on", () => polls(server) > before + 2);
    return { action: "decline" } as const;
  };
  const { client } = await visit(server, { onElicit });
  await client.callTool("x");
  expect(got).toEqual([{ one: { action: "decline" }, two: { action: "decline" } }]);
});

test("a question that the server no longer lists is withdrawn while the task continues", async () => {
  let withdrawn: unknown;
  let isAsked = false;
  await using server = await serve({
    "tasks/get": (response, id) => states(withdrawn ? COMPLETED : isAsked ? WORKING : ASKING)(response, id, {}),
  });
  const onElicit = (_: unknown, { signal }: QuestionContext) => {
    isAsked = true;
    signal.addEventListener("abort", () => {
      withdrawn = signal.reason;
    });
    return new Promise<never>(() => undefined);
  };
  const { client } = await visit(server, { onElicit });
  await expect(client.callTool("x")).resolves.toMatchObject({ content: [{ text: "done" }] });
  expect(withdrawn).toMatchObject({ message: "The task continues without the answer." });
});

test("a server that is busy or unavailable for a moment is polled again, and this is reported", async () => {
  let failures = 0;
  await using server = await serve({
    "tasks/get": (response, id) => {
      failures += 1;
      if (failures === 1) return response.writeHead(429, { "retry-after": "0" }).end();
      if (failures === 2) return response.writeHead(503).end();
      if (failures === 3) return response.destroy();
      return states(COMPLETED)(response, id, {});
    },
  });
  const { client, events } = await visit(server);
  await expect(client.callTool("x")).resolves.toMatchObject({ content: [{ text: "done" }] });
  expect(events).toContainEqual(expect.objectContaining({ type: "request-repeated", method: "tasks/get" }));
});

test("a permanent error ends the wait, and the task is not cancelled", async () => {
  await using server = await serve({ "tasks/get": (response, id) => error(response, 500, id, -32603) });
  const { client } = await visit(server);
  await expect(client.callTool("x")).rejects.toMatchObject({ code: -32603 });
  expect(polls(server)).toBe(1);
  // Whatever the client would send after the failure has been sent before this.
  await expect(client.request("tasks/get", { taskId: "t" })).rejects.toMatchObject({ code: -32603 });
  expect(server.asked).not.toContain("POST tasks/cancel");
});

test("a task that the server has deleted rejects as gone", async () => {
  await using server = await serve({ "tasks/get": (response, id) => error(response, 200, id, -32602) });
  const { client } = await visit(server);
  await expect(client.callTool("x")).rejects.toMatchObject({ name: "TaskError", code: "gone", taskId: "t" });
});

test("a task that never ends rejects as gone after its time to live", async () => {
  const now = Date.now;
  await using server = await serve({ "tasks/get": states(WORKING) });
  const { client } = await visit(server);
  const called = client.callTool("x");
  const gone = expect(called).rejects.toMatchObject({
    code: "gone",
    message: expect.stringContaining("60000 ms (ttlMs)"),
  });
  await until("the client polls", () => polls(server) > 2);
  // The time to live and a minute more.
  vi.spyOn(Date, "now").mockImplementation(() => now() + 121_000);
  await gone;
});

test.each([
  ["short", 1],
  ["missing", undefined],
])("a server is polled with a pause even if its requested interval is %s", async (_, pollIntervalMs) => {
  let createdAtMs = Number.POSITIVE_INFINITY;
  const state = { ...TASK, pollIntervalMs };
  await using server = await serve({
    "tools/call": (response, id) => {
      createdAtMs = Date.now();
      return result(response, id, { resultType: "task", ...state, status: "working" });
    },
    "tasks/get": (response, id) => {
      const isDone = Date.now() - createdAtMs > 600;
      return result(response, id, {
        resultType: "complete",
        ...(isDone ? COMPLETED : { ...state, status: "working" }),
      });
    },
  });
  const { client } = await visit(server);
  await client.callTool("x");
  // 600 ms at intervals of at least 20 ms; of 1 s if the server says nothing.
  expect(polls(server)).toBeLessThan(pollIntervalMs === undefined ? 3 : 34);
});

test("a server that refuses to be listened to is polled instead", { tags: "long", timeout: 20_000 }, async () => {
  let isListenedTo = false;
  await using server = await serve({
    "subscriptions/listen": (response, id) => {
      isListenedTo = true;
      return error(response, 404, id, -32601);
    },
    "tasks/get": (response, id) => states(isListenedTo ? COMPLETED : WORKING)(response, id, {}),
  });
  const { client } = await visit(server);
  await expect(client.callTool("x")).resolves.toMatchObject({ content: [{ text: "done" }] });
  expect(isListenedTo).toBe(true);
});

describe("responses about a task", () => {
  const INVALID = { name: "ClientError", code: "answer-invalid" };

  test("a task in response to another request than a tool call is invalid", async () => {
    await using server = await serve(
      { "resources/read": (response, id) => result(response, id, { resultType: "task", ...WORKING }) },
      /is not answered with a task/,
    );
    const { client } = await visit(server);
    await expect(client.request("resources/read", { uri: "x://y" })).rejects.toMatchObject(INVALID);
  });

  test("a task without an id or with an unknown status is invalid", async () => {
    const { taskId: _, ...nameless } = WORKING;
    for (const state of [nameless, { ...WORKING, status: "resting" }]) {
      await using server = await serve(
        { "tools/call": (response, id) => result(response, id, { resultType: "task", ...state }) },
        { text: /taskId|status/, schema: "ext-tasks" },
      );
      const { client } = await visit(server);
      await expect(client.callTool("x")).rejects.toMatchObject(INVALID);
    }
  });

  test("a completed task without a result is invalid", async () => {
    const { result: _, ...empty } = COMPLETED;
    await using server = await serve({ "tasks/get": states(empty) }, { text: /GetTaskResult/, schema: "ext-tasks" });
    const { client } = await visit(server);
    await expect(client.callTool("x")).rejects.toMatchObject(INVALID);
  });

  test("a task is invalid if the client did not declare tasks", async () => {
    await using server = await serve({});
    const { client } = await visit(server, { use: [] });
    await expect(client.callTool("x")).rejects.toMatchObject(INVALID);
  });
});

test("a result in place of a task is accepted", async () => {
  await using server = await scripted((request, response) => {
    const { method, id } = request.message ?? {};
    const capabilities = { tools: {}, tasks: { requests: { tools: { call: {} } } } };
    if (method === "initialize") return result(response, id, initialized("2025-11-25", capabilities));
    if (method === "tools/list") {
      const tool = { name: "x", inputSchema: { type: "object" }, execution: { taskSupport: "required" } };
      return result(response, id, { tools: [tool] });
    }
    if (method === "tools/call") return result(response, id, { content: [{ type: "text", text: "at once" }] });
    return response.writeHead(method === "server/discover" ? 404 : request.method === "GET" ? 405 : 202).end();
  });
  const { client } = await visit(server);
  const task = await startTask(client, "x");
  expect(task.id).toBeUndefined();
  expect((await task.result()).content).toEqual([{ type: "text", text: "at once" }]);
});

test("a task of a server without tasks cannot be resumed", async () => {
  await using server = await scripted((request, response) => {
    const { method, id } = request.message ?? {};
    if (method === "server/discover") return result(response, id, discovered());
    return error(response, 404, id, -32601);
  });
  const { client } = await visit(server);
  await expect(resumeTask(client, "t")).rejects.toMatchObject({ code: "capability-missing" });
  expect(polls(server)).toBe(0);
});

test("an earlier state never replaces a later state", () => {
  const at = (lastUpdatedAt: string | undefined, status = "working") =>
    readTask("tasks/get", { taskId: "t", status, lastUpdatedAt });
  const later = at("2026-11-22T12:00:01Z");
  expect(isStale(at("2026-11-22T12:00:00Z"), later)).toBe(true);
  expect(isStale(at("2026-11-22T12:00:01Z"), later)).toBe(false);
  expect(isStale(at(undefined), later)).toBe(false);
  expect(isStale(at("2026-11-22T12:00:02Z"), at("2026-11-22T12:00:00Z", "completed"))).toBe(true);
});

test("onTask can throw without ending the call, and this is reported", async () => {
  await using server = await serve({ "tasks/get": states(COMPLETED) });
  const onTask = () => {
    throw new Error("The disk is full.");
  };
  const { client, events } = await visit(server, { use: [clientTasks({ onTask })] });
  await expect(client.callTool("x")).resolves.toMatchObject({ content: [{ text: "done" }] });
  expect(events).toContainEqual(expect.objectContaining({ type: "handler-failed", handler: "onTask" }));
});

test("an extension around the tasks extension sees that a started call has no result yet", async () => {
  await using server = await serve({ "tasks/get": states(COMPLETED) });
  const seen: unknown[] = [];
  const around: ClientExtension = () => ({
    onRequest: async (request, next) => {
      const answer = await next(request);
      if (request.method === "tools/call") seen.push(answer.resultType);
      return answer;
    },
  });
  const { client } = await visit(server, { use: [around, clientTasks()] });
  await (await startTask(client, "x")).result();
  await client.callTool("x");
  expect(seen).toEqual(["task", "complete"]);
});

test("an option that is not a number of milliseconds is refused", () => {
  expect(() => clientTasks({ ttlMs: -1 })).toThrow(KitError);
  expect(() => clientTasks({ ttlMs: Number.NaN })).toThrow("clientTasks(): ttlMs is NaN");
});
