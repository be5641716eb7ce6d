import type { Command } from "commander";
import { number } from "./number.ts";

/**
 * workerd keeps the memory of hibernated objects for others. The memory after all sessions have hibernated is therefore the memory that
 * they needed while awake. The memory that hibernated sessions need is the growth after all of them were awake once more. On Cloudflare,
 * objects are spread over many machines.
 */
export function scale(command: (name: string) => Command): void {
  command("scale")
    .description("prints the memory of idle sessions and streams, and how long a notification takes to many streams")
    .option("--sessions <count>", "the number of idle sessions", number, 5_000)
    .option("--streams <count>", "how many of them hold a stream open", number, 500)
    .option("--listening <count>", "the number of listening streams, over 1, 4 and 16 objects", number, 9_000)
    .option("--calculate <count>", "only calculates what so many listening streams cost, such as 1000000", number)
    .action(run);
}

interface Options {
  readonly sessions: number;
  readonly streams: number;
  readonly listening: number;
  readonly calculate?: number;
}

async function run({ sessions, streams, listening, calculate }: Options): Promise<void> {
  if (calculate !== undefined) {
    const { listenersCost } = await import("../scale/calculate.ts");
    console.table(listenersCost(calculate));
    return;
  }
  await printMemory(sessions, streams);
  for (const objects of [1, 4, 16]) await printFanOut(listening, objects);
}

async function printMemory(sessions: number, streams: number): Promise<void> {
  const { scaleOf } = await import("../scale/sessions.ts");
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
}

async function printFanOut(streams: number, wanted: number): Promise<void> {
  const { fanOutOf } = await import("../scale/fan-out.ts");
  // Slightly more capacity than streams, because objects are chosen at random.
  const streamsMax = Math.ceil((streams * 1.1) / wanted);
  const found = await fanOutOf({ streams, streamsMax, publications: 5 });
  const { objects, attachMs, attachCpuMs, medianMs, lastMs, cpuMs, sentMs, heard } = found;
  const each = (times: readonly number[]) => times.map((ms) => ms.toFixed(0)).join(", ");
  console.log(`${streams} listening streams over ${objects} objects, opened in ${attachMs.toFixed(0)} ms:`);
  console.log(`  the median stream was notified after ${each(medianMs)} ms, the last after ${each(lastMs)} ms`);
  console.log(`  the objects had sent a notification after ${sentMs} ms`);
  console.log(`  CPU of workerd: ${attachCpuMs.toFixed(3)} ms to open a stream, ${cpuMs.toFixed(4)} ms to notify it`);
  if (heard < streams || objects < wanted) process.exitCode = 1;
}
