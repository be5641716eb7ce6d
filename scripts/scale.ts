/**
 * Prints what idle sessions and open streams weigh in one local workerd, and whether all of them still answer. The sqlite
 * of each object that is awake is part of it; on Cloudflare objects are spread, and asleep they weigh nothing.
 */
import { scaleOf } from "./scale-of.ts";

const [sessions = 5_000, streams = 500] = process.argv.slice(2).map(Number);
const found = await scaleOf({ sessions, streams, settleMs: 15_000, onStep: (what) => console.log(what) });
const mib = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
const kib = (bytes: number, by: number) => `${(bytes / 1024 / by).toFixed(1)} KiB`;

console.log(`workerd with one session: ${mib(found.empty)}`);
console.log(`with ${sessions} sessions, just used: ${mib(found.used)}`);
console.log(`idle for 15 s: ${mib(found.idle)}, ${kib(found.idle - found.empty, sessions)} for each session`);
console.log(
  `with ${streams} GET streams too: ${mib(found.streaming)}, ${kib(found.streaming - found.idle, streams)} each`,
);
console.log(
  `${found.pings} of ${sessions} sessions answered a ping; ${found.heard} of ${streams} streams heard a notice`,
);
if (found.pings < sessions || found.heard < streams) process.exitCode = 1;
