/**
 * Runs scripts of disturbances while the Worker and its objects change between two builds, with a rollback in the middle. In
 * addition to the rules of run.ts:
 *
 * - A grant whose client refreshes all the time is never lost.
 * - A call with an idempotency key that is repeated has one outcome.
 * - A task that one build has begun is finished, and an answer is not lost.
 *
 * A request that a reset interrupts may be repeated, as after any other reset.
 */
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "../../src/client/index.ts";
import { bundleSwitching } from "../releases/bundle.ts";
import { ada, ISSUER, IssuerBrowser, KEY, refresh, statusOf } from "../releases/everything.ts";
import { CLASSES, WRANGLER } from "../releases/state.ts";
import { allow, authorizeUrl, newVerifier, postForm } from "../worker/authorization.ts";
import { ModernClient, readAnswer } from "../worker/client.ts";
import { answersTo, TaskClient, textOf } from "../worker/task-client.ts";
import { HANG_MS } from "./peer.ts";
import { Random } from "./random.ts";
import { NEWEST, runReleased } from "./released.ts";
import { run } from "./run.ts";
import { type Fault, type Script, scriptOf } from "./script.ts";
import { Tally } from "./tally.ts";
import { World } from "./world.ts";

export interface DeploysOptions {
  readonly first: number;
  readonly count: number;
  /** The bundles of the two builds. */
  readonly builds: { readonly old: string; readonly new: string };
  readonly worlds: number;
  readonly ttlMs: number;
  readonly resumeMs: number;
  readonly report: (text: string) => void;
}

/** How long the call lasts that each deploy interrupts, in milliseconds: longer than the deploy. */
const LONG_CALL_MS = 1_500;

/** Returns the script of a seed with a deploy in the middle of a call, and usually a rollback. */
export function deploysScriptOf(seed: number): Script {
  const script = scriptOf(seed);
  const random = new Random(seed + 2 ** 29);
  const first = random.int(10, 400);
  const steps = [
    { kind: "say", count: 1, size: 10, turns: false },
    { kind: "pause", ms: LONG_CALL_MS },
  ] as const;
  const long = { kind: "call", atMs: first / 2, json: false, steps, readings: [] } as const;
  const sessions = script.sessions.map((session, index) =>
    index > 0 ? session : { ...session, lanes: [...session.lanes, long] },
  );
  const changes = [{ atMs: first, fault: "deploy" as const }];
  const back = { atMs: first + random.int(20, 500), fault: "rollback" as const };
  const faults = [...(random.chance(0.5) ? script.faults : []), ...changes, ...(random.chance(0.7) ? [back] : [])];
  return { ...script, sessions, faults: faults.toSorted((a, b) => a.atMs - b.atMs) };
}

const DEPLOYS: readonly (readonly [number, Fault])[] = [
  [2, "deploy"],
  [1, "rollback"],
];

/** Returns the outcome of all seeds in one line. Only calls that a reset must interrupt may be interrupted. */
export function summarize(tally: Tally, durationMs: number): string {
  const seeds = tally.of("seeds");
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const counts = [
    `${tally.of("broken") + tally.of("hanging")} failed`,
    `${tally.of("lost")} lost`,
    `${tally.of("duplicated")} duplicated`,
    `${tally.of("signed-out")} signed out`,
    `${tally.of("interrupted")} of ${tally.of("calls")} calls interrupted`,
  ];
  return `${seeds} seeds, ${tally.of("deploys")} deploys: ${counts.join(", ")}; ${seconds(durationMs)}, ${seconds(durationMs / seeds)} each`;
}

/** Adds the outcomes of many seeds to `tally`. */
export async function runDeploys(options: DeploysOptions, tally: Tally): Promise<void> {
  const { first, count, builds, worlds, report } = options;
  const entry = { source: await bundleSwitching({ old: builds.old, new: builds.new }) };
  let next = first;
  const work = async () => {
    const world = await World.start({ ...options, builds: { entry, objects: CLASSES, wrangler: WRANGLER } });
    try {
      while (next < first + count) {
        const seed = next++;
        const script = deploysScriptOf(seed);
        const parts: Promise<Tally>[] = [runScript(script, world, report)];
        if (seed % 2 === 0) parts.push(useOwnClient(seed, world));
        if (seed % 3 === 0) parts.push(keepAll(seed, world));
        const all = await Promise.all(parts.map(orBroken));
        if (seed % 4 === 0) all.push(await orBroken(runReleased(seed, world, { clients: NEWEST, faults: DEPLOYS })));
        for (const each of all) {
          tally.add(each);
          for (const { violation, what } of each.violations) report(`  seed ${seed}: ${violation}: ${what}`);
        }
      }
      const after = new Tally();
      await world.expire(after);
      tally.add(after);
      for (const { violation, what } of after.violations) report(`  ${violation}: ${what}`);
    } finally {
      await world.stop();
    }
  };
  await Promise.all(Array.from({ length: Math.min(worlds, count) }, work));
}

