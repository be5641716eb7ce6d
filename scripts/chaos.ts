/**
 * Runs sessions while randomly cutting connections, killing workerd and evicting objects, and prints what was lost.
 * Nothing may be lost. Each script of disturbances is generated from a seed.
 *
 * `--seeds N` is the number of scripts, `--seed S` the first seed, which is printed with each violation; `--released N`
 * is the number of scripts that run with released clients. `--client` runs scripts with the client of this package instead:
 * every call runs exactly once, or ends in a clear error.
 */
import { parseArgs } from "node:util";
import { runClientSeeds } from "../test/chaos/client-run.ts";
import { runSeeds } from "../test/chaos/seeds.ts";
import { Tally } from "../test/chaos/tally.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    released: { type: "string", default: "20" },
    worlds: { type: "string", default: "3" },
    client: { type: "boolean", default: false },
  },
});
const tally = new Tally();
const [first, count, released, worlds] = [values.seed, values.seeds, values.released, values.worlds].map(Number) as [
  number,
  number,
  number,
  number,
];
const startedAtMs = Date.now();
if (values.client) await runClientSeeds({ first, count, worlds, report: console.log }, tally);
else await runSeeds({ first, count, released, worlds, ttlMs: 45_000, resumeMs: 15_000, report: console.log }, tally);
console.log(`\n${tally.table()}\n${Math.round((Date.now() - startedAtMs) / 1000)} s`);
// Released clients leave reconnect timers and sockets behind, which would keep the process alive.
process.exit(tally.violations.length > 0 ? 1 : 0);
