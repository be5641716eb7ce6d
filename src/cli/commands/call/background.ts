/**
 * Calls that run in the background. `call --task` starts one. If a call is abandoned, its task is cancelled.
 *
 * @module
 */
import { type Client, ClientError, type Tool } from "../../../client/index.ts";
import { startTask, type Task } from "../../../client/tasks/index.ts";
import { declaresTasks, hasExtension, mayBecomeTask } from "../../../client/tasks/support.ts";
import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { CliError, Exit, formatError } from "../../exit.ts";
import { type CommandSession, withinMs } from "../../server/connection.ts";
import { shellWord } from "../../terminal/shell.ts";
import { printJson, showCallResult } from "../../terminal/show.ts";
import { oneLine } from "../../terminal/terminal.ts";
import type { CallCommandOptions } from "./options.ts";

/** How long to wait for the response to an interrupted call, in milliseconds. */
const LATE_RESPONSE_MS = 3_000;

/** The task that a call becomes. Its id is known only from the response to the call. */
export class CallTask {
  #task: Task | undefined;
  #onKnown = () => {};
  readonly #known = new Promise<void>((resolve) => {
    this.#onKnown = resolve;
  });

  /** The task, once the server has named it. */
  get task(): Task | undefined {
    return this.#task;
  }

  take(task: Task): void {
    this.#task = task;
    this.#onKnown();
  }

  /**
   * Runs a call, and aborts its signal after Ctrl-C: immediately, or, if the response may still name a task, once the task is known or
   * after a few seconds. Cancelling such a call earlier would leave a task that cannot be cancelled.
   *
   * @param mayBecome Whether the response may name a task.
   */
  run(session: CommandSession, mayBecome: boolean, call: (signal: AbortSignal) => Promise<number>): Promise<number> {
    const { signal, beforeClose } = session;
    signal.throwIfAborted();
    const held = new AbortController();
    const running = call(held.signal);
    signal.addEventListener("abort", () => {
      beforeClose(this.#end(session, mayBecome, held, running));
    });
    return running;
  }

  async #end(
    { signal, terminal }: CommandSession,
    mayBecome: boolean,
    held: AbortController,
    running: Promise<unknown>,
  ): Promise<void> {
    if (mayBecome && !this.#task) {
      terminal.note(terminal.err.dim("Cancelling the call. Ctrl-C again ends the program at once."));
      await withinMs(LATE_RESPONSE_MS, Promise.race([this.#known, running]));
    }
    held.abort(signal.reason);
    await running;
  }
}

/** Whether the response to a call may name a task. In 2025-11-25, it does only if the call requests one. */
export function mayNameTask(
  { server }: Client,
  tool: Tool,
  { task: isWanted }: Pick<CallCommandOptions, "task">,
): boolean {
  if (!mayBecomeTask(server, tool)) return false;
  return hasExtension(server) || isWanted === true || tool.execution?.taskSupport === "required";
}

/**
 * Refuses a call with `--task` that cannot become a task, before the tool runs.
 *
 * @throws {CliError} naming the reason.
 */
export function requireTasks({ server }: Client, tool: Tool): void {
  if (mayBecomeTask(server, tool)) return;
  const what = declaresTasks(server) ? `does not run ${tool.name} in the background` : "does not support tasks";
  throw new CliError(Exit.serverError, `The server ${what}, so the tool was not called. Leave out --task.`);
}

/** Starts a call in the background and prints its id. If the server runs the tool at once instead, prints the result. */
export async function startInBackground(
  tool: Tool,
  args: JsonObject,
  options: CallCommandOptions,
  { client, terminal, signal }: CommandSession,
  callSignal: AbortSignal,
): Promise<number> {
  const task = await startTask(client, tool, args, { signal: callSignal });
  // After Ctrl-C, no one would see the id of the task.
  signal.throwIfAborted();
  if (task.id !== undefined) {
    if (options.json) printJson(terminal, { taskId: task.id, ...task.state });
    else terminal.print(oneLine(task.id, 1_000));
    return Exit.ok;
  }
  const code = showCallResult(await task.result({ signal }), options, terminal);
  terminal.note(
    terminal.err.yellow(
      "The server ran the tool immediately, not in the background. The output is its result, not an id.",
    ),
  );
  return code === Exit.ok ? Exit.noTask : code;
}

/** Whether the result of a call is no longer wanted. After a lost connection, it may still be useful. */
export function isGivenUp(error: unknown, signal: AbortSignal): boolean {
  return (
    signal.aborted || (ClientError.is(error) && (error.code === "total-timeout" || error.code === "question-failed"))
  );
}

/** Cancels the task of an abandoned call, and prints whether the server confirmed it. */
export async function endTask(task: Task, server: string, { client, terminal }: CommandSession): Promise<void> {
  const id = oneLine(task.id ?? "", 500);
  try {
    // The client has already sent the request; this waits for the response.
    await task.cancel();
    terminal.note(terminal.err.dim(`The task ${id} was cancelled.`));
  } catch (error) {
    // Ctrl-C has also ended a server process, and with it the task.
    if (client.server.transport === "pipe") return;
    const reason = oneLine(formatError(error), 300);
    terminal.note(
      terminal.err.yellow(`The task ${id} may still be running. Cancelling it was not confirmed: ${reason}`),
    );
    terminal.note(`Try again: mcp-edge tasks ${shellWord(server)} cancel ${shellWord(id)}`);
  }
}
