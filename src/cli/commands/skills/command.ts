import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import type { SkillsCommandOptions } from "./options.ts";

/** `mcp-edge skills`: converts a folder of skills to a module that a Worker can import. */
export const skills: CliCommand = {
  name: "skills",
  define: (command: Command) =>
    command
      .description("convert a folder of skills to a module that a Worker can serve")
      .argument("[folder]", "the folder that contains the folders of the skills", "skills")
      .option("-o, --out <file>", "the module to write", "src/skills.ts")
      .option("--check", "only check that the module is up to date")
      .option(
        "--install [folder]",
        "instead, copy the skill that explains mcp-edge to coding agents (default: .claude/skills)",
      )
      .action(async (folder: string, options: SkillsCommandOptions) => {
        if (options.install !== undefined) {
          const { installSkills } = await import("./install.ts");
          process.exitCode = installSkills(options.install);
          return;
        }
        const { writeSkills } = await import("./skills.ts");
        process.exitCode = writeSkills(folder, options);
      }),
};
