// @module-tag long
/** docs/cost.md contains what is counted now, and the published prices. */
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { ASLEEP_AFTER_MS, findInMemory, watchIdle } from "../../scripts/cost/idle.ts";
import { countOurs } from "../../scripts/cost/ours.ts";
import { dollarsOf } from "../../scripts/cost/page.ts";
import { countSignIn } from "../../scripts/cost/sign-in.ts";
import { startWatched } from "../../scripts/cost/watched.ts";
import { OURS, PAGE, pageOfStored, readIdle, readServers, readSignIn } from "../../scripts/cost/write.ts";

/** The shape whose rows depend on how many notifications the machine sends in 10 ms. */
const PROGRESS = "connect and make a call with 1,000 progress notifications";

test("the stored costs of mcp-edge are the counted ones, for every shape of use", { timeout: 240_000 }, async () => {
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

test("the stored costs of signing in are the counted ones", { timeout: 120_000 }, async () => {
  const counts = await countSignIn();
  const stored = readSignIn();
  expect(Object.keys(counts)).toEqual(Object.keys(stored));
  for (const [what, { wakes: _, ...expected }] of Object.entries(stored)) {
    // Whether an object has left the memory between two requests depends on the machine, and so what it reads when it wakes.
    expect(counts[what], what).toMatchObject({ ...expected, rowsRead: expect.any(Number) });
  }
});

test("no object is awake for an idle client, and nothing wakes it", { timeout: 240_000 }, async () => {
  const idle = await watchIdle(20_000);
  expect(idle).toEqual(readIdle());
  for (const each of Object.values(idle)) {
    expect(each).toEqual({ objects: expect.any(Number), inMemory: 0, wakeUps: {}, awakeMs: 0 });
    expect(each.objects).toBeGreaterThan(0);
  }
});

test("an object that waits for a timer is found in memory, and its invocations are reported", {
  timeout: 90_000,
}, async () => {
  const entry = {
    source: `
      import { DurableObject } from "cloudflare:workers";
      export class Waiting extends DurableObject {
        async fetch() { setTimeout(() => {}, 25_000); return new Response("waiting"); }
      }
      export default { fetch: (request, env) => env.WAITING.getByName("one").fetch(request) };`,
  };
  await using watched = await startWatched({ entry, objects: { WAITING: "Waiting" } });
  await (await fetch(watched.worker.url("/"))).text();
  await pause(ASLEEP_AFTER_MS);
  expect(watched.invocations).toMatchObject([{ cause: "fetch" }]);
  const ids = new Set(watched.invocations.map(({ object }) => object));
  expect(await findInMemory(new Map([[watched, ids]]), "WAITING")).toEqual([...ids]);
});

test("the document is equal to what the stored counts produce", () => {
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
