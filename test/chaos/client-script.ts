/** The script of one run with our own client, generated from a seed. */
import { Random } from "./random.ts";

/** One step of the handler, after its effect. */
export type PayStep =
  | { readonly kind: "say"; readonly count: number; readonly size: number }
  | { readonly kind: "pause"; readonly ms: number }
  | { readonly kind: "leave"; readonly retryMs: number };

export interface PayLane {
  readonly atMs: number;
  readonly steps: readonly PayStep[];
}

export interface ClientScript {
  readonly version: "2026-07-28" | "2025-11-25" | "2025-06-18" | "2025-03-26";
  /** Whether it listens to changes of the tools. */
  readonly listens: boolean;
  readonly calls: readonly PayLane[];
}

/** What happens to connections, objects and the process. */
export type ClientFault = "cut" | "refuse" | "bytes" | "hibernate" | "close" | "abort" | "kill";

export interface ClientsScript {
  readonly seed: number;
  readonly clients: readonly ClientScript[];
  readonly faults: readonly { readonly atMs: number; readonly fault: ClientFault; readonly amount: number }[];
}

const LASTS_MS = 600;

export function clientsScriptOf(seed: number): ClientsScript {
  const random = new Random(seed + 2 ** 29);
  const clients = random.list(random.int(1, 3), () => clientOf(random));
  const faults = random.list(random.int(0, 4), () => ({
    atMs: random.int(0, LASTS_MS),
    fault: random.pick<ClientFault>([
      [6, "cut"],
      [2, "refuse"],
      [3, "bytes"],
      [2, "hibernate"],
      [2, "close"],
      [3, "abort"],
      [2, "kill"],
    ]),
    /** Bytes or milliseconds, depending on the fault. */
    amount: random.size(10, 1_500),
  }));
  return { seed, clients, faults: faults.toSorted((a, b) => a.atMs - b.atMs) };
}

function clientOf(random: Random): ClientScript {
  return {
    version: random.pick<ClientScript["version"]>([
      [5, "2026-07-28"],
      [4, "2025-11-25"],
      [1, "2025-06-18"],
      [1, "2025-03-26"],
    ]),
    listens: random.chance(0.4),
    calls: random.list(random.int(1, 4), () => ({
      atMs: random.int(0, LASTS_MS / 2),
      steps: random.list(random.int(0, 5), () => stepOf(random)),
    })),
  };
}

function stepOf(random: Random): PayStep {
  return random.pick<() => PayStep>([
    [4, () => ({ kind: "say", count: random.size(1, 20), size: random.size(1, 300) })],
    [5, () => ({ kind: "pause", ms: random.size(1, 250) })],
    [1, () => ({ kind: "leave", retryMs: random.int(0, 60) })],
  ])();
}
