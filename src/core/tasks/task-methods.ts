/**
 * The methods of the tasks extension, and its changes to other methods: a tool call may become a task, the server
 * declares the extension, and a listen stream can report tasks.
 *
 * @module
 * @see io.modelcontextprotocol/tasks
 */

import type { Registry } from "../define/registry.ts";
import { invalidParams } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Method, RequestContext, Serve } from "../run/request-context.ts";
import { METHODS } from "../serve/methods.ts";
import { callTool } from "../serve/tool-call.ts";
import { type CreateTask, roundsIntoTask } from "./begin-task.ts";
import { supportsTasks, TASKS_EXTENSION, type TaskView, tasksMissing, unknownTask } from "./task.ts";
import { withTaskUpdates } from "./task-updates.ts";

/** Stores tasks. For a task of another caller, the methods answer as if it did not exist: undefined or false. */
export interface TaskBackend {
  readonly create: CreateTask;
  read(taskId: string, call: RequestContext): Promise<TaskView | undefined>;
  /** Takes the answers to open questions and ignores all others. Resolves once the answers are stored durably. */
  update(taskId: string, responses: JsonObject, call: RequestContext): Promise<boolean>;
  cancel(taskId: string, call: RequestContext): Promise<boolean>;
}

type Table = Readonly<Record<string, Method>>;

/**
 * Returns the methods for modern clients, including those of tasks.
 *
 * @param inner The methods that are served in addition to the standard ones, such as those of notifications.
 * @param check Throws if a request about a task must be refused.
 */
export function taskMethods(
  backend: TaskBackend,
  inner: Table | undefined,
  check: (call: RequestContext) => void,
): Table {
  const about = (work: (taskId: string, ...args: Parameters<Serve>) => Promise<JsonObject>): Method => ({
    serve: (call) => {
      check(call);
      if (!supportsTasks(call.client)) throw tasksMissing(call.request.method);
      const taskId = call.request.params?.taskId;
      if (typeof taskId !== "string") {
        throw invalidParams(`${call.request.method}: params.taskId is not a string.`, { field: "taskId" });
      }
      return work(taskId, call);
    },
  });
  const changed = (registry: Registry, id: string) => registry.changes.publish({ kind: "task", id });
  const listen = inner?.["subscriptions/listen"];
  return {
    ...inner,
    ...(listen ? { "subscriptions/listen": listening(listen, backend) } : {}),
    "server/discover": { serve: (call) => discover({ ...call, methods: inner }) },
    "tools/call": {
      serve: (call) => callAsTask(call, backend),
      isOffered: ({ registry }) => registry.offers("tools"),
    },
    "tasks/get": about(async (taskId, call) => {
      const task = await backend.read(taskId, call);
      if (!task) throw unknownTask();
      return { ...task };
    }),
    "tasks/update": about(async (taskId, call) => {
      const responses = call.request.params?.inputResponses;
      if (!isObject(responses)) {
        throw invalidParams("tasks/update: params.inputResponses is not an object.", { field: "inputResponses" });
      }
      if (!(await backend.update(taskId, responses, call))) throw unknownTask();
      changed(call.registry, taskId);
      return {};
    }),
    "tasks/cancel": about(async (taskId, call) => {
      if (!(await backend.cancel(taskId, call))) throw unknownTask();
      changed(call.registry, taskId);
      return {};
    }),
  };
}

/** Runs a tool as a task if the tool allows it and the client supports tasks. */
function callAsTask(call: RequestContext, backend: TaskBackend) {
  const { name } = call.request.params ?? {};
  const { task = "forbidden", taskStartsAt = "call" } =
    (typeof name === "string" && call.registry.tools.find(name)?.options) || {};
  if (task === "forbidden") return callTool(call);
  if (supportsTasks(call.client)) {
    return callTool({ ...call, rounds: roundsIntoTask(backend.create, taskStartsAt) });
  }
  if (task === "required") throw tasksMissing(`Tool "${name}"`);
  return callTool(call);
}

async function discover(call: RequestContext): Promise<JsonObject> {
  const found = (await METHODS.modern["server/discover"]?.serve(call)) as JsonObject;
  const capabilities = found.capabilities as JsonObject;
  const extensions = { ...(capabilities.extensions as JsonObject | undefined), [TASKS_EXTENSION]: {} };
  return { ...found, capabilities: { ...capabilities, extensions } };
}

function listening({ serve, ...rest }: Method, backend: TaskBackend): Method {
  return {
    ...rest,
    serve: async (call) => {
      const hearing = await withTaskUpdates(call, (taskId) => backend.read(taskId, call));
      return serve(hearing);
    },
  };
}
