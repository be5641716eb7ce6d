/**
 * Runs a script and checks the outcome against these rules:
 *
 * - A client of 2025-11-25 that resumes with the last event id it received gets each event once and in order. Only
 *   notifications beyond the limits of the session may be missing, and then a warning says exactly how many. Everything
 *   that the log contains in the end was received unchanged, on every stream of which the client received an id.
 * - A call whose client has received an event id ends with its result, with the error "interrupted" (only after a
 *   fault), or, if cancelled, with 405. A call whose client has received none may be unknown. A session ended by DELETE
 *   answers 404.
 * - Nothing takes longer than HANG_MS. A listener gets a notification in the end.
 * - Nothing is stored after a session's lifetime. After DELETE only the deletion is stored, after twice the time in
 *   which streams can be resumed, because the alarm that collects them runs at that interval.
 * - Sessions that share an object follow the same rules separately.
 * - Clients of HTTP+SSE have other rules, because they cannot resume: see http-sse-peer.ts.
 *
 * Clients of older versions get no event id before the first message, so their calls are unknown more often.
 */
import { setTimeout as delay } from "node:timers/promises";
import { WireOracle } from "../oracle/oracle.ts";
import { HttpSsePeer } from "./http-sse-peer.ts";
import type { Ledger, Place } from "./ledger.ts";
import { HANG_MS, Peer } from "./peer.ts";
import type { Lane, Script } from "./script.ts";
import { Tally } from "./tally.ts";
import { isOf, type SessionHome, type World } from "./world.ts";

export interface Ran {
  readonly tally: Tally;
  /** The events of the run, with their times. */
  readonly trace: readonly string[];
}

export async function run(script: Script, world: World): Promise<Ran> {
  const tally = new Tally();
  tally.count("seeds");
  const startedAtMs = Date.now();
  const lines: string[] = [];
  const trace = (what: string) => lines.push(`${String(Date.now() - startedAtMs).padStart(6)} ms  ${what}`);
  const oracle = new WireOracle();
  let disturbed = false;
  let killed = false;
  const headers: Record<string, string> = script.shared ? { authorization: `team ${script.seed}` } : {};
  if (script.shared) tally.count("shared");
  const urlOf = (tight: boolean) => `${world.origin}/${script.shared ? "shared" : tight ? "tight" : "roomy"}`;
  const peers = script.sessions.map((session, index) => {
    const name = `${script.seed}.${index + 1}`;
    const options = {
      url: urlOf(session.tight),
      headers,
      name,
      script: session,
      tally,
      oracle,
      isDisturbed: () => disturbed,
    };
    return new Peer({ ...options, resumeMs: world.resumeMs, trace: (what) => trace(`${name} ${what}`) });
  });
  const readers = script.readers.map((reader, index) => {
    const name = `${script.seed}.reader${index + 1}`;
    const options = { url: urlOf(reader.tight), headers, name, script: reader, tally, oracle };
    const lost = { isDisturbed: () => disturbed, isKilled: () => killed };
    return new HttpSsePeer({ ...options, ...lost, trace: (what) => trace(`${name} ${what}`) });
  });
  await Promise.all([...peers, ...readers].map((peer) => peer.open()));
  const listening: Promise<void>[] = [];
  const doing: Promise<void>[] = [];
  for (const peer of peers) {
    for (const lane of peer.script.lanes) {
      const work = delay(lane.atMs).then(() => play(peer, lane));
      (lane.kind === "listen" ? listening : doing).push(work);
    }
    const { deleteMs } = peer.script;
    if (deleteMs !== undefined) doing.push(delay(deleteMs).then(() => peer.delete()));
  }
  for (const reader of readers) {
    doing.push(reader.suffer());
    for (const lane of reader.script.lanes) doing.push(delay(lane.atMs).then(() => reader.call(lane)));
  }
  const faults = script.faults.map(async ({ atMs, fault }) => {
    await delay(atMs);
    disturbed = true;
    killed ||= fault === "kill";
    trace(fault);
    await world.strike(fault, tally);
    trace(`${fault} is done`);
  });
  await Promise.all([...doing, ...faults]);
  trace("all calls are over");
  const homes = await world.homes();
  for (const peer of peers.filter(({ isEnding }) => !isEnding)) {
    await compare(peer, homes, world, tally);
    const listens = peer.script.lanes.some(({ kind }) => kind === "listen");
    if (listens && peer.script.subscribes) await peer.hearNotice();
    for (const ledger of peer.ledgers.slice(0, 3)) if (!peer.script.tight) await peer.replay(ledger);
  }
  for (const reader of readers) {
    if (reader.script.subscribes) await reader.hearNotice();
    await reader.close();
  }
  for (const peer of peers) peer.hush();
  await Promise.all(listening);
  for (const peer of peers) if (peer.script.end === "delete" && !peer.isEnding) await peer.delete();
  const ended = peers.filter(({ isEnding }) => isEnding).flatMap(({ ledgers }) => ledgers);
  const deleted = ended.map(({ place }) => place);
  world.leave(homes, deleted, `seed ${script.seed}`);
  for (const { problem, message } of oracle.problems) {
    tally.violate("broken", `${script.seed}: ${problem}: ${JSON.stringify(message).slice(0, 300)}`);
  }
  trace("over");
  return { tally, trace: lines };
}

