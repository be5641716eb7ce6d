import { Argument, type Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { type AddOptions, PARTS } from "./options.ts";

/** `mcp-edge add`: adds a part to a project. */
export const add: CliCommand = {
  name: "add",
  define: (command: Command) =>
    command
      .description("add a part to the project in this folder, after showing what changes")
      .addArgument(
        new Argument(
          "<part>",
          "auth: callers need a token; tasks: a tool that runs in the background; d1: notes in a D1 database; app: a tool with a view; test: a session through an eviction",
        ).choices(PARTS),
      )
      .option("--issuer <url>", "who issues the access tokens, for auth")
      .option("--print", "show the changes and make none")
      .option("-y, --yes", "do not ask")
      .action(async (part: (typeof PARTS)[number], options: AddOptions) => {
        const { addPart } = await import("./add.ts");
        process.exitCode = await addPart(part, options);
      }),
};
