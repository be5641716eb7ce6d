/**
 * The program `mcp-edge`, with the commands from `commands/`.
 *
 * @module
 */
import { Command, CommanderError } from "commander";
import { type CliCommand, COMPLETE } from "./command.ts";
import { add } from "./commands/add/command.ts";
import { bridge } from "./commands/bridge/command.ts";
import { call } from "./commands/call/command.ts";
import { check } from "./commands/check/command.ts";
import { checkConfig } from "./commands/check-config.ts";
import { complete } from "./commands/complete/command.ts";
import { completion } from "./commands/completion.ts";
import { connectHost } from "./commands/connect/command.ts";
import { dev } from "./commands/dev.ts";
import { doctor } from "./commands/doctor/command.ts";
import { expose } from "./commands/expose/command.ts";
import { keys } from "./commands/keys.ts";
import { list } from "./commands/list/command.ts";
import { listen } from "./commands/listen/command.ts";
import { lock } from "./commands/lock/command.ts";
import { logout } from "./commands/logout/command.ts";
import { mcpb } from "./commands/mcpb/command.ts";
import { migrate } from "./commands/migrate/command.ts";
import { newProject } from "./commands/new/command.ts";
import { ping } from "./commands/ping/command.ts";
import { prompt } from "./commands/prompt/command.ts";
import { read } from "./commands/read/command.ts";
import { record } from "./commands/record/command.ts";
import { serverJson } from "./commands/server-json/command.ts";
import { servers } from "./commands/servers/command.ts";
import { skills } from "./commands/skills/command.ts";
import { tasks } from "./commands/tasks/command.ts";
import { types } from "./commands/types/command.ts";
import { Exit, formatError, getExitCode, toErrorJson, usageError } from "./exit.ts";
import { didYouMean } from "./names.ts";
import { moveCommand } from "./server/target.ts";
import { isOutputClosed } from "./terminal/output.ts";
import { redact, redactText } from "./terminal/redact.ts";
import { clean, createTerminal, toJson } from "./terminal/terminal.ts";
import { packageVersion } from "./version.ts";

/** The commands, grouped under the headings of `--help`. */
export const COMMANDS: readonly { readonly heading: string; readonly commands: readonly CliCommand[] }[] = [
  {
    heading: "Servers:",
    commands: [list, call, read, prompt, complete, listen, tasks, ping, check, doctor, lock, record, types, logout],
  },
  { heading: "Hosts:", commands: [servers, connectHost, bridge, expose] },
  { heading: "Your project:", commands: [newProject, add, migrate, dev, checkConfig, keys, skills, serverJson, mcpb] },
  { heading: "Shells:", commands: [completion] },
];

/** Creates the program. It prints errors in the command line and throws them as `CommanderError`. */
export function createProgram(): Command {
  const program = new Command("mcp-edge")
    .description("Calls MCP servers, connects hosts to them, and runs mcp-edge projects.")
    .version(packageVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .helpCommand(false)
    // Options of the program itself must come before the command, so that a tool may have an argument named "version".
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => process.stdout.write(clean(text)),
      writeErr: (text) => process.stderr.write(clean(text)),
    })
    .showHelpAfterError("Run mcp-edge --help, or the command with --help, for its options.")
    .exitOverride();
  for (const { heading, commands } of COMMANDS) {
    for (const each of commands) {
      const command = program.command(each.name).helpGroup(heading).copyInheritedSettings(program);
      command.helpOption("-h, --help", "show this help");
      each.define(command);
    }
  }
  return program;
}

/** Runs the program with the arguments of the process. Returns the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    if (args[0] === COMPLETE) return await printCompletions(args.slice(1));
    const [first = ""] = args;
    const named = findCommand(first);
    if (!named && first !== "" && !first.startsWith("-")) {
      const names = COMMANDS.flatMap(({ commands }) => commands.map(({ name }) => name));
      throw usageError(
        `There is no command ${JSON.stringify(first)}.${didYouMean(first, names)} List all: mcp-edge --help`,
      );
    }
    const program = createProgram();
    if (args.length === 0) program.help({ error: true });
    const words = named?.takesServer ? moveCommand(args) : args;
    await program.parseAsync([...(named?.prepare?.(words) ?? words)], { from: "user" });
    return Number(process.exitCode ?? Exit.ok);
  } catch (error) {
    if (isOutputClosed()) return Exit.ok;
    if (error instanceof CommanderError && error.exitCode === 0) return Exit.ok;
    // Commander has already printed its own errors.
    const isPrinted = error instanceof CommanderError;
    const shown = isPrinted ? usageError(error.message.replace(/^error: /, "")) : error;
    const terminal = createTerminal();
    if (!isPrinted) terminal.note(`mcp-edge: ${redactText(formatError(shown))}`);
    if (hasJsonOption(args)) terminal.print(toJson(redact(toErrorJson(shown)), 2));
    return getExitCode(shown);
  }
}

/** Whether `--json` was given. Words after `--` belong to the command of a server. */
function hasJsonOption(args: readonly string[]): boolean {
  const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  return own.includes("--json");
}

async function printCompletions(words: readonly string[]): Promise<number> {
  const { listCompletions } = await import("./completion.ts");
  const takesServer = (name: string) => findCommand(name)?.takesServer === true;
  const found = await listCompletions(createProgram(), words, takesServer);
  process.stdout.write(found.map((each) => `${each}\n`).join(""));
  return Exit.ok;
}

function findCommand(name: string | undefined): CliCommand | undefined {
  return COMMANDS.flatMap(({ commands }) => commands).find((each) => each.name === name);
}
