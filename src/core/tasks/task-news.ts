/**
 * What `subscriptions/listen` tells of tasks.
 *
 * @module
 * @see io.modelcontextprotocol/tasks, "Status Notifications"
 */
import type { Call } from "../context.ts";
import { invalidParams } from "../errors.ts";
import type { JsonObject } from "../jsonrpc.ts";
import { SUBSCRIPTION_ID, type TaskNews } from "../subscriptions.ts";
import { takesTasks, tasksMissing } from "./task.ts";
import type { TaskKeeper } from "./task-methods.ts";

/** Tasks one stream may listen to: each is an object that is asked how it stands. */
const TASKS_MAX = 100;

export function taskNews(keeper: TaskKeeper, call: Call<never>): TaskNews {
  return {
    admit: async (asked) => {
      const ids = readTaskIds(asked);
      if (ids.length === 0) return ids;
      if (!takesTasks(call.client)) throw tasksMissing("Listening to tasks");
      const found = await Promise.all(ids.map((id) => keeper.read(id, call)));
      return ids.filter((_, at) => found[at]);
    },
    // In order, and nothing twice.
    teller: (id, server) => {
      const told = new Map<string, string>();
      let last = Promise.resolve();
      const tell = async (taskId: string) => {
        const task = await keeper.read(taskId, call);
        const text = JSON.stringify(task);
        if (!task || call.signal.aborted || told.get(taskId) === text) return;
        told.set(taskId, text);
        const params = { _meta: { [SUBSCRIPTION_ID]: id }, ...task };
        call.emit({ jsonrpc: "2.0", method: "notifications/tasks", params });
      };
      const failed = (error: unknown) => {
        server.report(error, { correlationId: crypto.randomUUID(), method: "(notifications/tasks)" }, call.onError);
      };
      return (taskId) => {
        last = last.then(() => tell(taskId).catch(failed));
      };
    },
  };
}

function readTaskIds({ taskIds = [] }: JsonObject): readonly string[] {
  const field = "notifications.taskIds";
  if (!Array.isArray(taskIds) || !taskIds.every((id) => typeof id === "string")) {
    throw invalidParams("subscriptions/listen: taskIds is not a list of strings.", { field });
  }
  if (taskIds.length > TASKS_MAX) {
    throw invalidParams(`subscriptions/listen: a stream listens to at most ${TASKS_MAX} tasks.`, { field });
  }
  return [...new Set<string>(taskIds)];
}
