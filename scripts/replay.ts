/**
 * Runs many random handlers that ask in the middle, in one place or in all, and compares each with an uninterrupted
 * run. Prints counts and seeds; for sessions and tasks also how many cases were interrupted, and at how many points. A
 * seed fixes the handlers and the points at which each loses its object.
 *
 * `--place` is `rounds`, `connection`, `asked`, `stdio`, `sessions`, `tasks`, `sessions-near`, `tasks-near`, or `all`;
 * `--runs N` is the number of cases in each place; `--seed S` is the first seed; `--only I` runs one case of that seed (a
 * failure prints both); `--at-once N` is the number of concurrent cases.
 */
import { parseArgs } from "node:util";
import { askedOverConnection, roundsOverConnection, roundsOverHttp } from "../test/properties/replay-places.ts";
import { type OpenPlace, runCases } from "../test/properties/replay-runs.ts";
import { openStdio } from "../test/properties/replay-stdio.ts";
import { openNear, openStorm } from "../test/worker/replay-storm-places.ts";

/** The places, each with the number of cases that run concurrently. */
const PLACES: Readonly<Record<string, { readonly open: OpenPlace; readonly atOnce: number }>> = {
  /** Modern clients over HTTP: each round is a separate request. */
  rounds: { open: () => ({ run: roundsOverHttp() }), atOnce: 50 },
  /** Modern clients over an in-memory connection. */
  connection: { open: () => ({ run: roundsOverConnection }), atOnce: 50 },
  /** Legacy clients over an in-memory connection. */
  asked: { open: () => ({ run: askedOverConnection }), atOnce: 50 },
  /** Processes over stdio, with clients of both eras. */
  stdio: { open: openStdio, atOnce: 50 },
  /** Legacy sessions on workerd. Objects are aborted at chosen points of each case, and workerd is killed now and then. */
  sessions: { open: openStorm("sessions"), atOnce: 40 },
  /** Tasks, under the same disturbances. */
  tasks: { open: openStorm("tasks"), atOnce: 40 },
  /** The same with clients that run within the Worker: only objects are lost, and a case needs much less CPU time. */
  "sessions-near": { open: openNear("sessions"), atOnce: 40 },
  "tasks-near": { open: openNear("tasks"), atOnce: 100 },
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
  if (!place) throw new Error(`--place ${name} is unknown; use one of ${Object.keys(PLACES).join(", ")}.`);
  const { passed, failed, seconds, interrupted } = await runCases({
    open: place.open,
    runs: Number(values.runs),
    seed: Number(values.seed),
    only: values.only === undefined ? undefined : Number(values.only),
    atOnce: Number(values["at-once"] ?? place.atOnce),
    report: (text) => console.log(`${name}: ${text}`),
  });
  const rate = (passed + failed) / Math.max(seconds, 1);
  console.log(
    `${name}: ${passed} passed, ${failed} failed in ${seconds} s, ${rate.toFixed(1)} per second${interrupted}`,
  );
  hasFailed ||= failed > 0;
}
process.exit(hasFailed ? 1 : 0);
