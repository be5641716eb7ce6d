/**
 * Runs 5,000 interleaved sessions of 50 principals on workerd while objects are evicted, and prints what reached the wrong
 * principal: answers, progress, questions of both eras, tasks, stored events, rows, and cached results. `--sessions N`, `--principals N` and `--seed N` change the numbers. Exits with 1 when there are findings.
 */
import { parseArgs } from "node:util";
import { runTenants } from "../test/worker/tenants.ts";

const { values } = parseArgs({
  options: {
    sessions: { type: "string", default: "5000" },
    principals: { type: "string", default: "50" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const [sessions, principals, seed] = [values.sessions, values.principals, values.seed].map(Number) as [
  number,
  number,
  number,
];
const startedAtMs = Date.now();
const { compared, foreign, rows, evictions, unanswered, findings } = await runTenants({
  sessions,
  principals,
  seed,
  onProgress: (ended) => {
    if (ended % 500 === 0) console.log(`${ended} sessions after ${Math.round((Date.now() - startedAtMs) / 1000)} s`);
  },
});
console.log(`seed ${seed}: ${sessions} sessions of ${principals} principals, ${evictions} evictions of all objects`);
console.log(`${compared} texts compared, ${foreign} attempts with something of another principal, ${rows} rows read`);
if (unanswered.length > 0) console.log(`${unanswered.length} connections were cut: ${unanswered.join(", ")}`);
for (const finding of findings) console.log(`FINDING ${finding}`);
process.exit(findings.length > 0 ? 1 : 0);
