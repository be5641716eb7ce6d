/**
 * The task notifications of a listen stream.
 *
 * @module
 * @see io.modelcontextprotocol/tasks, "Task Status Notifications"
 */

import type { Registry } from "../define/registry.ts";
import { invalidParams } from "../protocol/errors.ts";
import { isObject, type JSONRPCRequest, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Call } from "../run/call.ts";
import { SUBSCRIPTION_ID } from "../serve/subscriptions.ts";
import { type TaskView, takesTasks, tasksMissing } from "./task.ts";

const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

/** Tasks one stream may listen to: each is an object whose status is read. */
const TASKS_MAX = 100;

/** Reads the status of a task; undefined when it does not exist any more, or belongs to another caller. */
type ReadTask = (taskId: string) => Promise<TaskView | undefined>;

/**
 * Returns a call to listen that reports tasks as well: the status of each requested task of its caller, when the stream is
 * acknowledged and at each change, in order and without repetition.
 *
 * @throws {McpError} -32021 when the client does not take tasks; -32602 when the list is none.
 */
export async function withTaskNews(
  server: Registry,
  request: JSONRPCRequest,
  call: Call,
  read: ReadTask,
): Promise<Call> {
  const asked = readTaskIds(request);
  if (asked.length === 0) return call;
  if (!takesTasks(call.client)) throw tasksMissing("Listening to tasks");
  const found = await Promise.all(asked.map(read));
  const ids = asked.filter((_, at) => found[at]);
  if (ids.length === 0) return call;
  const told = new Map<string, string>();
  const _meta = { [SUBSCRIPTION_ID]: request.id };
  let last = Promise.resolve();
  const tellNow = async (taskId: string) => {
    const task = await read(taskId);
    const text = JSON.stringify(task);
    if (!task || call.ending.signal.aborted || told.get(taskId) === text) return;
    told.set(taskId, text);
    call.emit({ jsonrpc: "2.0", method: "notifications/tasks", params: { _meta, ...task } });
  };
  const tell = (taskId: string) => {
    last = last.then(() =>
      tellNow(taskId).catch((error: unknown) => {
        server.report(error, { correlationId: crypto.randomUUID(), method: "(notifications/tasks)" }, call.onError);
      }),
    );
  };
  const emit: Call["emit"] = (message) => {
    if (message.method !== ACKNOWLEDGED) return call.emit(message);
    const { notifications, ...params } = message.params ?? {};
    call.emit({ ...message, params: { ...params, notifications: { ...(notifications as JsonObject), taskIds: ids } } });
    // The changes before the stream was open.
    return ids.forEach(tell);
  };
  return { ...call, emit, tasks: { ids, tell } };
}

function readTaskIds({ params }: JSONRPCRequest): readonly string[] {
  // Any other malformed member is refused where the rest is read.
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
