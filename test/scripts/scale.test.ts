import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listenersCost } from "../../scripts/scale/calculate.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/scale.md"), "utf8");

test("docs/scale.md contains the calculated cost of 1,000,000 listening streams", () => {
  const { objects, medianMs, lastMs, opening, notification, idleHour } = listenersCost(1_000_000);
  expect(PAGE).toContain(`| objects | ${objects}, with at most 10,000 streams each |`);
  expect(PAGE).toContain(`after ${medianMs.toFixed(0)} ms, after ${lastMs.toFixed(0)} ms |`);
  expect(PAGE).toContain(`| opening all streams | $${opening.toFixed(3)},`);
  expect(PAGE).toContain(`| a notification | $${notification.toFixed(4)},`);
  expect(PAGE).toContain(`| $${idleHour.toFixed(3)} for heartbeats`);
});

test("the streams of one object need neither branches nor rows", () => {
  expect(listenersCost(10_000)).toMatchObject({ objects: 1, idleHour: expect.closeTo(0.00144) });
  expect(listenersCost(10_001).objects).toBe(2);
});
