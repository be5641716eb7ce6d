/**
 * Measures the documents with coding agents: prepares a folder in which an agent solves a task with the documents alone, and judges the
 * result with a check that the agent has not seen. The tasks are in test/agent-tasks.
 */
import { resolve } from "node:path";
import { Command } from "commander";
import { judge } from "./agent-tasks/judge.ts";
import { prepare } from "./agent-tasks/prepare.ts";
import { findTask, taskNames } from "./agent-tasks/tasks.ts";

const program = new Command("npm run agent-tasks --")
  .description("Prepares folders for coding agents, and judges what they have made.")
  .helpCommand(false);
program
  .command("list")
  .description("lists the tasks")
  .action(() => console.log(taskNames().join("\n")));
program
  .command("prepare")
  .description("creates a folder with the statement of a task, the documents and an installed package")
  .argument("<task>", "the number or name of the task, such as 4; all for a folder of each task")
  .argument("<folder>", "the folder to create, or with all, the folder for their folders")
  .option(
    "--start <what>",
    "empty: nothing is installed; installed: dependencies only; or the name of a template",
    "installed",
  )
  .option("--package <file>", "a file that npm pack has created; otherwise the package is packed")
  .action((task: string, folder: string, options: { readonly start: string; readonly package?: string }) => {
    const tasks = (task === "all" ? taskNames() : [task]).map(findTask);
    const places = tasks.map(({ name }) => (task === "all" ? resolve(folder, name) : resolve(folder)));
    prepare({ tasks, folders: places, start: options.start, tarball: options.package });
  });
program
  .command("judge")
  .description("runs the hidden check of a task in a folder; exits with 1 if it fails")
  .argument("<task>", "the number or name of the task")
  .argument("<folder>", "the folder")
  .action((task: string, folder: string) => {
    const { isPassed, text } = judge(findTask(task), resolve(folder));
    console.log(text);
    process.exitCode = isPassed ? 0 : 1;
  });
await program.parseAsync();
