import { Argument, Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions, type ConnectionOptions, SERVER } from "../../server/options.ts";
import type { TaskAction } from "./options.ts";

const ACTIONS: readonly TaskAction[] = ["list", "get", "result", "cancel"];
/** The prefix for an id that begins with "-", so that it is not read as an option. No argument of a process contains this character. */
const ID = "\0";

/** `mcp-edge tasks`: manages calls that run in the background. */
export const tasks: CliCommand = {
  name: "tasks",
  takesServer: true,
  prepare: (words) => {
    const at = words.findIndex((word) => (ACTIONS as readonly string[]).includes(word)) + 1;
    const id = words[at] ?? "";
    return at > 0 && id.startsWith("-") && !isOption(id) ? words.with(at, ID + id) : words;
  },
  define: (command: Command) =>
    addConnectionOptions(command)
      .description("show, wait for or cancel calls that run in the background; call --task starts one")
      .argument(...SERVER)
      .addArgument(new Argument("<action>", "what to do").choices(ACTIONS))
      .argument("[id]", "id of the task")
      .action(async (server: string, action: TaskAction, id: string | undefined, options: ConnectionOptions) => {
        const { manageTasks } = await import("./tasks.ts");
        process.exitCode = await manageTasks(server, action, id?.startsWith(ID) ? id.slice(ID.length) : id, options);
      }),
};

function isOption(word: string): boolean {
  const { options } = addConnectionOptions(new Command());
  const [name] = word.split("=");
  return ["-h", "--help"].includes(word) || options.some(({ short, long }) => name === short || name === long);
}
