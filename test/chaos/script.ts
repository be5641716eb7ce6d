/**
 * What happens in one run, as plain data: made from a seed, so that the seed is all it takes to have it again. Only what
 * the machine does in between differs.
 */
import { Random } from "./random.ts";

/** What a handler does. */
export type Step =
  | { readonly kind: "say"; readonly count: number; readonly size: number; readonly turns: boolean }
  | { readonly kind: "pause"; readonly ms: number }
  | { readonly kind: "ask"; readonly what: "elicit" | "sample" | "roots" }
  | { readonly kind: "leave"; readonly retryMs: number }
  | { readonly kind: "touch" };

/** How one connection is read: it breaks after so many bytes, or so many milliseconds, or it is not read for a while. */
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
  /** Milliseconds that answers to questions take; none: they are never given. */
  readonly answerMs?: number;
  readonly cancelMs?: number;
  /** Of its connections, one after the other; the last one is read to its end. */
  readonly readings: readonly Reading[];
}

/** A GET stream. */
export interface ListenLane {
  readonly kind: "listen";
  readonly atMs: number;
  readonly readings: readonly Reading[];
}

/** The client says that its roots have changed; the server has so much to say to that. */
export interface NoteLane {
  readonly kind: "note";
  readonly atMs: number;
  readonly count: number;
  readonly size: number;
}

export type Lane = CallLane | ListenLane | NoteLane;

export interface SessionScript {
  readonly version: "2025-11-25" | "2025-06-18" | "2025-03-26";
  /** Sessions with so little room that news are forgotten. */
  readonly tight: boolean;
  readonly subscribes: boolean;
  readonly lanes: readonly Lane[];
  /** DELETE in the middle of it all. */
  readonly deleteMs?: number;
  /** What becomes of it in the end. */
  readonly end: "delete" | "expire";
}

/** A client of HTTP+SSE, which has one stream and cannot resume it. */
export interface ReaderScript {
  readonly version: "2025-11-25" | "2025-06-18" | "2025-03-26" | "2024-11-05";
  readonly tight: boolean;
  readonly subscribes: boolean;
  readonly lanes: readonly CallLane[];
  /** Milliseconds that answers to questions take; none: they are never given. */
  readonly answerMs?: number;
  /** It breaks its connection. */
  readonly cut?: { readonly atMs: number; readonly how: "fin" | "rst" };
  /** It does not read for a while. */
  readonly stall?: { readonly atMs: number; readonly ms: number };
}

export type Fault = "hibernate" | "close" | "abort" | "hub" | "kill";

export interface Script {
  readonly seed: number;
  readonly sessions: readonly SessionScript[];
  /** Sessions of HTTP+SSE clients. */
  readonly readers: readonly ReaderScript[];
  /** Whether all sessions live in one object. */
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
  // Numbers of their own, so that what came of a seed before these were there comes of it still.
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
