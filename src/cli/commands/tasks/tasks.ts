/**
 * `mcp-edge tasks`: shows, waits for or cancels calls that run in the background.
 *
 * @module
 */
import type { CallToolResult, Client } from "../../../client/index.ts";
import {
  clientTasks,
  type ListedTask,
  listTasks,
  resumeTask,
  type Task,
  type TaskState,
} from "../../../client/tasks/index.ts";
import { Exit, usageError } from "../../exit.ts";
import { type CommandSession, withClient } from "../../server/connection.ts";
import type { ConnectionOptions } from "../../server/options.ts";
import { handlersFor } from "../../terminal/questions.ts";
import { printJson, showCallResult } from "../../terminal/show.ts";
import { oneLine, type Terminal } from "../../terminal/terminal.ts";
import type { TaskAction } from "./options.ts";

/** Runs the command and returns its exit code. */
export function manageTasks(
  server: string,
  action: TaskAction,
  id: string | undefined,
  options: ConnectionOptions,
): Promise<number> {
  if (action !== "list" && id === undefined) throw usageError(`Name the task: mcp-edge tasks <server> ${action} <id>`);
  const own = (...parts: Parameters<typeof handlersFor>) => ({ ...handlersFor(...parts), use: [clientTasks()] });
  return withClient(server, options, own, async (session) => {
    const { client, terminal, signal } = session;
    if (id === undefined) return showTasks(client, options, session);
    const onStatus = (state: TaskState) => terminal.status(describeState(state));
    const task = await resumeTask(client, id, { signal, onStatus });
    if (action === "cancel") await task.cancel({ signal });
    if (action === "result") return showCallResult(await toResult(task, signal, terminal), options, terminal);
    if (action === "cancel") await task.refresh({ signal });
    if (options.json) printJson(terminal, { taskId: id, ...task.state });
    else terminal.print(describeState(task.state));
    return Exit.ok;
  });
}

async function toResult(task: Task, signal: AbortSignal, terminal: Terminal): Promise<CallToolResult> {
  try {
    return await task.result({ signal });
  } finally {
    terminal.status(undefined);
  }
}

function listFacts({ id, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs }: ListedTask): object {
  return { taskId: id, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs };
}

/** Formats the state of a task as one line. */
function describeState({ status, statusMessage }: TaskState): string {
  return statusMessage === undefined ? status : `${status}: ${oneLine(statusMessage)}`;
}

async function showTasks(
  client: Client,
  { json }: ConnectionOptions,
  { terminal, signal }: CommandSession,
): Promise<number> {
  const listed = await listTasks(client, { signal }).all();
  if (json) printJson(terminal, { tasks: listed.map(listFacts) });
  else for (const task of listed) terminal.print(`${oneLine(task.id, 500)} ${describeState(task)}`);
  return Exit.ok;
}
