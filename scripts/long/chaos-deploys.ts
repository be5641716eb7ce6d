import type { Command } from "commander";
import { number } from "./number.ts";

export function chaosDeploys(command: (name: string) => Command): void {
  command("chaos-deploys")
    .description(
      "changes the builds of the Worker and of its objects at random moments; nothing may be lost or doubled",
    )
    .option("--seeds <count>", "the number of scripts of disturbances", number, 100)
    .option("--seed <number>", "the first seed", number, 1)
    .option("--worlds <count>", "the number of servers at the same time", number, 2)
    .option("--release <version>", "the release that today's build replaces, or `same` for no change", "")
    .action(run);
}

interface Options {
  readonly seeds: number;
  readonly seed: number;
  readonly worlds: number;
  readonly release: string;
}

async function run({ seeds: count, seed: first, worlds, release }: Options): Promise<void> {
  const { Tally } = await import("../../test/chaos/tally.ts");
  const { runDeploys, summarize } = await import("../../test/chaos/deploys.ts");
  const { bundleWorker } = await import("../../test/releases/bundle.ts");
  const { listReleases, readWorker } = await import("../../test/releases/releases.ts");
  const tally = new Tally();
  const startedAtMs = Date.now();
  const today = await bundleWorker();
  const builds = { old: release === "same" ? today : readWorker(release || (listReleases().at(-1) ?? "")), new: today };
  // Longer than restarts on a busy machine, so that slowness alone is not a violation.
  const times = { ttlMs: 240_000, resumeMs: 100_000 };
  await runDeploys({ first, count, builds, worlds, ...times, report: console.log }, tally);
  console.log(`\n${tally.table()}\n${summarize(tally, Date.now() - startedAtMs)}`);
  process.exit(tally.violations.length > 0 ? 1 : 0);
}
