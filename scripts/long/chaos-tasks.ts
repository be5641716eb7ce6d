import type { Command } from "commander";
import { number } from "./number.ts";

export function chaosTasks(command: (name: string) => Command): void {
  command("chaos-tasks")
    .description("kills the Worker while tasks run; every task must finish, and every effect happen once per key")
    .option("--kills <count>", "the number of kills", number, 100)
    .option("--tasks <count>", "the number of tasks that start between two kills", number, 3)
    .option("--seed <number>", "the seed of the moments", number, 1)
    .action(run);
}

interface Options {
  readonly kills: number;
  readonly tasks: number;
  readonly seed: number;
}

async function run(options: Options): Promise<void> {
  const { killTasks } = await import("../../test/chaos/task-kills.ts");
  const startedAtMs = Date.now();
  const { kills: wanted, tasks: tasksPerKill, seed } = options;
  const tally = await killTasks({ kills: wanted, tasksPerKill, seed, report: console.log });
  for (const violation of tally.violations) console.error(violation);
  const { kills, tasks, finished, effects, repeats } = tally;
  console.log(
    `\n${kills} kills, ${finished} of ${tasks} tasks finished, ${effects} effects by distinct key, ` +
      `${repeats} steps repeated with the same key, ${Math.round((Date.now() - startedAtMs) / 1000)} s`,
  );
  if (tally.violations.length > 0 || finished !== tasks) process.exitCode = 1;
}
