/** `npm run bench`: measures all contestants in turn and prints one table. See README.md. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { type Bundle, bundle } from "./bundle.ts";
import { BARE, CONTESTANTS, type Contestant, FLOOR_ZOD } from "./contestants.ts";
import { crowds } from "./crowds.ts";
import { grow } from "./grow.ts";
import { SLICES, type SliceOf, takesPart } from "./measure/calls.ts";
import { CONNECTS, connects, takesClients } from "./measure/connects.ts";
import { counts } from "./measure/counts.ts";
import { idle } from "./measure/idle.ts";
import { start } from "./measure/starts.ts";
import { STREAMS } from "./measure/streams.ts";
import { profile } from "./profile.ts";
import { Results, tableOf } from "./report.ts";
import { SCENARIOS } from "./scenarios.ts";
import { versions } from "./versions.ts";
import { Workerd } from "./workerd.ts";

interface Given {
  readonly quick: boolean;
  readonly grow: boolean;
  readonly crowds: boolean;
  readonly profile: string;
  readonly only: string;
}

const given = new Command("npm run bench --")
  .description("Measures mcp-edge and comparable libraries on workerd. bench/README.md explains the table.")
  .option("--quick", "a short run, which finds what is broken and not small differences", false)
  .option("--grow", "how the cost of mcp-edge grows with tools, events, sessions and streams", false)
  .option("--crowds", "many calls, slow readers and new clients at once", false)
  .option("--profile <contestant:scenario>", "where a Worker spends its time, such as ours-readme:session-call", "")
  .option("--only <names>", "scenarios and contestants, with commas between", "")
  .helpCommand(false)
  .parse()
  .opts<Given>();

interface Effort {
  /** How often each scenario of calls starts new processes: one process can be a fifth faster than another of the same code. */
  readonly processes: number;
  /** Rounds of each set of processes. Slices are short, so that compared contestants run close to one another in time. */
  readonly rounds: number;
  readonly sliceMs: number;
  /** Rounds of calls with events, each in a new session, and of clients that connect. */
  readonly streams: number;
  readonly starts: number;
  readonly sessions: number;
}
const EFFORT: Effort = given.quick
  ? { processes: 1, rounds: 8, sliceMs: 60, streams: 3, starts: 3, sessions: 150 }
  : { processes: 6, rounds: 14, sliceMs: 60, streams: 15, starts: 7, sessions: 1_000 };
const WARM_UP_MS = given.quick ? 250 : 700;
/** Calls with events before the measured ones, so that the code is compiled as it is under load. */
const WARM_UP_STREAMS = given.quick ? 1 : 10;

/** Scenarios that are divided by another one, which is then measured too. */
const OVER_MODERN = SCENARIOS.filter(({ over }) => over).map(({ key }) => key);

const only = given.only.split(",").filter(Boolean);
const chosenScenarios = only.filter((name) => SCENARIOS.some(({ key }) => key === name));
const chosenNames = only.filter((name) => CONTESTANTS.some(({ name: known }) => known === name));
const strangers = only.filter((name) => !chosenScenarios.includes(name) && !chosenNames.includes(name));
if (strangers.length > 0) {
  const known = [...SCENARIOS.map(({ key }) => key), ...CONTESTANTS.map(({ name }) => name)];
  console.error(`--only ${strangers.join()} is neither a scenario nor a contestant. There are: ${known.join(", ")}.`);
  process.exit(2);
}
const wanted = (...keys: string[]) => chosenScenarios.length === 0 || keys.some((key) => chosenScenarios.includes(key));
/** The floors always take part, because the others are divided by them. */
const contestants = CONTESTANTS.filter(
  ({ name }) => chosenNames.length === 0 || chosenNames.includes(name) || name.startsWith("floor"),
);

const startedAt = performance.now();
function say(what: string): void {
  console.error(`${((performance.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${what}`);
}

if (given.profile) console.log(await profile(given.profile));
else if (given.grow) write("grow", { rows: await grow(say, given.quick) }, []);
else if (given.crowds) write("crowds", { rows: await crowds(say, given.quick) }, []);
else await compare();

async function compare(): Promise<void> {
  const results = new Results();
  const bundles = new Map<Contestant, Bundle>();
  for (const contestant of contestants) {
    const made = await bundle(contestant);
    bundles.set(contestant, made);
    results.add("bundle", contestant.name, { value: made.gzipBytes / 1024, minifiedKib: made.minifiedBytes / 1024 });
  }
  say("bundled");
  if (wanted("start", "start-zod", "start-bare")) await measureStarts(results, bundles);
  if (wanted("object-requests", "rows")) await measureCounts(results);
  await measureCalls(results, bundles);
  const workerds = await startAll(bundles);
  try {
    await measureStreams(results, workerds);
    await measureConnects(results, workerds);
  } finally {
    for (const workerd of workerds) await workerd[Symbol.asyncDispose]();
  }
  if (wanted("memory", "disk", "wake")) await measureIdle(results, bundles);
  console.log(tableOf(results, contestants));
  for (const failure of results.failures) console.log(`failed: ${failure}`);
  write("run", results.toJson(contestants), results.failures);
}

async function startAll(bundles: ReadonlyMap<Contestant, Bundle>): Promise<Workerd[]> {
  const workerds: Workerd[] = [];
  for (const [contestant, { path }] of bundles) workerds.push(await Workerd.start(contestant, path));
  return workerds;
}

