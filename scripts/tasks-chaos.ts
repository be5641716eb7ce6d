/**
 * Kills the Worker at random points while tasks run and prints the outcome: every task must finish, and every effect
 * must happen exactly once per key.
 *
 * `--kills N` is the number of kills, `--tasks N` the number of tasks started between two kills, `--seed S` the seed.
 */
import { parseArgs } from "node:util";
import { killTasks } from "../test/chaos/task-kills.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    tasks: { type: "string", default: "3" },
    seed: { type: "string", default: "1" },
  },
});
const startedAtMs = Date.now();
const tally = await killTasks({
  kills: Number(values.kills),
  tasksPerKill: Number(values.tasks),
  seed: Number(values.seed),
  report: console.log,
});
for (const violation of tally.violations) console.error(violation);
const { kills, tasks, finished, effects, repeats } = tally;
console.log(
  `\n${kills} kills, ${finished} of ${tasks} tasks finished, ${effects} effects by distinct key, ` +
    `${repeats} steps repeated with the same key, ${Math.round((Date.now() - startedAtMs) / 1000)} s`,
);
if (tally.violations.length > 0 || finished !== tasks) process.exitCode = 1;
