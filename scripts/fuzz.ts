/**
 * Sends almost valid inputs to a server on workerd and prints what must not happen: a status of 500 or above, an answer
 * that takes longer than a second, an internal detail in an answer, a message that no schema allows, memory that is not
 * released.
 *
 * `--count N` is the number of inputs (default 1,000,000), `--seed S` the seed, `--connections N` the number of
 * concurrent connections; with `--check N`, one answer in N is checked against the schemas. A tenth as many requests go to an
 * authorization server. Exits with 1 when there are
 * findings.
 */
import { parseArgs } from "node:util";
import { fuzzAuthorization } from "../test/fuzz/authorization.ts";
import { fuzz } from "../test/fuzz/run.ts";
import { fuzzTokens } from "../test/fuzz/tokens.ts";

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "1000000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    connections: { type: "string", default: "32" },
    check: { type: "string", default: "100" },
  },
});
const [seed, count, connections, checkEvery] = [values.seed, values.count, values.connections, values.check].map(
  Number,
) as [number, number, number, number];
console.log(`seed ${seed}, ${count} inputs, ${connections} concurrent connections`);
const startedAtMs = Date.now();
const result = await fuzz({ seed, count, connections, checkEvery, report: console.log });
const { statuses, checked, slowOnce, memoryMib } = result;
const findings = [...result.findings];
console.log(
  `\nstatuses: ${[...statuses]
    .toSorted(([a], [b]) => a - b)
    .map(([status, times]) => `${status}: ${times}`)
    .join(", ")}`,
);
console.log(`${checked} answers checked against the schemas; ${slowOnce} were slow only under load`);
console.log(`memory of workerd: ${memoryMib.before} MiB after the warm-up, ${memoryMib.after} MiB at the end`);
const tokens = await fuzzTokens(seed, Math.ceil(count / 20));
console.log(`${tokens.count} tokens and proofs: ${[...tokens.statuses].map((each) => each.join(": ")).join(", ")}`);
for (const finding of tokens.findings) findings.push(finding);
const requests = await fuzzAuthorization(seed, Math.ceil(count / 10));
console.log(
  `${requests.count} requests to the authorization server: ${[...requests.statuses].map((each) => each.join(": ")).join(", ")}`,
);
for (const finding of requests.findings) findings.push(finding);
for (const finding of findings) console.log(`\nFINDING ${finding}`);
console.log(
  `\n${result.count} inputs, ${findings.length} findings, ${Math.round((Date.now() - startedAtMs) / 1000)} s`,
);
process.exit(findings.length > 0 ? 1 : 0);