async function measureCalls(results: Results, bundles: ReadonlyMap<Contestant, Bundle>): Promise<void> {
  const scenarios = Object.entries(SLICES).filter(([key]) => wanted(key, ...(key === "modern-call" ? ["cpu"] : [])));
  for (let turn = 1; turn <= EFFORT.processes; turn += 1) {
    for (const [key, slice] of scenarios) {
      const taking = new Map([...bundles].filter(([contestant]) => takesPart(contestant, key)));
      const workerds = await startAll(taking);
      try {
        for (const workerd of workerds) await slice(workerd, WARM_UP_MS).catch(() => undefined);
        await measureRounds(results, key, slice, workerds);
      } finally {
        for (const workerd of workerds) await workerd[Symbol.asyncDispose]();
      }
      say(`${key}: processes ${turn} of ${EFFORT.processes}`);
    }
  }
  for (const { name } of contestants) {
    const cpuUs = results.of("modern-call", name)?.cpuUs;
    if (cpuUs !== undefined) results.add("cpu", name, { value: cpuUs });
  }
}

async function measureRounds(
  results: Results,
  key: string,
  slice: SliceOf,
  workerds: readonly Workerd[],
): Promise<void> {
  for (let round = 1; round <= EFFORT.rounds; round += 1) {
    // Each round starts with a different contestant.
    for (const place of workerds.keys()) {
      const workerd = workerds[(place + round) % workerds.length] as Workerd;
      await results.measure(key, workerd.contestant, () => slice(workerd, EFFORT.sliceMs));
    }
  }
}

async function measureStreams(results: Results, workerds: readonly Workerd[]): Promise<void> {
  const scenarios = Object.entries(STREAMS).filter(([key]) =>
    wanted(key, ...(key === "last-event" ? ["first-event"] : []), ...(key === "awaited-modern" ? OVER_MODERN : [])),
  );
  if (scenarios.length === 0) return;
  for (let round = 1 - WARM_UP_STREAMS; round <= EFFORT.streams; round += 1) {
    const isWarmUp = round <= 0;
    const into = isWarmUp ? new Results() : results;
    for (const workerd of workerds) {
      const { contestant } = workerd;
      for (const [key, { takes, measure }] of scenarios) {
        if (takes(contestant)) await into.measure(key, contestant, () => measure(workerd));
      }
    }
    say(`streams: round ${round} of ${EFFORT.streams}`);
  }
  for (const { contestant } of workerds) {
    const firstMs = results.of("last-event", contestant.name)?.firstMs;
    if (firstMs !== undefined) results.add("first-event", contestant.name, { value: firstMs });
  }
}

async function measureConnects(results: Results, workerds: readonly Workerd[]): Promise<void> {
  const scenarios = Object.entries(CONNECTS).filter(([key]) => wanted(key));
  const taking = workerds.filter(({ contestant }) => takesClients(contestant));
  if (scenarios.length === 0) return;
  for (let round = 0; round <= EFFORT.streams; round += 1) {
    const into = round === 0 ? new Results() : results;
    for (const workerd of taking) {
      for (const [key, connect] of scenarios) {
        await into.measure(key, workerd.contestant, () => connects(workerd, connect));
      }
    }
    say(`clients that connect: round ${round} of ${EFFORT.streams}`);
  }
}

async function measureStarts(results: Results, bundles: ReadonlyMap<Contestant, Bundle>): Promise<void> {
  const bare = await bundle(BARE);
  const withSchemas = await bundle(FLOOR_ZOD);
  for (let round = 1; round <= EFFORT.starts; round += 1) {
    for (const [contestant, made] of bundles) {
      await results.measure("start", contestant, () => start(contestant, made));
      const started = contestant.name.startsWith("floor") ? undefined : results.last("start", contestant.name);
      if (started) results.add("start-zod", contestant.name, started);
    }
    await results.measure("start-zod", FLOOR_ZOD, () => start(FLOOR_ZOD, withSchemas));
    await results.measure("start-bare", BARE, () => start(BARE, bare));
    const floor = results.last("start", "floor");
    if (floor) results.add("start-bare", "floor", floor);
    say(`start: round ${round} of ${EFFORT.starts}`);
  }
}

async function measureCounts(results: Results): Promise<void> {
  for (const contestant of contestants.filter(({ objects }) => objects !== undefined)) {
    await results.measure("object-requests", contestant, () => counts(contestant));
    const rows = results.of("object-requests", contestant.name)?.rows;
    if (rows !== undefined) results.add("rows", contestant.name, { value: rows });
  }
  say("object requests and rows counted");
}

async function measureIdle(results: Results, bundles: ReadonlyMap<Contestant, Bundle>): Promise<void> {
  const taking = new Map([...bundles].filter(([{ sessions }]) => sessions !== undefined));
  const workerds = await startAll(taking);
  try {
    const found = await idle(workerds, EFFORT.sessions, given.quick, (what) => say(`idle sessions: ${what}`));
    for (const [name, { memory, disk, wake }] of found) {
      results.add("memory", name, memory);
      results.add("disk", name, disk);
      results.add("wake", name, wake);
    }
  } finally {
    for (const workerd of workerds) await workerd[Symbol.asyncDispose]();
  }
}

function write(what: string, figures: object, failures: readonly string[]): void {
  const folder = join(import.meta.dirname, "results");
  mkdirSync(folder, { recursive: true });
  const date = new Date().toISOString().slice(0, 19).replaceAll(":", "-");
  const path = join(folder, `${date}${given.quick ? "-quick" : ""}.json`);
  writeFileSync(
    path,
    `${JSON.stringify({ what, date, effort: EFFORT, versions: versions(), figures, failures }, null, 2)}\n`,
  );
  say(`written to ${path}`);
}
