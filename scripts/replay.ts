/**
 * Runs random handlers that ask in the middle, very many of them, in one place or in each, and compares each with a run
 * that nothing interrupts. Prints counts and seeds.
 *
 * `--place` is `rounds`, `connection`, `asked`, `stdio`, `sessions`, `tasks`, or `all`; `--runs N` so many in each;
 * `--seed S` begins at that seed, `--only I` runs one case of it: a failure prints both; `--at-once N` so many together.
 */
import { parseArgs } from "node:util";
import { askedOverConnection, roundsOverConnection, roundsOverHttp } from "../test/properties/replay-places.ts";
import { type OpenPlace, runCases } from "../test/properties/replay-runs.ts";
import { openStdio } from "../test/properties/replay-stdio.ts";
import { openSessions, openTasks } from "../test/worker/replay-storm-places.ts";

/** Each with how many cases it runs at once. */
const PLACES: Readonly<Record<string, { readonly open: OpenPlace; readonly atOnce: number }>> = {
  /** Modern clients over HTTP: each round is a request of its own. */
  rounds: { open: () => ({ run: roundsOverHttp() }), atOnce: 50 },
  /** Modern clients over a connection in memory. */
  connection: { open: () => ({ run: roundsOverConnection }), atOnce: 50 },
  /** Legacy clients over a connection in memory. */
  asked: { open: () => ({ run: askedOverConnection }), atOnce: 50 },
  /** Processes over stdio, with clients of both eras. */
  stdio: { open: openStdio, atOnce: 50 },
  /** Legacy sessions on workerd, which is killed and whose objects are reset all the while. */
  sessions: { open: openSessions, atOnce: 40 },
  /** Tasks, likewise. */
  tasks: { open: openTasks, atOnce: 40 },
};

const { values } = parseArgs({
  options: {
    place: { type: "string", default: "all" },
    runs: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    "at-once": { type: "string" },
  },
});
const names = values.place === "all" ? Object.keys(PLACES) : values.place.split(",");
let hasFailed = false;
for (const name of names) {
  const place = PLACES[name];
  if (!place) throw new Error(`--place ${name} is none of ${Object.keys(PLACES).join(", ")}.`);
  const { passed, failed, seconds } = await runCases({
    open: place.open,
    runs: Number(values.runs),
    seed: Number(values.seed),
    only: values.only === undefined ? undefined : Number(values.only),
    atOnce: Number(values["at-once"] ?? place.atOnce),
    report: (text) => console.log(`${name}: ${text}`),
  });
  const rate = (passed + failed) / Math.max(seconds, 1);
  console.log(`${name}: ${passed} passed, ${failed} failed in ${seconds} s, ${rate.toFixed(1)} a second`);
  hasFailed ||= failed > 0;
}
process.exit(hasFailed ? 1 : 0);
