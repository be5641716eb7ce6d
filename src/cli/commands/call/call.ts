/**
 * `mcp-edge call`: finds the tool, reads its arguments, asks for confirmation if necessary, and calls it.
 *
 * @module
 */
import type { Client, ClientOptions, Tool } from "../../../client/index.ts";
import { clientTasks, type Task } from "../../../client/tasks/index.ts";
import { listArguments } from "../../arguments/arguments.ts";
import { readArguments, showArguments } from "../../arguments/read-arguments.ts";
import { Exit, usageError } from "../../exit.ts";
import { didYouMean } from "../../names.ts";
import { type CommandSession, withClient } from "../../server/connection.ts";
import { logNote } from "../../server/server-process.ts";
import { asWritten } from "../../server/target.ts";
import { withProgress } from "../../terminal/progress.ts";
import { explainUnasked, handlersFor } from "../../terminal/questions.ts";
import { redactText } from "../../terminal/redact.ts";
import { showCallResult } from "../../terminal/show.ts";
import { oneLine, type Terminal } from "../../terminal/terminal.ts";
import { CallTask, endTask, isGivenUp, mayNameTask, requireTasks, startInBackground } from "./background.ts";
import { confirmCall, mayDestroy } from "./confirm.ts";
import type { CallCommandOptions } from "./options.ts";

/** Runs the command and returns its exit code. */
export async function callTool(
  server: string,
  name: string | undefined,
  rest: readonly string[],
  options: CallCommandOptions,
): Promise<number> {
  if (name === undefined)
    throw usageError(`Name a tool. To list the tools, run: mcp-edge list ${asWritten(server)} tools`);
  if (name.startsWith("-")) throw usageError(`Write the tool name before options such as ${name}.`);
  const started = new CallTask();
  return withClient(server, options, clientOptions(options, started), async (session) => {
    const tool = await findTool(session.client, name, session.signal);
    if (options.help) return showToolHelp(tool, session);
    if (options.task) requireTasks(session.client, tool);
    const known = listArguments(tool.inputSchema);
    const args = await readArguments({ command: `call <server> ${tool.name}`, known, rest, options }, session.terminal);
    if (mayDestroy(tool) && !options.yes) await confirmCall(tool, args, session.terminal, session.signal);
    const { client, terminal, signal, beforeClose } = session;
    return started.run(session, mayNameTask(client, tool, options), async (callSignal) => {
      try {
        if (options.task) return await startInBackground(tool, args, options, session, callSignal);
        const call = { signal: callSignal };
        const result = await withProgress(terminal, (onProgress) =>
          client.callTool(tool, args, { ...call, onProgress }),
        );
        signal.throwIfAborted();
        const code = showCallResult(result, options, terminal);
        // A server reports few details of an exception to its client, and the rest to its log.
        const log = result.isError ? await session.logOfFailure() : "";
        if (log !== "") terminal.note(terminal.err.dim(logNote(redactText(log))));
        return code;
      } catch (error) {
        const { task } = started;
        if (task && isGivenUp(error, signal)) beforeClose(endTask(task, server, session));
        throw explainUnasked(error, terminal);
      }
    });
  });
}

/** Returns the handlers for questions, and the extension for tools that run in the background. */
function clientOptions({ task: startsTask }: CallCommandOptions, started: CallTask) {
  return (terminal: Terminal, signal: AbortSignal, server: string): Partial<ClientOptions> => {
    const note = (task: Task) => {
      started.take(task);
      // With --task, the id is the output.
      if (task.id !== undefined && !startsTask)
        terminal.note(terminal.err.dim(`Running in the background as task ${oneLine(task.id, 500)}`));
    };
    return { ...handlersFor(terminal, signal, server), use: [clientTasks({ onTask: note })] };
  };
}

async function findTool(client: Client, name: string, signal: AbortSignal): Promise<Tool> {
  const tools = await client.tools({ signal }).all();
  const tool = tools.find((each) => each.name === name);
  if (tool) return tool;
  throw usageError(
    `The server has no tool ${JSON.stringify(name)}.${didYouMean(
      name,
      tools.map((each) => each.name),
    )}`,
  );
}

function showToolHelp(tool: Tool, { terminal }: CommandSession): number {
  showArguments(`call <server> ${tool.name}`, listArguments(tool.inputSchema), tool.description, terminal);
  return Exit.ok;
}
