import type { Command } from "commander";
import { number } from "./number.ts";

export function soak(command: (name: string) => Command): void {
  command("soak")
    .description(
      "clients connect, call, stream, leave and break; then memory, descriptors, rows and alarms are as before",
    )
    .option("--minutes <count>", "how long", number, 30)
    .option("--clients <count>", "the number of clients at the same time", number, 40)
    .option("--seed <number>", "the seed of their choices", number, Date.now() % 1_000_000)
    .action(run);
}

interface Options {
  readonly minutes: number;
  readonly clients: number;
  readonly seed: number;
}

async function run({ minutes, clients: atOnce, seed }: Options): Promise<void> {
  const { soak } = await import("../soak/run.ts");
  console.log(`seed ${seed}, ${atOnce} clients at the same time, ${minutes} minutes`);
  const forMs = minutes * 60_000;
  // The warm-up takes a fifth of the time, so that the heap has reached its usual size before the first measurement.
  const found = await soak({ forMs, warmUpMs: Math.max(20_000, forMs / 5), atOnce, seed, report: console.log });
  for (const [what, times] of found.clients) console.log(`${String(times).padStart(8)} ${what}`);
  const { objects, rows, alarms } = found.left;
  console.log(`${objects} objects store ${rows} rows and have ${alarms} alarms`);
  for (const finding of found.findings) console.log(`FINDING: ${finding}`);
  if (found.findings.length > 0) process.exitCode = 1;
}
