/**
 * Lets ten processes over two isolates refresh one token at the same time, while the user's object is evicted and workerd is
 * killed, and prints whether anyone was signed out. `--repetitions N` changes the number. Exits with 1 when there are findings.
 */
import { parseArgs } from "node:util";
import { runRefreshStorm } from "../test/worker/refresh-storm.ts";

const { values } = parseArgs({ options: { repetitions: { type: "string", default: "100" } } });
const { repetitions, refreshes, repeated, findings } = await runRefreshStorm(Number(values.repetitions));
console.log(
  `${repetitions} repetitions: ${refreshes} refreshes by ten processes, ${repeated} requests lost and repeated`,
);
console.log(`${findings.length === 0 ? "one rotation in each, nobody signed out" : `${findings.length} findings`}`);
for (const finding of findings) console.log(`FINDING ${finding}`);
process.exit(findings.length > 0 ? 1 : 0);
