import type { Command } from "commander";
import { number } from "./number.ts";

/** Compares responses, progress, questions of both eras, tasks, stored events, rows, and cached results. */
export function tenants(command: (name: string) => Command): void {
  command("tenants")
    .description("interleaves sessions of many principals while objects are evicted; nothing may reach the wrong one")
    .option("--sessions <count>", "the number of sessions", number, 5_000)
    .option("--principals <count>", "the number of principals", number, 50)
    .option("--seed <number>", "the seed of what they do", number, Date.now() % 1_000_000)
    .action(run);
}

interface Options {
  readonly sessions: number;
  readonly principals: number;
  readonly seed: number;
}

async function run({ sessions, principals, seed }: Options): Promise<void> {
  const { runTenants } = await import("../../test/worker/tenants.ts");
  const startedAtMs = Date.now();
  const onProgress = (ended: number) => {
    if (ended % 500 === 0) console.log(`${ended} sessions after ${Math.round((Date.now() - startedAtMs) / 1000)} s`);
  };
  const found = await runTenants({ sessions, principals, seed, onProgress });
  const { compared, foreign, rows, evictions, unanswered, findings } = found;
  console.log(`seed ${seed}: ${sessions} sessions of ${principals} principals, ${evictions} evictions of all objects`);
  console.log(`${compared} texts compared, ${foreign} attempts with something of another principal, ${rows} rows read`);
  if (unanswered.length > 0) console.log(`${unanswered.length} connections were cut: ${unanswered.join(", ")}`);
  for (const finding of findings) console.log(`FINDING ${finding}`);
  if (findings.length > 0) process.exitCode = 1;
}
