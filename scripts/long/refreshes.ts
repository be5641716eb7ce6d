import type { Command } from "commander";
import { number } from "./number.ts";

export function refreshes(command: (name: string) => Command): void {
  command("refreshes")
    .description("ten processes refresh one token at once, with evictions and kills; nobody may be signed out")
    .option("--repetitions <count>", "how often", number, 100)
    .action(run);
}

async function run(options: { readonly repetitions: number }): Promise<void> {
  const { runRefreshStorm } = await import("../../test/worker/refresh-storm.ts");
  const { repetitions, refreshes, repeated, findings } = await runRefreshStorm(options.repetitions);
  console.log(
    `${repetitions} repetitions: ${refreshes} refreshes by ten processes, ${repeated} requests lost and repeated`,
  );
  console.log(`${findings.length === 0 ? "one rotation in each, nobody signed out" : `${findings.length} findings`}`);
  for (const finding of findings) console.log(`FINDING ${finding}`);
  if (findings.length > 0) process.exitCode = 1;
}
