import { Argument, type Command } from "commander";
import type { CliCommand } from "../command.ts";
import { addConnectionOptions, type ConnectionOptions } from "../options.ts";

/** What `tasks` does. */
export type TaskAction = "list" | "get" | "result" | "cancel";

const ACTIONS: readonly TaskAction[] = ["list", "get", "result", "cancel"];

/** `mcp-edge tasks`: calls that run in the background. */
export const tasks: CliCommand = {
  name: "tasks",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command)
      .description("show, await or cancel calls that run in the background; call --task starts one")
      .argument("<server>", "URL, command or configured name of a server")
      .addArgument(new Argument("<action>", "what to do").choices(ACTIONS))
      .argument("[id]", "id of the task")
      .action(async (server: string, action: TaskAction, id: string | undefined, options: ConnectionOptions) => {
        const { manageTasks } = await import("../tasks.ts");
        process.exitCode = await manageTasks(server, action, id, options);
      }),
};
