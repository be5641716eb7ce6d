/**
 * The methods of tasks for clients of 2025-11-25, and their changes to other methods: a tool call may request a task,
 * `tools/list` says which tools support tasks, and the handshake declares tasks.
 *
 * There is no `tasks/list`, because tasks are found by their ids alone and no list of ids is stored.
 *
 * @module
 * @see MCP 2025-11-25, basic/utilities/tasks
 */

import { invalidParams, McpError } from "../../protocol/errors.ts";
import { ErrorCode, type JsonObject, type JsonText } from "../../protocol/jsonrpc.ts";
import { newJournal } from "../../run/journal.ts";
import type { Method, RequestContext } from "../../run/request-context.ts";
import { listResult } from "../../serve/list-methods.ts";
import { METHODS } from "../../serve/methods.ts";
import { callTool } from "../../serve/tool-call.ts";
import { type TaskView, unknownTask } from "../task.ts";
import { isOver, readTtl, toLegacyTask, toStatus, withRelatedTask } from "./legacy-task.ts";
import { awaitResult, type LegacyTaskBackend, type TaskChanges } from "./legacy-task-result.ts";

type Table = Readonly<Record<string, Method>>;

/** The declared capability, with the requests that may become tasks. */
const CAPABILITY: JsonObject = { cancel: {}, requests: { tools: { call: {} } } };

const isOffered = ({ registry }: RequestContext) => registry.offers("tools");

/**
 * Returns the methods for these clients, including those of tasks.
 *
 * @param inner The methods that are served in addition to the standard ones, such as those of notifications.
 * @param changes The task changes of the client's session.
 */
export function legacyTaskMethods(backend: LegacyTaskBackend, inner: Table | undefined, changes: TaskChanges): Table {
  const about = (work: (taskId: string, call: RequestContext) => Promise<JsonObject>): Method => ({
    isOffered,
    serve: (call) => {
      const { method, params } = call.request;
      const taskId = params?.taskId;
      if (typeof taskId === "string") return work(taskId, call);
      throw invalidParams(`${method}: params.taskId is not a string.`, { field: "taskId" });
    },
  });
  return {
    ...inner,
    initialize: { serve: (call) => initialize({ ...call, methods: inner }) },
    "tools/list": { isOffered, serve: listTools },
    "tools/call": { isOffered, serve: (call) => callAsTask(call, backend) },
    "tasks/get": about(async (taskId, call) => toLegacyTask(await find(taskId, call, backend))),
    "tasks/result": about((taskId, call) => awaitResult(taskId, call, backend, changes)),
    "tasks/cancel": about(async (taskId, call) => {
      const task = await cancel(taskId, call, backend);
      changes.tell(taskId);
      return task;
    }),
  };
}

/** Reads a task. @throws {McpError} -32602 if it does not exist. */
async function find(taskId: string, call: RequestContext, backend: LegacyTaskBackend): Promise<TaskView> {
  const task = await backend.read(taskId, call);
  if (!task) throw unknownTask();
  return task;
}

/** Cancels a task. @throws {McpError} -32602 if it does not exist or has already ended. */
async function cancel(taskId: string, call: RequestContext, backend: LegacyTaskBackend): Promise<JsonObject> {
  const requireCancellable = (task: TaskView, isSo: boolean) => {
    if (!isSo) throw invalidParams(`The task has ended: its status is ${toStatus(task)}.`, { field: "taskId" });
  };
  const before = await find(taskId, call, backend);
  requireCancellable(before, !isOver(before));
  await backend.cancel(taskId, call);
  const after = await find(taskId, call, backend);
  // The task may have ended meanwhile.
  requireCancellable(after, after.status === "cancelled");
  return toLegacyTask(after);
}

async function initialize(call: RequestContext): Promise<JsonObject> {
  const found = (await METHODS.legacy.initialize?.serve(call)) as JsonObject;
  if (!call.registry.offers("tools")) return found;
  return { ...found, capabilities: { ...(found.capabilities as JsonObject), tasks: CAPABILITY } };
}

/** Adds each tool's task support to its compiled list entry. */
function listTools(call: RequestContext): JsonText {
  const entries = call.registry.tools.list(call.client.rules).map((entry) => {
    const { task } = call.registry.tools.find(entry.key)?.options ?? {};
    if (task === undefined) return entry;
    return { ...entry, text: `${entry.text.slice(0, -1)},"execution":{"taskSupport":"${task}"}}` };
  });
  return listResult("tools/list", entries, call);
}

/**
 * Creates a task immediately, even for a tool with `taskStartsAt: "handler"`, because the client requested one. An error in
 * the arguments becomes the result of the task.
 */
async function callAsTask(call: RequestContext, backend: LegacyTaskBackend): Promise<JsonObject> {
  const { task: asked, ...params } = call.request.params ?? {};
  const tool = typeof params.name === "string" ? call.registry.tools.find(params.name) : undefined;
  if (!tool) return callTool(call);
  const { task = "forbidden" } = tool.options;
  if (asked === undefined) {
    if (task === "required") throw notSo(`Tool "${tool.name}" runs only as a task: send params.task.`);
    return callTool(call);
  }
  if (task === "forbidden") throw notSo(`Tool "${tool.name}" does not run as a task: send no params.task.`);
  const ttlMs = readTtl(asked);
  const { rules, capabilities, info } = call.client;
  const start = {
    request: { ...call.request, params },
    journal: newJournal(),
    round: { inputResponses: {} },
    client: { version: rules.version, capabilities, info },
    ...(ttlMs === undefined ? {} : { ttlMs }),
  };
  const create = async () => {
    // The backend returns the new task in the form in which it reads tasks.
    const created = (await backend.create(start, call)) as unknown as TaskView;
    return withRelatedTask({ task: toLegacyTask(created) }, created.taskId);
  };
  return call.once ? call.once(call, create) : create();
}

/** Returns the -32601 error that the specification requires. @see "Tool-Level Negotiation" */
function notSo(message: string): McpError {
  return new McpError(ErrorCode.MethodNotFound, message, { field: "task" });
}
