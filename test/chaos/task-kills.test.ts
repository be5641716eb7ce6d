import { expect, test } from "vitest";
import { killTasks } from "./task-kills.ts";

test("tasks killed at random points finish, and their effects by key are exact", async () => {
  const tally = await killTasks({ kills: 6, seed: 1, tasksPerKill: 4 });
  expect(tally.violations).toEqual([]);
  expect(tally).toMatchObject({ kills: 6, tasks: 24, finished: 24 });
}, 120_000);
