/** The tasks for coding agents: folders with a statement, a hidden check and a solution. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../tools.ts";

/** The folder of the tasks. */
export const TASKS: string = join(ROOT, "test/agent-tasks");

/** A task. */
export interface AgentTask {
  /** The name, such as `04-booking`. */
  readonly name: string;
  readonly folder: string;
}

/** Returns the names of the tasks, the easiest first. */
export function taskNames(): string[] {
  return readdirSync(TASKS)
    .filter((name) => /^\d\d-/.test(name))
    .sort();
}

/**
 * Finds a task by its number or its name.
 *
 * @throws {Error} if there is no such task.
 */
export function findTask(given: string): AgentTask {
  const name = taskNames().find((each) => each === given || Number(each.slice(0, 2)) === Number(given));
  if (name === undefined)
    throw new Error(`There is no task ${JSON.stringify(given)}. The tasks: ${taskNames().join(", ")}`);
  return { name, folder: join(TASKS, name) };
}
