import { Argument, type Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { type AddOptions, PARTS } from "./options.ts";

/** `mcp-edge add`: adds a part to a project. */
export const add: CliCommand = {
  name: "add",
  define: (command: Command) =>
    command
      .description("add a part to the project in this folder, after showing the changes")
      .addArgument(
        new Argument(
          "<part>",
          "auth: require a token; tasks: a tool that runs in the background; d1: notes in a D1 database; app: a tool with a view; test: a test of a session across an eviction; recorder: a Worker that keeps what the last calls did and cost",
        ).choices(PARTS),
      )
      .option("--issuer <url>", "issuer of the access tokens, for auth and recorder")
      .option("--print", "only show the changes")
      .option("-y, --yes", "make the changes without asking")
      .action(async (part: (typeof PARTS)[number], options: AddOptions) => {
        const { addPart } = await import("./add.ts");
        process.exitCode = await addPart(part, options);
      }),
};
