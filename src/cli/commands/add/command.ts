import { Argument, type Command, Option } from "commander";
import type { CliCommand } from "../../command.ts";
import { usageError } from "../../exit.ts";
import type { OpenapiOptions } from "./openapi/options.ts";
import { type AddOptions, OPENAPI, PARTS } from "./options.ts";

/** `mcp-edge add`: adds a part to a project. */
export const add: CliCommand = {
  name: "add",
  define: (command: Command) =>
    command
      .description("add a part to the project in this folder, after showing the changes")
      .addArgument(
        new Argument(
          "<part>",
          "auth: require a token; tasks: a tool that runs in the background; d1: notes in a D1 database; app: a tool with a view; files: a tool that takes and returns files; test: a test of a session across an eviction; recorder: a Worker that keeps what the last calls did and cost; openapi: tools for an API that is described by OpenAPI",
        ).choices([...PARTS, OPENAPI]),
      )
      .argument("[source]", "file or URL of the description, for openapi")
      .option("--issuer <url>", "issuer of the access tokens, for auth and recorder")
      .option("--bucket", "also store files of more than 1 MB, in an R2 bucket, for files")
      .option("--list", "only list the operations with their sizes, for openapi")
      .option("--tag <tag...>", "take the operations of these tags, for openapi")
      .option(
        "--include <pattern...>",
        "take these operations: names of tools, or methods and paths, with *, for openapi",
      )
      .option(
        "--also <pattern...>",
        "take these operations in addition to those that were chosen in the last run, for openapi",
      )
      .option("--exclude <pattern...>", "leave these operations out, for openapi")
      .option("--all", "take all operations, for openapi")
      .option("--name <name>", "name of the folder in src, for openapi")
      .option("--server <url>", "base URL of the API, for openapi")
      .addOption(
        new Option(
          "--access <kind>",
          "use a key of the service, or the token with which the user signed in, for openapi",
        ).choices(["service", "user"]),
      )
      .option("--follow-refs", "also read the files next to the description to which it refers, for openapi")
      .option("--force", "allow more tools than some hosts accept, for openapi")
      .option("--print", "only show the changes")
      .option("-y, --yes", "make the changes without asking")
      .action(async (part: (typeof PARTS)[number] | typeof OPENAPI, source, options: AddOptions & OpenapiOptions) => {
        if (part === OPENAPI) {
          const { addOpenapi } = await import("./openapi/openapi.ts");
          process.exitCode = await addOpenapi(source, options);
          return;
        }
        if (source !== undefined) throw usageError(`The part ${part} has no source.`);
        const { addPart } = await import("./add.ts");
        process.exitCode = await addPart(part, options);
      }),
};
