import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import type { NewOptions } from "./options.ts";
import { readTemplates } from "./templates.ts";

/** `mcp-edge new`: creates a project from a template. */
export const newProject: CliCommand = {
  name: "new",
  define: (command: Command) =>
    command
      .description("create a project from a template")
      .argument("[folder]", "folder to create")
      .option("-t, --template <name>", "template to start from (default: you are asked)")
      .option("--name <name>", "name of the project and of its Worker (default: the name of the folder)")
      .option("--package <version or file>", "version of mcp-edge, or a file created by npm pack")
      .option("--no-install", "do not install the dependencies")
      .option("--no-git", "do not create a git repository")
      .addHelpText("after", () => `\nTemplates:\n${listTemplates()}`)
      .action(async (folder: string | undefined, options: NewOptions) => {
        const { createProject } = await import("./new.ts");
        process.exitCode = await createProject(folder, options);
      }),
};

/** Returns a line for each template. It reads files, so it is called only for the help of this command. */
function listTemplates(): string {
  const templates = readTemplates();
  const width = Math.max(...templates.map(({ name }) => name.length));
  return templates.map(({ name, description }) => `  ${name.padEnd(width)}  ${description}`).join("\n");
}
