/**
 * The script of one run as plain data. It is generated from a seed, so the seed is enough to repeat it; only the timing
 * of the machine differs.
 */
import { Random } from "./random.ts";

/** One step of a handler. */
export type Step =
  | { readonly kind: "say"; readonly count: number; readonly size: number; readonly turns: boolean }
  | { readonly kind: "pause"; readonly ms: number }
  | { readonly kind: "ask"; readonly what: "elicit" | "sample" | "roots" }
  | { readonly kind: "leave"; readonly retryMs: number }
  | { readonly kind: "touch" };

/** How one connection is read: it breaks after a number of bytes or milliseconds, or reading pauses for a while. */
export interface Reading {
  readonly afterBytes?: number;
  readonly afterMs?: number;
  readonly how: "fin" | "rst";
  readonly stallMs?: number;
}

export interface CallLane {
  readonly kind: "call";
  readonly atMs: number;
  /** Only JSON is accepted. */
  readonly json: boolean;
  readonly steps: readonly Step[];
  /** Milliseconds until questions are answered; undefined: they never are. */
  readonly answerMs?: number;
  readonly cancelMs?: number;
  /** One entry per connection, in order; the last connection is read to its end. */
  readonly readings: readonly Reading[];
}

/** A GET stream. */
export interface ListenLane {
  readonly kind: "listen";
  readonly atMs: number;
  readonly readings: readonly Reading[];
}

/** The client reports that its roots have changed, and the server sends this much in response. */
export interface NoteLane {
  readonly kind: "note";
  readonly atMs: number;
  readonly count: number;
  readonly size: number;
}

export type Lane = CallLane | ListenLane | NoteLane;

export interface SessionScript {
  readonly version: "2025-11-25" | "2025-06-18" | "2025-03-26";
  /** Sessions with limits so small that notifications are dropped. */
  readonly tight: boolean;
  readonly subscribes: boolean;
  readonly lanes: readonly Lane[];
  /** When DELETE is sent, in the middle of everything. */
  readonly deleteMs?: number;
  /** How the session ends. */
  readonly end: "delete" | "expire";
}

/** A client of HTTP+SSE, which has one stream and cannot resume it. */
export interface ReaderScript {
  readonly version: "2025-11-25" | "2025-06-18" | "2025-03-26" | "2024-11-05";
  readonly tight: boolean;
  readonly subscribes: boolean;
  readonly lanes: readonly CallLane[];
  /** Milliseconds until questions are answered; undefined: they never are. */
  readonly answerMs?: number;
  /** When and how it breaks its connection. */
  readonly cut?: { readonly atMs: number; readonly how: "fin" | "rst" };
  /** When and for how long it stops reading. */
  readonly stall?: { readonly atMs: number; readonly ms: number };
}

/** "deploy" and "rollback" change the build of the Worker and of its objects, each at another moment. */
export type Fault = "hibernate" | "close" | "abort" | "hub" | "kill" | "deploy" | "rollback";

export interface Script {
  readonly seed: number;
  readonly sessions: readonly SessionScript[];
  /** Clients of HTTP+SSE. */
  readonly readers: readonly ReaderScript[];
  /** Whether all sessions are in one object. */
  readonly shared: boolean;
  readonly faults: readonly { readonly atMs: number; readonly fault: Fault }[];
}

const LASTS_MS = 500;

export function scriptOf(seed: number): Script {
  const random = new Random(seed);
  const sessions = random.list(random.int(1, 2), () => sessionOf(random));
  const faults = random.list(
    random.pick([
      [2, 0],
      [5, 1],
      [3, 2],
      [1, 3],
    ]),
    () => ({
      atMs: random.int(10, LASTS_MS),
      fault: random.pick<Fault>([
        [3, "hibernate"],
        [2, "close"],
        [4, "abort"],
        [2, "hub"],
        [4, "kill"],
      ]),
    }),
  );
  // A separate generator, so that the script of a seed is still what it was before this part existed.
  const more = new Random(seed + 2 ** 30);
  const shared = more.chance(0.3);
  if (shared) sessions.push(...more.list(more.int(1, 2), () => sessionOf(more)));
  const readers = more.list(
    more.pick([
      [3, 0],
      [4, 1],
      [2, 2],
    ]),
    () => readerOf(more),
  );
  return { seed, sessions, readers, shared, faults: faults.toSorted((a, b) => a.atMs - b.atMs) };
}

