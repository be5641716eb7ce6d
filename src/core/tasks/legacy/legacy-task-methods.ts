/**
 * The methods of tasks for clients of 2025-11-25, and their changes to other methods: a tool call may request a task,
 * `tools/list` says which tools support tasks, and the handshake declares tasks.
 *
 * There is no `tasks/list`, because tasks are found by their ids alone and no list of ids is stored.
 *
 * @module
 * @see MCP 2025-11-25, basic/utilities/tasks
 */

import { findCalledTool } from "../../define/called-tool.ts";
import * as ErrorCode from "../../protocol/error-codes.ts";
import { invalidParams, McpError } from "../../protocol/errors.ts";
import type { JsonObject, JsonText } from "../../protocol/jsonrpc.ts";
import { readTarget } from "../../protocol/targets.ts";
import { newJournal } from "../../run/journal.ts";
import type { Method, MethodTable, RequestContext } from "../../run/request-context.ts";
import { listResult } from "../../serve/list-methods.ts";
import { METHODS } from "../../serve/methods.ts";
import { callTool } from "../../serve/tool-call.ts";
import { type TaskView, unknownTask } from "../task.ts";
import { isOver, readTtl, toLegacyTask, toStatus, withRelatedTask } from "./legacy-task.ts";
import { awaitResult, type LegacyTaskBackend, type TaskChanges } from "./legacy-task-result.ts";

/** The declared capability, with the requests that may become tasks. */
const CAPABILITY: JsonObject = { cancel: {}, requests: { tools: { call: {} } } };

const isOffered = ({ registry }: RequestContext) => registry.offers("tools");

/**
 * Returns the methods for these clients, including the methods of tasks.
 *
 * @param inner The methods that are served in addition to the standard ones, such as the methods of notifications.
 * @param changes The task changes of the client's session.
 */
export function legacyTaskMethods(
  backend: LegacyTaskBackend,
  inner: MethodTable | undefined,
  changes: TaskChanges,
): MethodTable {
  const about = (work: (taskId: string, context: RequestContext) => Promise<JsonObject>): Method => ({
    isOffered,
    serve: (context) => work(readTarget(context.request), context),
  });
  return {
    ...inner,
    initialize: { serve: (context) => initialize({ ...context, methods: inner }) },
    "tools/list": { serve: listTools },
    "tools/call": { serve: (context) => callAsTask(context, backend) },
    "tasks/get": about(async (taskId, context) => toLegacyTask(await find(taskId, context, backend))),
    "tasks/result": about((taskId, context) => awaitResult(taskId, context, backend, changes)),
    "tasks/cancel": about(async (taskId, context) => {
      const task = await cancel(taskId, context, backend);
      changes.notify(taskId);
      return task;
    }),
  };
}

/** Reads a task. @throws {McpError} -32602 if it does not exist. */
async function find(taskId: string, context: RequestContext, backend: LegacyTaskBackend): Promise<TaskView> {
  const task = await backend.read(taskId, context);
  if (!task) throw unknownTask();
  return task;
}

/** Cancels a task. @throws {McpError} -32602 if it does not exist or has already ended. */
async function cancel(taskId: string, context: RequestContext, backend: LegacyTaskBackend): Promise<JsonObject> {
  const requireCancellable = (task: TaskView, isSo: boolean) => {
    if (!isSo) throw invalidParams(`The task has ended: its status is ${toStatus(task)}.`, { field: "taskId" });
  };
  const before = await find(taskId, context, backend);
  requireCancellable(before, !isOver(before));
  await backend.cancel(taskId, context);
  const after = await find(taskId, context, backend);
  // The task may have ended meanwhile.
  requireCancellable(after, after.status === "cancelled");
  return toLegacyTask(after);
}

async function initialize(context: RequestContext): Promise<JsonObject> {
  const found = (await METHODS.initialize.serve(context)) as JsonObject;
  if (!context.registry.offers("tools")) return found;
  return { ...found, capabilities: { ...(found.capabilities as JsonObject), tasks: CAPABILITY } };
}

/** Adds each tool's task support to its compiled list entry. */
function listTools(context: RequestContext): JsonText {
  const entries = context.registry.tools.list(context.client.rules).map((entry) => {
    const { task } = context.registry.tools.find(entry.key)?.options ?? {};
    if (task === undefined) return entry;
    return { ...entry, text: `${entry.text.slice(0, -1)},"execution":{"taskSupport":"${task}"}}` };
  });
  return listResult("tools/list", entries, context);
}

/**
 * Creates a task immediately, even for a tool with `taskStartsAt: "handler"`, because the client requested one. An
 * error in the arguments becomes the result of the task.
 */
async function callAsTask(context: RequestContext, backend: LegacyTaskBackend): Promise<JsonObject> {
  const { task: asked, ...params } = context.request.params ?? {};
  const tool = findCalledTool(context.registry, context.request);
  if (!tool) return callTool(context);
  const { task = "forbidden" } = tool.options;
  if (asked === undefined) {
    if (task === "required") throw notSo(`Tool "${tool.name}" runs only as a task: send params.task.`);
    return callTool(context);
  }
  if (task === "forbidden") throw notSo(`Tool "${tool.name}" does not run as a task: leave out params.task.`);
  const ttlMs = readTtl(asked);
  const { rules, capabilities, info } = context.client;
  const start = {
    request: { ...context.request, params },
    journal: newJournal(),
    round: { inputResponses: {} },
    client: { version: rules.version, capabilities, info },
    ...(ttlMs === undefined ? {} : { ttlMs }),
  };
  const create = async () => {
    // The backend returns the new task in the form in which it reads tasks.
    const created = (await backend.create(start, context)) as unknown as TaskView;
    return withRelatedTask({ task: toLegacyTask(created) }, created.taskId);
  };
  return context.once ? context.once(context, create) : create();
}

/** Returns the -32601 error that the specification requires. @see "Tool-Level Negotiation" */
function notSo(message: string): McpError {
  return new McpError(ErrorCode.MethodNotFound, message, { field: "task" });
}