function play(peer: Peer, lane: Lane): Promise<void> {
  if (lane.kind === "call") return peer.call(lane);
  return lane.kind === "listen" ? peer.listen(lane) : peer.note(lane);
}

interface LogRow {
  readonly stream: number;
  readonly seq: number;
  readonly rank: number;
  readonly frames: string;
}

/** Checks that everything in the log was received. Events of GET streams may still be in transit. */
async function compare(peer: Peer, homes: readonly SessionHome[], world: World, tally: Tally): Promise<void> {
  const ledgers = peer.ledgers.filter(({ place }) => place !== undefined);
  const tables = await tablesOf(ledgers[0]?.place, homes, world);
  if (!tables) return;
  const [, rows = []] = Object.entries(tables).find(([name]) => name.startsWith("event_")) ?? [];
  for (const ledger of ledgers) {
    const own = (rows as unknown as LogRow[]).filter(({ stream }) => stream === ledger.place?.stream);
    const last = own.filter(({ frames }) => frames !== "").reduce((most, { seq }) => Math.max(most, seq), 0);
    await reach(ledger, last);
    for (const [seq, data] of eventsOf(own)) {
      if (ledger.texts.get(seq) !== data) {
        const what = ledger.texts.has(seq) ? "was received otherwise" : "was not received";
        tally.violate("lost", `${ledger.name}: event ${seq}, which the log holds, ${what}`);
      }
    }
  }
}

/** Returns what the object stores in which an event id was created. */
async function tablesOf(place: Place | undefined, homes: readonly SessionHome[], world: World) {
  for (const home of homes) {
    const { tables } = await world.storage(home);
    if (isOf(home, place, tables)) return tables;
  }
  return undefined;
}

async function reach(ledger: Ledger, seq: number): Promise<void> {
  const deadline = Date.now() + HANG_MS;
  while ((ledger.place?.seq ?? 0) < seq && Date.now() < deadline) await delay(10);
}

/** The complete events of one stream, with their numbers. */
function* eventsOf(rows: readonly LogRow[]): Iterable<[number, string]> {
  const sorted = rows.toSorted((a, b) => a.seq - b.seq || a.rank - b.rank);
  const text = sorted.map(({ frames }) => frames).join("");
  for (const [, number = "", data = ""] of text.matchAll(/^id: \S+-(\w+)\nevent: message\ndata: (.*)\n\n/gm)) {
    yield [Number.parseInt(number, 36), data];
  }
}
