/**
 * `mcp-edge call`: finds the tool, reads its arguments, asks if need be, and calls it.
 *
 * @module
 */
import type { Client, ClientOptions, Tool } from "../client/index.ts";
import { startTask, type Task, tasks } from "../client/tasks/index.ts";
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import { argumentsOf } from "./arguments.ts";
import type { CallOptions } from "./commands/call.ts";
import { confirmCall, mayDestroy } from "./confirm.ts";
import { type Session, withClient } from "./connection.ts";
import { Exit, usageError } from "./exit.ts";
import { didYouMean } from "./names.ts";
import { withProgress } from "./progress.ts";
import { handlersFor } from "./questions.ts";
import { readArguments, showArguments } from "./read-arguments.ts";
import { printJson, showCallResult } from "./show.ts";
import { oneLine, type Terminal } from "./terminal.ts";

/** Runs the command and returns its exit code. */
export async function callTool(
  server: string,
  name: string | undefined,
  rest: readonly string[],
  options: CallOptions,
): Promise<number> {
  if (name === undefined) throw usageError(`Name a tool. mcp-edge list shows the tools: mcp-edge list ${server}`);
  if (name.startsWith("-")) throw usageError(`Write the name of the tool before its arguments: ${name} is no tool.`);
  return withClient(server, options, clientOptions(options), async (session) => {
    const tool = await findTool(session.client, name, session.signal);
    if (options.help) return showToolHelp(tool, session);
    const known = argumentsOf(tool.inputSchema);
    const args = await readArguments({ of: `call <server> ${tool.name}`, known, rest, options }, session.terminal);
    if (mayDestroy(tool) && !options.yes) await confirmCall(tool, args, session.terminal, session.signal);
    const { client, terminal, signal } = session;
    if (options.task) return startInBackground(client, tool, args, options, session);
    const result = await withProgress(terminal, (onProgress) => client.callTool(tool, args, { signal, onProgress }));
    return showCallResult(result, options, terminal);
  });
}

/** The handlers of questions, and the extension for tools that run in the background. */
function clientOptions({ task: startsTask }: CallOptions) {
  return (terminal: Terminal, signal: AbortSignal, server: string): Partial<ClientOptions> => {
    const onTask = ({ id }: Task) => {
      // With --task, the id is the output.
      if (id !== undefined && !startsTask)
        terminal.note(terminal.err.dim(`Runs in the background as ${oneLine(id, 500)}`));
    };
    return { ...handlersFor(terminal, signal, server), use: [tasks({ onTask })] };
  };
}

async function startInBackground(
  client: Client,
  tool: Tool,
  args: JsonObject,
  options: CallOptions,
  { terminal, signal }: Session,
): Promise<number> {
  const task = await startTask(client, tool, args, { signal });
  // A server may answer at once instead.
  if (task.id === undefined) return showCallResult(await task.result({ signal }), options, terminal);
  if (options.json) printJson(terminal, { taskId: task.id, ...task.state });
  else terminal.print(oneLine(task.id, 1_000));
  return Exit.ok;
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

function showToolHelp(tool: Tool, { terminal }: Session): number {
  showArguments(`call <server> ${tool.name}`, argumentsOf(tool.inputSchema), tool.description, terminal);
  return Exit.ok;
}