/** Runs a script, and reports its trace if there is a violation. */
async function runScript(script: Script, world: World, report: (text: string) => void): Promise<Tally> {
  const { tally, trace } = await run(script, world);
  const { length } = tally.violations;
  if (length > 0) report(`seed ${script.seed}:\n${JSON.stringify(script)}\n${trace.join("\n")}`);
  return tally;
}

/** Returns a violation for a client that could not even be opened. */
function orBroken(work: Promise<Tally>): Promise<Tally> {
  return work.catch((error: unknown) => {
    const tally = new Tally();
    tally.violate("broken", String(error).slice(0, 400));
    return tally;
  });
}

/** Calls tools with the client of this package, in both eras. */
async function useOwnClient(seed: number, { origin }: World): Promise<Tally> {
  const tally = new Tally();
  const protocolVersions = [seed % 4 === 0 ? "2025-11-25" : "2026-07-28"] as const;
  const options = { name: "own", version: "1.0.0", protocolVersions, timeoutMs: HANG_MS, probeTimeoutMs: HANG_MS };
  const open = () => connect(`${origin}/roomy`, options as never);
  const client = await insist(tally, open);
  for (let call = 1; call <= 12; call += 1) {
    const key = `own ${seed}.${call}`;
    const steps = [{ kind: "say", count: 2, size: 10, turns: false }];
    const { content } = await insist(tally, () => client.callTool("play", { key, steps }));
    tally.count("answers");
    if (!JSON.stringify(content).includes(`${key} 2`)) tally.violate("broken", `${key}: ${JSON.stringify(content)}`);
    await delay(60);
  }
  await client.close();
  return tally;
}

/** How long work is repeated, in milliseconds. On a busy machine, a restart takes 75 s. */
const INSIST_MS = 4 * HANG_MS;

/** Repeats work that a reset may interrupt. */
async function insist<T>(tally: Tally, work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + INSIST_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      tally.count("repeats");
      await delay(30);
    }
  }
}

/** Refreshes tokens, repeats a call and answers a task while builds change. */
async function keepAll(seed: number, { origin }: World): Promise<Tally> {
  const tally = new Tally();
  const target = { url: (path: string) => origin + path };
  const guard = (violation: "lost" | "signed-out", what: string, work: () => Promise<void>) =>
    work().catch((error: unknown) => tally.violate(violation, `${seed} ${what}: ${String(error).slice(0, 400)}`));
  await Promise.all([
    guard("signed-out", "refresh", async () => {
      let token = await insist(tally, () => signIn(target));
      for (let turn = 0; turn < 8; turn += 1) {
        const answer = await insist(tally, () => refresh(target, token));
        tally.count("refreshes");
        token = String(answer.refresh_token);
        const headers = { authorization: `Bearer ${String(answer.access_token)}` };
        await insist(tally, async () => {
          const status = await statusOf(target, headers);
          if (status === 401) tally.violate("signed-out", `${seed}: a new token was refused`);
          else if (status !== 200) throw new Error(`${status}`);
        });
        await delay(80);
      }
    }),
    guard("lost", "once", async () => {
      const client = new ModernClient(target.url("/all"));
      const key = crypto.randomUUID();
      const outcomes = new Set<string>();
      for (let turn = 0; turn < 8; turn += 1) {
        const meta = { [KEY]: key };
        await insist(tally, async () => {
          const { text, raw } = await readAnswer(client.call("pay", {}, { meta, headers: ada }));
          if (text === undefined) throw new Error(raw);
          outcomes.add(text);
        });
        await delay(80);
      }
      if (outcomes.size > 1) tally.violate("duplicated", `${seed}: one call has the outcomes ${[...outcomes].join()}`);
    }),
    guard("lost", "task", async () => {
      const client = new TaskClient(target.url("/all"), { headers: ada });
      const id = await insist(tally, () => client.start("later", { how: "ask" }));
      await delay(300);
      const asked = await insist(tally, () => client.reaches(id, "input_required"));
      await insist(tally, () =>
        client.update(
          id,
          answersTo(asked, () => "Ada"),
        ),
      );
      const done = await insist(tally, () => client.reaches(id, "completed"));
      if (!textOf(done).startsWith("Ada ")) tally.violate("lost", `${seed}: a task ended with ${textOf(done)}`);
    }),
  ]);
  return tally;
}

async function signIn(target: { url(path: string): string }): Promise<string> {
  const verifier = newVerifier();
  const known = { client_id: "known", redirect_uri: "https://known.example/callback" };
  const asked = { ...known, resource: `${ISSUER}/signed` };
  const returned = await allow(new IssuerBrowser(target), authorizeUrl(ISSUER, verifier, asked), "ada");
  const fields = { grant_type: "authorization_code", code: returned.get("code") ?? "", ...known };
  const { status, body } = await postForm(target.url("/token"), { ...fields, code_verifier: verifier });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return String(body.refresh_token);
}
