import type { Command } from "commander";
import { number } from "./number.ts";

/** Each script of disturbances is generated from a seed, which is printed with each violation. */
export function chaos(command: (name: string) => Command): void {
  command("chaos")
    .description("cuts connections, kills workerd and evicts objects at random; nothing may be lost or doubled")
    .option("--seeds <count>", "the number of scripts of disturbances", number, 100)
    .option("--seed <number>", "the first seed", number, 1)
    .option("--released <count>", "the number of scripts that run with released clients", number, 20)
    .option("--worlds <count>", "the number of servers at the same time", number, 3)
    .option("--client", "use the client of this package: every call runs exactly once, or ends in a clear error")
    .action(run);
}

interface Options {
  readonly seeds: number;
  readonly seed: number;
  readonly released: number;
  readonly worlds: number;
  readonly client?: boolean;
}

async function run({ seeds: count, seed: first, released, worlds, client }: Options): Promise<void> {
  const { Tally } = await import("../../test/chaos/tally.ts");
  const tally = new Tally();
  const startedAtMs = Date.now();
  if (client) {
    const { runClientSeeds } = await import("../../test/chaos/client-run.ts");
    await runClientSeeds({ first, count, worlds, report: console.log }, tally);
  } else {
    const { runSeeds } = await import("../../test/chaos/seeds.ts");
    await runSeeds({ first, count, released, worlds, ttlMs: 45_000, resumeMs: 15_000, report: console.log }, tally);
  }
  console.log(`\n${tally.table()}\n${Math.round((Date.now() - startedAtMs) / 1000)} s`);
  if (tally.violations.length > 0) process.exitCode = 1;
}
