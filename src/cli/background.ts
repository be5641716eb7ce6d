/**
 * Calls that run in the background: `call --task` starts one, and a call that is given up leaves none behind.
 *
 * @module
 */
import { type Client, ClientError, type Tool } from "../client/index.ts";
import { startTask, type Task } from "../client/tasks/index.ts";
import { declaresTasks, mayBecomeTask } from "../client/tasks/support.ts";
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import type { CallOptions } from "./commands/call.ts";
import type { Session } from "./connection.ts";
import { CliError, Exit, textOfError } from "./exit.ts";
import { printJson, showCallResult } from "./show.ts";
import { oneLine } from "./terminal.ts";

/**
 * Refuses a call with `--task` that cannot become a task, before the tool runs.
 *
 * @throws {CliError} naming the reason.
 */
export function requireTasks({ server }: Client, tool: Tool): void {
  if (mayBecomeTask(server, tool)) return;
  const what = declaresTasks(server) ? `does not run ${tool.name} in the background` : "has no tasks";
  throw new CliError(Exit.serverError, `The server ${what}, so nothing was called. Leave out --task.`);
}

/** Starts a call in the background and prints its id. A server may still run the tool at once; then its result is printed. */
export async function startInBackground(
  tool: Tool,
  args: JsonObject,
  options: CallOptions,
  { client, terminal, signal }: Session,
): Promise<number> {
  const task = await startTask(client, tool, args, { signal });
  if (task.id !== undefined) {
    if (options.json) printJson(terminal, { taskId: task.id, ...task.state });
    else terminal.print(oneLine(task.id, 1_000));
    return Exit.ok;
  }
  const code = showCallResult(await task.result({ signal }), options, terminal);
  terminal.note(
    terminal.err.yellow(
      "The server ran the tool at once, not in the background. The output is its result, and there is no id.",
    ),
  );
  return code === Exit.ok ? Exit.noTask : code;
}

/** Whether nobody wants the result of a call any more. After a lost connection it may still be of use. */
export function isGivenUp(error: unknown, signal: AbortSignal): boolean {
  return (
    signal.aborted || (ClientError.is(error) && (error.code === "total-timeout" || error.code === "question-failed"))
  );
}

/** Cancels the task of a call that was given up, and says whether the server has confirmed it. */
export async function endTask(task: Task, server: string, { client, terminal }: Session): Promise<void> {
  const id = oneLine(task.id ?? "", 500);
  try {
    // The client has asked already; this waits for the answer.
    await task.cancel();
    terminal.note(terminal.err.dim(`The task ${id} was cancelled.`));
  } catch (error) {
    // A process that Ctrl-C has ended too has no tasks any more.
    if (client.server.transport === "pipe") return;
    const reason = oneLine(textOfError(error), 300);
    terminal.note(terminal.err.yellow(`The task ${id} may still run, because its end was not confirmed: ${reason}`));
    terminal.note(`Try again: mcp-edge tasks ${server} cancel ${id}`);
  }
}
