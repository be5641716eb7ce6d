/**
 * Prints the memory of idle sessions and open streams in one local workerd, and whether all of them still answer. Then
 * prints how long one notification takes to reach 9,000 listening streams, whose hub has 1, 4 and 16 objects.
 *
 *   npm run scale -- [sessions] [streams of sessions] [listening streams]
 *
 * workerd keeps the memory of hibernated objects for others. The memory after all sessions have hibernated is therefore
 * what they took while awake. What hibernated sessions really take is the growth after all of them were awake once
 * more. On Cloudflare, objects are spread over many machines.
 */
import { fanOutOf } from "./fan-out-of.ts";
import { scaleOf } from "./scale-of.ts";

const [sessions = 5_000, streams = 500, listening = 9_000] = process.argv.slice(2).map(Number);
const found = await scaleOf({ sessions, streams, settleMs: 15_000, onStep: (what) => console.log(what) });
const { empty, streaming, used, awake, asleep, again, pings, heard } = found;

const rows: readonly [what: string, bytes: number, grownBy: number, each: number][] = [
  ["one session", empty, 0, 1],
  [`${streams} GET streams, objects hibernated`, streaming, streaming - empty, streams],
  [`${sessions} sessions, just used`, used, used - streaming, sessions - streams],
  ["all awake, just pinged", awake, awake - streaming, sessions],
  ["all hibernated", asleep, asleep - streaming, sessions],
  ["growth after another ping and hibernation", again, again - asleep, sessions],
];
for (const [what, bytes, grownBy, each] of rows) {
  const mib = (bytes / 1024 / 1024).toFixed(1).padStart(8);
  console.log(`${what.padEnd(42)}${mib} MiB ${(grownBy / 1024 / each).toFixed(1).padStart(8)} KiB each`);
}
console.log(
  `${pings} of ${sessions} sessions answered a ping; ${heard} of ${streams} streams received a notification.`,
);
if (pings < sessions || heard < streams) process.exitCode = 1;

for (const wanted of [1, 4, 16]) {
  // Slightly more places than streams: objects are chosen at random.
  const streamsMax = Math.ceil((listening * 1.1) / wanted);
  const { objects, attachMs, attachCpuMs, medianMs, lastMs, cpuMs, sentMs, heard } = await fanOutOf({
    streams: listening,
    streamsMax,
    publications: 5,
  });
  const each = (times: readonly number[]) => times.map((ms) => ms.toFixed(0)).join(", ");
  console.log(`${listening} listening streams over ${objects} objects, opened in ${attachMs.toFixed(0)} ms:`);
  console.log(`  the median stream was notified after ${each(medianMs)} ms, the last after ${each(lastMs)} ms`);
  console.log(`  the objects had sent a notification after ${sentMs} ms`);
  console.log(`  CPU of workerd: ${attachCpuMs.toFixed(3)} ms to open a stream, ${cpuMs.toFixed(4)} ms to notify it`);
  if (heard < listening || objects < wanted) process.exitCode = 1;
}
