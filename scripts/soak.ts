/**
 * Lets thousands of clients connect, call, stream, leave and break, in both eras and over HTTP+SSE, and checks that memory,
 * descriptors, rows and alarms are back where they were at the end. Exits with 1 and says which are not.
 *
 * `--minutes N` is the time (default 30), `--clients N` the number at the same time, `--seed N` makes the same choices.
 */
import { parseArgs } from "node:util";
import { soak } from "./soak/run.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    clients: { type: "string", default: "40" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const [minutes, atOnce, seed] = [values.minutes, values.clients, values.seed].map(Number) as [number, number, number];
console.log(`seed ${seed}, ${atOnce} clients at the same time, ${minutes} minutes`);
const forMs = minutes * 60_000;
// A fifth of the time, so that the heap has its size before the first measurement.
const found = await soak({ forMs, warmUpMs: Math.max(20_000, forMs / 5), atOnce, seed, report: console.log });
for (const [what, times] of found.clients) console.log(`${String(times).padStart(8)} ${what}`);
const { objects, rows, alarms } = found.left;
console.log(`${objects} objects store ${rows} rows and have ${alarms} alarms`);
for (const finding of found.findings) console.log(`FINDING: ${finding}`);
process.exit(found.findings.length > 0 ? 1 : 0);
