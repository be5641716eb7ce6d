/** Calculates what very many listening streams cost, from what `npm run long -- scale` measured and from published prices. */

/** CPU in milliseconds, rounded up from what was measured on workerd, and the time that a message travels. */
const MS = {
  /** An object sends one message: 0.05 to 0.08 in several runs. */
  send: 0.07,
  /** A Worker passes one message on to its client. */
  receive: 0.15,
  /** A Worker writes one heartbeat. An estimate. */
  beat: 0.05,
  /** A message travels 10 to 50 ms. An assumption: clients, Workers and objects are on one continent. */
  travel: { mean: 30, most: 50 },
};

/** Dollars, from the prices of Workers Paid of November 2026 after the included amounts. */
const PRICE = {
  workerRequest: 0.3 / 1e6,
  workerCpuMs: 0.02 / 1e6,
  objectRequest: 0.15 / 1e6,
  /** 128 MB for a second. */
  objectSecond: 1.6 / 1e6,
  rowWritten: 1 / 1e6,
};

/** Requests to objects for each stream that attaches: the code of the hub needed 1.035 for 1,000,000 streams in 2,000 isolates. */
const REQUESTS_PER_STREAM = 1.04;
/** Messages from a Worker to an object that are billed as one request. Each stream sends one. */
const MESSAGES_PER_REQUEST = 20;
const HEARTBEAT_SECONDS = 25;
/** An object that has been idle for this time hibernates. */
const SECONDS_UNTIL_HIBERNATION = 10;

export interface ListenersCost {
  readonly objects: number;
  /** The time in milliseconds until the median stream, and until the last one, is notified. */
  readonly medianMs: number;
  readonly lastMs: number;
  /** Dollars: to open all streams, for one notification, and for an hour in which nothing happens. */
  readonly opening: number;
  readonly notification: number;
  readonly idleHour: number;
}

/** Returns what `streams` cost if an object takes at most `streamsMax` of them and an isolate holds `perIsolate`. */
export function listenersCost(streams: number, streamsMax = 10_000, perIsolate = 500): ListenersCost {
  // A hub that is full doubles its objects. The first one passes a notification on to the others.
  const objects = 2 ** Math.max(0, Math.ceil(Math.log2(streams / streamsMax)));
  const hops = objects > 1 ? 3 : 2;
  const sendingMs = (streams / objects) * MS.send;
  const objectRequests = streams * (REQUESTS_PER_STREAM + 1 / MESSAGES_PER_REQUEST);
  const objectSeconds = (streams * MS.send) / 1_000 + objects * SECONDS_UNTIL_HIBERNATION;
  return {
    objects,
    medianMs: hops * MS.travel.mean + sendingMs / 2,
    lastMs: hops * MS.travel.most + sendingMs + Math.min(streams, perIsolate) * MS.receive,
    opening:
      streams * PRICE.workerRequest + objectRequests * PRICE.objectRequest + Math.log2(objects) * PRICE.rowWritten,
    notification:
      PRICE.workerRequest +
      objects * PRICE.objectRequest +
      objectSeconds * PRICE.objectSecond +
      streams * MS.receive * PRICE.workerCpuMs,
    idleHour: streams * (3_600 / HEARTBEAT_SECONDS) * MS.beat * PRICE.workerCpuMs,
  };
}
