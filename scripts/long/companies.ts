import type { Command } from "commander";
import { number } from "./number.ts";

/** Exchanges assertions of many companies, whose stored issuers and policies change meanwhile. */
export function companies(command: (name: string) => Command): void {
  command("companies")
    .description("exchanges assertions of many companies while their policies change; none may speak for another")
    .option("--companies <count>", "the number of companies", number, 50)
    .option("--exchanges <count>", "the number of exchanges", number, 5_000)
    .option("--seed <number>", "the seed of what they do", number, Date.now() % 1_000_000)
    .action(run);
}

interface Options {
  readonly companies: number;
  readonly exchanges: number;
  readonly seed: number;
}

async function run(options: Options): Promise<void> {
  const { runCompanies } = await import("../../test/worker/company-tenants.ts");
  const { accepted, refused, attacks, ended, evictions, unanswered, keyRequests, findings } =
    await runCompanies(options);
  console.log(`seed ${options.seed}: ${options.companies} companies, ${evictions} evictions of all objects`);
  console.log(`${accepted} tokens compared, ${refused} assertions refused by policy, ${attacks} attacks refused`);
  console.log(
    `${ended} tokens of removed companies used, ${keyRequests} requests for keys, ${unanswered} requests cut`,
  );
  for (const finding of findings) console.log(`FINDING ${finding}`);
  if (findings.length > 0) process.exitCode = 1;
}
