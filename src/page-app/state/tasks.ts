/**
 * The background calls of the page.
 *
 * @module
 */
import { type Signal, signal } from "@preact/signals";
import type { Task, TaskState } from "../../client/tasks/index.ts";

/** A task that was started on the page. */
export interface KnownTask {
  readonly task: Task;
  readonly state: Signal<TaskState>;
}

/** The tasks, newest first. */
export const tasks = signal<readonly KnownTask[]>([]);

/** Shows the states that the client has received. It polls the state of a task while its result is awaited. */
export function updateTasks(): void {
  for (const { task, state } of tasks.value) state.value = task.state;
}

/** Adds a task, unless it has been added before. */
export function addTask(task: Task): KnownTask {
  const known = tasks.value.find((each) => each.task.id === task.id);
  if (known) return known;
  const added = { task, state: signal(task.state) };
  tasks.value = [added, ...tasks.value];
  return added;
}
