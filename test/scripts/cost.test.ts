// @module-tag long
/** docs/cost.md contains what is counted now, and the published prices. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { countOurs } from "../../scripts/cost/ours.ts";
import { dollarsOf } from "../../scripts/cost/page.ts";
import { countSignIn } from "../../scripts/cost/sign-in.ts";
import { OURS, PAGE, pageOfStored, readServers, readSignIn } from "../../scripts/cost/write.ts";

/** The shape whose rows depend on how many notifications the machine sends in 10 ms. */
const PROGRESS = "connect and make a call with 1,000 progress notifications";

test("what mcp-edge costs is counted as it is stored, for every shape of use", { timeout: 240_000 }, async () => {
  const [ours] = readServers(OURS);
  const { [PROGRESS]: stored, ...others } = ours?.counts ?? {};
  const { [PROGRESS]: counted, ...counts } = await countOurs();
  expect(Object.keys(counts)).toEqual(Object.keys(others));
  for (const [shape, stored] of Object.entries(others)) {
    const { wakes = 0 } = counts[shape] ?? {};
    // An object is woken for its first request. Whether it has left the memory before a later one depends on the machine,
    // and reading when it is woken is all that it reads in these shapes. So these two counts may be lower together.
    expect(wakes, shape).toBeLessThanOrEqual(stored.wakes);
    expect(wakes, shape).toBeGreaterThanOrEqual(Math.min(1, stored.wakes));
    const readOnWaking = stored.wakes === 0 ? 0 : stored.rowsRead / stored.wakes;
    expect(counts[shape], shape).toEqual({ ...stored, wakes, rowsRead: wakes * readOnWaking });
  }
  expect({ ...counted, rowsRead: 0, rowsWritten: 0 }).toEqual({ ...stored, rowsRead: 0, rowsWritten: 0 });
  expect(Math.abs((counted?.rowsWritten ?? 0) - (stored?.rowsWritten ?? 0))).toBeLessThanOrEqual(10);
});

test("what signing in costs is counted as it is stored", { timeout: 120_000 }, async () => {
  const counts = await countSignIn();
  const stored = readSignIn();
  expect(Object.keys(counts)).toEqual(Object.keys(stored));
  for (const [what, { wakes: _, ...expected }] of Object.entries(stored)) {
    // Whether an object has left the memory between two requests depends on the machine, and so what it reads when it wakes.
    expect(counts[what], what).toMatchObject({ ...expected, rowsRead: expect.any(Number) });
  }
});

test("the document is the one that is written from the stored counts", () => {
  expect(readFileSync(PAGE, "utf8")).toBe(pageOfStored());
});

const NOTHING = { workerRequests: 0, requests: 0, messages: 0, alarms: 0, wakes: 0, rowsRead: 0, rowsWritten: 0 };

test.each([
  ["a Worker request", { workerRequests: 1 }, 0.3],
  ["a request to an object", { requests: 1 }, 0.15],
  ["an alarm", { alarms: 1 }, 0.15],
  ["twenty messages", { messages: 20 }, 0.15],
  ["a written row", { rowsWritten: 1 }, 1],
  ["a thousand read rows", { rowsRead: 1_000 }, 1],
  ["an object in memory all day", { held: { isRefused: false, isAwake: true, openings: 1 } }, 138_240],
])("%s in each of a million sessions costs the published price", (_, counted, dollars) => {
  expect(dollarsOf({ ...NOTHING, ...counted })).toBeCloseTo(dollars, 6);
});