function readerOf(random: Random): ReaderScript {
  const tight = random.chance(0.15);
  return {
    version: random.pick<ReaderScript["version"]>([
      [3, "2024-11-05"],
      [1, "2025-03-26"],
      [1, "2025-06-18"],
      [2, "2025-11-25"],
    ]),
    tight,
    subscribes: random.chance(0.5),
    lanes: random.list(random.int(1, 5), () => callOf(random, tight)),
    ...(random.chance(0.85) ? { answerMs: random.int(0, 150) } : {}),
    ...(random.chance(0.12) ? { cut: { atMs: random.int(0, LASTS_MS), how: random.chance(0.5) ? "fin" : "rst" } } : {}),
    ...(random.chance(0.25) ? { stall: { atMs: random.int(0, LASTS_MS), ms: random.size(20, 700) } } : {}),
  };
}

function sessionOf(random: Random): SessionScript {
  const tight = random.chance(0.12);
  const lanes: Lane[] = [
    ...random.list(random.int(1, 4), () => callOf(random, tight)),
    ...random.list(
      random.pick([
        [4, 0],
        [4, 1],
        [2, 2],
      ]),
      () => listenOf(random),
    ),
    ...random.list(
      random.pick([
        [5, 0],
        [3, 1],
        [2, 4],
      ]),
      () => noteOf(random),
    ),
  ];
  return {
    version: random.pick<SessionScript["version"]>([
      [8, "2025-11-25"],
      [1, "2025-06-18"],
      [1, "2025-03-26"],
    ]),
    tight,
    subscribes: random.chance(0.5),
    lanes,
    ...(random.chance(0.06) ? { deleteMs: random.int(20, LASTS_MS) } : {}),
    end: random.pick([
      [1, "delete"],
      [1, "expire"],
    ]),
  };
}

function callOf(random: Random, tight: boolean): CallLane {
  return {
    kind: "call",
    atMs: random.int(0, LASTS_MS / 2),
    json: random.chance(0.1),
    steps: random.list(random.int(1, 6), () => stepOf(random, tight)),
    ...(random.chance(0.85)
      ? {
          answerMs: random.pick([
            [3, 0],
            [2, random.int(1, 200)],
          ]),
        }
      : {}),
    ...(random.chance(0.12) ? { cancelMs: random.size(1, LASTS_MS) } : {}),
    readings: readingsOf(random, 500_000),
  };
}

function stepOf(random: Random, tight: boolean): Step {
  const say = (count: number, size: number): Step => ({ kind: "say", count, size, turns: random.chance(0.5) });
  return random.pick<() => Step>([
    [6, () => say(random.size(1, 40), random.size(1, 300))],
    [1, () => say(random.int(1, 30), random.size(1_000, 20_000))],
    [tight ? 4 : 0.7, () => say(random.int(1, 3), random.int(250_000, 600_000))],
    [tight ? 1 : 0.15, () => say(random.int(8, 14), 300_000)],
    [6, () => ({ kind: "pause", ms: random.size(1, 200) })],
    [
      2,
      () => ({
        kind: "ask",
        what: random.pick([
          [2, "elicit"],
          [1, "sample"],
          [1, "roots"],
        ]),
      }),
    ],
    [1, () => ({ kind: "leave", retryMs: random.int(0, 60) })],
    [1, () => ({ kind: "touch" })],
  ])();
}

function listenOf(random: Random): ListenLane {
  return { kind: "listen", atMs: random.int(0, LASTS_MS / 2), readings: readingsOf(random, 5_000) };
}

function noteOf(random: Random): NoteLane {
  return { kind: "note", atMs: random.int(0, LASTS_MS), count: random.size(1, 20), size: random.size(1, 1_000) };
}

function readingsOf(random: Random, bytesMax: number): Reading[] {
  const cuts = random.pick([
    [4, 0],
    [3, 1],
    [2, 2],
    [1, 4],
  ]);
  return random.list(cuts, () => {
    const cut = random.pick<() => Omit<Reading, "how">>([
      [1, () => ({ afterBytes: random.int(0, 120) })],
      [3, () => ({ afterBytes: random.size(20, 4_000) })],
      [2, () => ({ afterBytes: random.size(200, bytesMax) })],
      [2, () => ({ afterMs: random.int(0, 150) })],
    ])();
    const stall = cut.afterBytes !== undefined && random.chance(0.2) ? { stallMs: random.size(20, 700) } : {};
    return { ...cut, ...stall, how: random.chance(0.5) ? "fin" : "rst" };
  });
}
