/**
 * The task notifications of a listen stream.
 *
 * @module
 * @see io.modelcontextprotocol/tasks, "Task Status Notifications"
 */

import { invalidParams } from "../protocol/errors.ts";
import { isObject, type JSONRPCRequest, type JsonObject } from "../protocol/jsonrpc.ts";
import type { RequestContext } from "../run/request-context.ts";
import { SUBSCRIPTION_ID } from "../serve/subscriptions.ts";
import { supportsTasks, type TaskView, tasksMissing } from "./task.ts";

const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

/**
 * The maximum number of tasks that one stream may listen to. The status of each is read from its own object.
 * @limit count Tasks that one stream listens to. A request for more is refused with -32602.
 */
const TASKS_MAX = 100;

/** Reads the status of a task; undefined if it no longer exists, or belongs to another caller. */
type ReadTask = (taskId: string) => Promise<TaskView | undefined>;

/**
 * Returns the context of a listen request that also reports tasks: the status of each requested task of the caller,
 * when the stream is acknowledged and at each change, in order and without repetition.
 *
 * @throws {McpError} -32021 if the client does not support tasks; -32602 if `taskIds` is not a list of strings, or is
 *   too long.
 */
export async function withTaskUpdates(context: RequestContext, read: ReadTask): Promise<RequestContext> {
  const asked = readTaskIds(context.request);
  if (asked.length === 0) return context;
  if (!supportsTasks(context.client)) throw tasksMissing("Listening to tasks");
  const found = await Promise.all(asked.map(read));
  const ids = asked.filter((_, at) => found[at]);
  if (ids.length === 0) return context;
  const reported = new Map<string, string>();
  const _meta = { [SUBSCRIPTION_ID]: context.request.id };
  let last = Promise.resolve();
  const notifyNow = async (taskId: string) => {
    const task = await read(taskId);
    const text = JSON.stringify(task);
    if (!task || context.ending.signal.aborted || reported.get(taskId) === text) return;
    reported.set(taskId, text);
    context.emit({ jsonrpc: "2.0", method: "notifications/tasks", params: { _meta, ...task } });
  };
  const notify = (taskId: string) => {
    last = last.then(() =>
      notifyNow(taskId).catch((error: unknown) => {
        context.registry.report(error, { method: "(notifications/tasks)" }, context.onError);
      }),
    );
  };
  const emit: RequestContext["emit"] = (message) => {
    if (message.method !== ACKNOWLEDGED) return context.emit(message);
    const { notifications, ...params } = message.params ?? {};
    context.emit({
      ...message,
      params: { ...params, notifications: { ...(notifications as JsonObject), taskIds: ids } },
    });
    // Reports changes from before the stream was open.
    return ids.forEach(notify);
  };
  return { ...context, emit, tasks: { ids, notify } };
}

function readTaskIds({ params }: JSONRPCRequest): readonly string[] {
  // Other malformed members are refused where the filter is read.
  const { taskIds = [] } = isObject(params?.notifications) ? params.notifications : {};
  const field = "notifications.taskIds";
  if (!Array.isArray(taskIds) || !taskIds.every((id) => typeof id === "string")) {
    throw invalidParams("subscriptions/listen: taskIds is not a list of strings.", { field });
  }
  if (taskIds.length > TASKS_MAX) {
    throw invalidParams(`subscriptions/listen: a stream listens to at most ${TASKS_MAX} tasks.`, { field });
  }
  return [...new Set<string>(taskIds)];
}
