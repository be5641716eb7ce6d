/**
 * Prints what idle sessions and open streams weigh in one local workerd, and whether all of them still answer.
 *
 * The trap: workerd keeps the memory of objects that fell asleep, for others. So what sessions asleep weigh is not what
 * it holds when all sleep (that is what those awake at once weighed), but what it grows by when all were awake once more.
 * On Cloudflare objects are spread over machines.
 */
import { scaleOf } from "./scale-of.ts";

const [sessions = 5_000, streams = 500] = process.argv.slice(2).map(Number);
const found = await scaleOf({ sessions, streams, settleMs: 15_000, onStep: (what) => console.log(what) });
const { empty, streaming, used, awake, asleep, again, pings, heard } = found;

const rows: readonly [what: string, bytes: number, grownBy: number, each: number][] = [
  ["one session", empty, 0, 1],
  [`${streams} GET streams, their objects asleep`, streaming, streaming - empty, streams],
  [`${sessions} sessions, just used`, used, used - streaming, sessions - streams],
  ["all awake, just pinged", awake, awake - streaming, sessions],
  ["all asleep", asleep, asleep - streaming, sessions],
  ["pinged once more, and asleep: grown by", again, again - asleep, sessions],
];
for (const [what, bytes, grownBy, each] of rows) {
  const mib = (bytes / 1024 / 1024).toFixed(1).padStart(8);
  console.log(`${what.padEnd(42)}${mib} MiB ${(grownBy / 1024 / each).toFixed(1).padStart(8)} KiB each`);
}
console.log(`${pings} of ${sessions} sessions answered a ping; ${heard} of ${streams} streams heard a notice.`);
if (pings < sessions || heard < streams) process.exitCode = 1;
