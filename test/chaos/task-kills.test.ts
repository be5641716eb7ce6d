// @module-tag long
import { expect, test } from "vitest";
import { killTasks } from "./task-kills.ts";

test("tasks killed at random points finish, and their effects by key are exact", async () => {
  const tally = await killTasks({ kills: 6, seed: 1, tasksPerKill: 4 });
  expect(tally.violations).toEqual([]);
  expect(tally).toMatchObject({ kills: 6, tasks: 24, finished: 24 });
}, 300_000);

test("tasks of 2025-11-25, whose questions are sent with the wait for their result, finish in the same way", async () => {
  const tally = await killTasks({ kills: 4, seed: 2, tasksPerKill: 4, version: "2025-11-25" });
  expect(tally.violations).toEqual([]);
  expect(tally).toMatchObject({ kills: 4, tasks: 16, finished: 16 });
}, 300_000);
