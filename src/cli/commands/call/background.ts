/**
 * Calls that run in the background: `call --task` starts one, and a call that is given up leaves none behind.
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

/** How long the answer to an interrupted call is awaited, in milliseconds. */
const LATE_ANSWER_MS = 3_000;

/** The task that a call becomes. Only the answer to the call names it. */
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
   * Runs a call. After Ctrl-C, the signal that the call gets aborts at once, unless the answer may still name a task: a call that
   * is cancelled before would leave the task behind, so the signal then aborts when the task is known, or after a moment.
   *
   * @param mayBecome Whether the answer may name a task.
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
      await withinMs(LATE_ANSWER_MS, Promise.race([this.#known, running]));
    }
    held.abort(signal.reason);
    await running;
  }
}

/** Whether the answer to a call may name a task. In 2025-11-25 it does if the call asks for one. */
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
  const what = declaresTasks(server) ? `does not run ${tool.name} in the background` : "has no tasks";
  throw new CliError(Exit.serverError, `The server ${what}, so nothing was called. Leave out --task.`);
}

/** Starts a call in the background and prints its id. A server may still run the tool at once; then its result is printed. */
export async function startInBackground(
  tool: Tool,
  args: JsonObject,
  options: CallCommandOptions,
  { client, terminal, signal }: CommandSession,
  callSignal: AbortSignal,
): Promise<number> {
  const task = await startTask(client, tool, args, { signal: callSignal });
  // Nobody would know the id of a task that begins after Ctrl-C.
  signal.throwIfAborted();
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
export async function endTask(task: Task, server: string, { client, terminal }: CommandSession): Promise<void> {
  const id = oneLine(task.id ?? "", 500);
  try {
    // The client has asked already; this waits for the answer.
    await task.cancel();
    terminal.note(terminal.err.dim(`The task ${id} was cancelled.`));
  } catch (error) {
    // A process that Ctrl-C has ended too has no tasks any more.
    if (client.server.transport === "pipe") return;
    const reason = oneLine(formatError(error), 300);
    terminal.note(terminal.err.yellow(`The task ${id} may still run, because its end was not confirmed: ${reason}`));
    terminal.note(`Try again: mcp-edge tasks ${shellWord(server)} cancel ${shellWord(id)}`);
  }
}
