import { type Command, InvalidArgumentError } from "commander";
import type { OpenPlace } from "../../test/properties/replay-runs.ts";
import { number } from "./number.ts";

const web = () => import("../../test/properties/replay-places.ts");
const storms = () => import("../../test/worker/replay-storm-places.ts");

interface Place {
  readonly load: () => Promise<OpenPlace>;
  /** The number of cases that run concurrently. */
  readonly atOnce: number;
}

const PLACES: Readonly<Record<string, Place>> = {
  /** Modern clients over HTTP: each round is a separate request. */
  rounds: {
    load: () =>
      web().then(({ roundsOverHttp }) => () => ({ run: roundsOverHttp() })),
    atOnce: 50,
  },
  /** Modern clients over an in-memory connection. */
  connection: {
    load: () =>
      web().then(({ roundsOverConnection }) => () => ({ run: roundsOverConnection })),
    atOnce: 50,
  },
  /** Legacy clients over an in-memory connection. */
  asked: {
    load: () =>
      web().then(({ askedOverConnection }) => () => ({ run: askedOverConnection })),
    atOnce: 50,
  },
  /** Processes over stdio, with clients of both eras. */
  stdio: { load: () => import("../../test/properties/replay-stdio.ts").then(({ openStdio }) => openStdio), atOnce: 50 },
  /** Legacy sessions on workerd. Objects are aborted at chosen points of each case, and workerd is killed now and then. */
  sessions: { load: () => storms().then(({ openStorm }) => openStorm("sessions")), atOnce: 40 },
  /** Tasks, under the same disturbances. */
  tasks: { load: () => storms().then(({ openStorm }) => openStorm("tasks")), atOnce: 40 },
  /** The same with clients that run within the Worker: only objects are lost, and a case needs much less CPU time. */
  "sessions-near": { load: () => storms().then(({ openNear }) => openNear("sessions")), atOnce: 40 },
  "tasks-near": { load: () => storms().then(({ openNear }) => openNear("tasks")), atOnce: 100 },
};
const NAMES = Object.keys(PLACES);

/**
 * Runs many random handlers that ask questions in the middle of a call, and compares each with an uninterrupted run. Prints counts and
 * seeds; for sessions and tasks also how many cases were interrupted, and at how many points. A seed fixes the handlers and the points at
 * which each loses its object.
 */
export function replay(command: (name: string) => Command): void {
  command("replay")
    .description("runs random handlers, interrupted and uninterrupted; both must agree")
    .option("--place <names>", `where, with commas between: ${NAMES.join(", ")}`, placesOf, NAMES)
    .option("--runs <count>", "the number of cases in each place", number, 1_000)
    .option("--seed <number>", "the first seed", number, 1)
    .option("--only <index>", "run one case of the seed; a failure prints both", number)
    .option("--at-once <count>", "the number of concurrent cases; each place has its own default", number)
    .action(run);
}

/** Reads the names of places. */
function placesOf(text: string): string[] {
  const names = text.split(",");
  if (names.every((name) => NAMES.includes(name))) return names;
  throw new InvalidArgumentError(`Use ${NAMES.join(", ")}, with commas between.`);
}

interface Options {
  readonly place: readonly string[];
  readonly runs: number;
  readonly seed: number;
  readonly only?: number;
  readonly atOnce?: number;
}

async function run({ place, runs, seed, only, atOnce }: Options): Promise<void> {
  const { runCases } = await import("../../test/properties/replay-runs.ts");
  for (const name of place) {
    const { load, atOnce: usual } = PLACES[name] as Place;
    const report = (text: string) => console.log(`${name}: ${text}`);
    const found = await runCases({ open: await load(), runs, seed, only, atOnce: atOnce ?? usual, report });
    const { passed, failed, seconds, interrupted } = found;
    const rate = ((passed + failed) / Math.max(seconds, 1)).toFixed(1);
    report(`${passed} passed, ${failed} failed in ${seconds} s, ${rate} per second${interrupted}`);
    if (failed > 0) process.exitCode = 1;
  }
}
