/**
 * Disturbs sessions in every way there is, by scripts made from seeds, and prints what was lost, which has to be nothing.
 * `--seeds N` runs so many, `--seed S` begins at that one: both are printed with each violation.
 */
import { parseArgs } from "node:util";
import { runSeeds } from "../test/chaos/seeds.ts";
import { Tally } from "../test/chaos/tally.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    worlds: { type: "string", default: "3" },
  },
});
const tally = new Tally();
const [first, count, worlds] = [Number(values.seed), Number(values.seeds), Number(values.worlds)];
const startedAtMs = Date.now();
await runSeeds({ first, count, worlds, trustMs: 45_000, resumeMs: 30_000, report: console.log }, tally);
console.log(`\n${tally.table()}\n${Math.round((Date.now() - startedAtMs) / 1000)} s`);
if (tally.violations.length > 0) process.exitCode = 1;
