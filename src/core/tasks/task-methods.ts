/**
 * The methods of the tasks extension, and its changes to other methods: a tool call may become a task, the server
 * declares the extension, and a listen stream can report tasks.
 *
 * @module
 * @see io.modelcontextprotocol/tasks
 */

import { findCalledTool } from "../define/called-tool.ts";
import type { Registry } from "../define/registry.ts";
import { invalidParams } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { readTarget } from "../protocol/targets.ts";
import type { Method, MethodTable, RequestContext, Serve } from "../run/request-context.ts";
import { METHODS } from "../serve/methods.ts";
import { callTool } from "../serve/tool-call.ts";
import { type CreateTask, roundsIntoTask } from "./begin-task.ts";
import { supportsTasks, TASKS_EXTENSION, type TaskView, tasksMissing, unknownTask } from "./task.ts";
import { withTaskUpdates } from "./task-updates.ts";

/** Stores tasks. For a task of another caller, the methods return undefined or false, as if the task did not exist. */
export interface TaskBackend {
  readonly create: CreateTask;
  read(taskId: string, context: RequestContext): Promise<TaskView | undefined>;
  /** Stores the answers to open questions and ignores all other answers. Resolves once they are stored durably. */
  update(taskId: string, responses: JsonObject, context: RequestContext): Promise<boolean>;
  cancel(taskId: string, context: RequestContext): Promise<boolean>;
}

/**
 * Returns the methods for modern clients, including the methods of tasks.
 *
 * @param inner The methods that are served in addition to the standard ones, such as the methods of notifications.
 * @param check Throws if a request about a task must be refused.
 */
export function taskMethods(
  backend: TaskBackend,
  inner: MethodTable | undefined,
  check: (context: RequestContext) => void,
): MethodTable {
  const about = (work: (taskId: string, ...args: Parameters<Serve>) => Promise<JsonObject>): Method => ({
    serve: (context) => {
      check(context);
      if (!supportsTasks(context.client)) throw tasksMissing(context.request.method);
      return work(readTarget(context.request), context);
    },
  });
  const changed = (registry: Registry, id: string) => registry.changes.publish({ kind: "task", id });
  const listen = inner?.["subscriptions/listen"];
  return {
    ...inner,
    ...(listen ? { "subscriptions/listen": listening(listen, backend) } : {}),
    "server/discover": { serve: (context) => discover({ ...context, methods: inner }) },
    "tools/call": { serve: (context) => callAsTask(context, backend) },
    "tasks/get": about(async (taskId, context) => {
      const task = await backend.read(taskId, context);
      if (!task) throw unknownTask();
      return { ...task };
    }),
    "tasks/update": about(async (taskId, context) => {
      const responses = context.request.params?.inputResponses;
      if (!isObject(responses)) {
        throw invalidParams("tasks/update: params.inputResponses is not an object.", { field: "inputResponses" });
      }
      if (!(await backend.update(taskId, responses, context))) throw unknownTask();
      changed(context.registry, taskId);
      return {};
    }),
    "tasks/cancel": about(async (taskId, context) => {
      if (!(await backend.cancel(taskId, context))) throw unknownTask();
      changed(context.registry, taskId);
      return {};
    }),
  };
}

/** Runs a tool as a task if the tool allows it and the client supports tasks. */
function callAsTask(context: RequestContext, backend: TaskBackend) {
  const tool = findCalledTool(context.registry, context.request);
  const { task = "forbidden", taskStartsAt = "call" } = tool?.options ?? {};
  if (task === "forbidden") return callTool(context);
  if (supportsTasks(context.client)) {
    return callTool({ ...context, rounds: roundsIntoTask(backend.create, taskStartsAt) });
  }
  if (task === "required") throw tasksMissing(`Tool "${tool?.name}"`);
  return callTool(context);
}

async function discover(context: RequestContext): Promise<JsonObject> {
  const found = (await METHODS["server/discover"].serve(context)) as JsonObject;
  const capabilities = found.capabilities as JsonObject;
  const extensions = { ...(capabilities.extensions as JsonObject | undefined), [TASKS_EXTENSION]: {} };
  return { ...found, capabilities: { ...capabilities, extensions } };
}

function listening({ serve, ...rest }: Method, backend: TaskBackend): Method {
  return {
    ...rest,
    serve: async (context) => serve(await withTaskUpdates(context, (taskId) => backend.read(taskId, context))),
  };
}
