/** Simulates a hub with very many listening clients: `HubObject` and `Placement` run in a model of the platform. */
import { HubModel, type ModelCosts, type ModelCounts, ModelIsolate } from "./hub-model.ts";

export interface SimulationOptions {
  readonly clients: number;
  /** Streams that one isolate holds. */
  readonly perIsolate: number;
  readonly attachesPerSecond: number;
  readonly streamsMax: number;
  readonly publications: number;
  readonly costs: ModelCosts;
  /** Called with the number of streams so far. */
  readonly onProgress?: (attached: number) => void;
}

export interface Publication {
  readonly medianMs: number;
  readonly lastMs: number;
  /** Streams that were notified. */
  readonly heard: number;
  readonly counts: ModelCounts;
}

export interface Simulation {
  /** Objects of the shard, and those that have streams. */
  readonly objects: number;
  readonly used: number;
  /** What attaching cost, of all streams together. */
  readonly attaching: ModelCounts;
  readonly publications: readonly Publication[];
}

const FILTER = { lists: ["tools"], uris: [] } as const;
/** Between publications nothing happens. */
const PAUSE_MS = 60_000;

export async function simulate(options: SimulationOptions): Promise<Simulation> {
  const { clients, perIsolate, attachesPerSecond, streamsMax, publications, costs, onProgress } = options;
  const model = new HubModel({ ...costs, seed: 1, streamsMax, objectsMax: 512 });
  const isolates = Array.from({ length: Math.ceil(clients / perIsolate) }, () => new ModelIsolate(model));
  const published: Publication[] = [];
  const { clock } = model;
  let [attached, attaching, heard]: [number, ModelCounts, number[]] = [0, takeCounts(model), []];

  const attach = async (at: number): Promise<void> => {
    await isolates[at % isolates.length]?.listen(FILTER, (atMs) => heard.push(atMs));
    attached += 1;
    if (attached % 100_000 === 0) onProgress?.(attached);
  };
  const publish = async (): Promise<void> => {
    takeCounts(model);
    heard = [];
    const beganMs = clock.nowMs;
    await new ModelIsolate(model).publish([{ kind: "tools" }]);
    await clock.pause(PAUSE_MS);
    heard.sort((a, b) => a - b);
    published.push({
      medianMs: (heard[heard.length >> 1] ?? Number.NaN) - beganMs,
      lastMs: (heard.at(-1) ?? Number.NaN) - beganMs,
      heard: heard.length,
      counts: takeCounts(model),
    });
  };
  const scenario = async (): Promise<void> => {
    const all: Promise<void>[] = [];
    for (let at = 0; at < clients; at += 1) {
      if (at % 100 === 0) await clock.until((at / attachesPerSecond) * 1_000);
      all.push(attach(at));
    }
    await Promise.all(all);
    attaching = takeCounts(model);
    for (let at = 0; at < publications; at += 1) await publish();
  };
  let failure: unknown;
  await model.run(() => {
    scenario().catch((error: unknown) => {
      failure = error;
    });
  });
  if (failure) throw failure;
  const used = [...model.objects.values()].filter(({ sockets }) => sockets.size > 0).length;
  return { objects: model.objects.size, used, attaching, publications: published };
}

/** Returns the counts since the last call. */
function takeCounts(model: HubModel): ModelCounts {
  const counts = { ...model.counts };
  const { mostSockets } = counts;
  Object.assign(model.counts, { dials: 0, grows: 0, publishes: 0, messages: 0, rowsWritten: 0, activeMs: 0 });
  return { ...counts, mostSockets };
}
