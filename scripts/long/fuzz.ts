import type { Command } from "commander";
import { number } from "./number.ts";

/**
 * Fails on a status of 500 or above, a response that takes longer than a second, an internal detail in a response, a message that no
 * schema allows, or memory that is not released.
 */
export function fuzz(command: (name: string) => Command): void {
  command("fuzz")
    .description("sends nearly valid inputs to a server and an authorization server; no 5xx, no leak")
    .option("--count <count>", "the number of inputs; the authorization server gets a tenth as many", number, 1_000_000)
    .option("--seed <number>", "the seed of the inputs", number, Date.now() % 1_000_000)
    .option("--connections <count>", "the number of concurrent connections", number, 32)
    .option("--check <count>", "one answer of so many is checked against the schemas", number, 100)
    .action(run);
}

interface Options {
  readonly count: number;
  readonly seed: number;
  readonly connections: number;
  readonly check: number;
}

async function run({ count, seed, connections, check: checkEvery }: Options): Promise<void> {
  const [{ fuzz }, { fuzzTokens }, { fuzzAuthorization }] = await Promise.all([
    import("../../test/fuzz/run.ts"),
    import("../../test/fuzz/tokens.ts"),
    import("../../test/fuzz/authorization.ts"),
  ]);
  console.log(`seed ${seed}, ${count} inputs, ${connections} concurrent connections`);
  const startedAtMs = Date.now();
  const result = await fuzz({ seed, count, connections, checkEvery, report: console.log });
  const { statuses, checked, slowOnce, memoryMib } = result;
  const sorted = [...statuses].toSorted(([a], [b]) => a - b).map(([status, times]) => `${status}: ${times}`);
  console.log(`\nstatuses: ${sorted.join(", ")}`);
  console.log(`${checked} answers checked against the schemas; ${slowOnce} were slow only under load`);
  console.log(`memory of workerd: ${memoryMib.before} MiB after the warm-up, ${memoryMib.after} MiB at the end`);
  const tokens = await fuzzTokens(seed, Math.ceil(count / 20));
  const shown = (statuses: Iterable<readonly unknown[]>) => [...statuses].map((each) => each.join(": ")).join(", ");
  console.log(`${tokens.count} tokens and proofs: ${shown(tokens.statuses)}`);
  const requests = await fuzzAuthorization(seed, Math.ceil(count / 10));
  console.log(`${requests.count} requests to the authorization server: ${shown(requests.statuses)}`);
  const findings = [...result.findings, ...tokens.findings, ...requests.findings];
  for (const finding of findings) console.log(`\nFINDING ${finding}`);
  const seconds = Math.round((Date.now() - startedAtMs) / 1000);
  console.log(`\n${result.count} inputs, ${findings.length} findings, ${seconds} s`);
  if (findings.length > 0) process.exitCode = 1;
}
