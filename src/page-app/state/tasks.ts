/**
 * The calls of the page that run in the background.
 *
 * @module
 */
import { type Signal, signal } from "@preact/signals";
import type { Task, TaskState } from "../../client/tasks/index.ts";

/** A task that the page knows. */
export interface KnownTask {
  readonly task: Task;
  readonly state: Signal<TaskState>;
}

/** The tasks, the newest first. */
export const tasks = signal<readonly KnownTask[]>([]);

/** Shows what the client knows by now: it asks for the state of a task while its result is awaited. */
export function updateTasks(): void {
  for (const { task, state } of tasks.value) state.value = task.state;
}

/** Adds a task, unless it is there already. */
export function addTask(task: Task): KnownTask {
  const known = tasks.value.find((each) => each.task.id === task.id);
  if (known) return known;
  const added = { task, state: signal(task.state) };
  tasks.value = [added, ...tasks.value];
  return added;
}
