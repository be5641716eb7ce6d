/** Calculates what very many listening streams cost, from what `npm run long -- scale` measured and from published prices. */

/** CPU times in milliseconds, rounded up from measurements on workerd, and the time that a message travels. */
const MS = {
  /** The time in which an object sends one message. Several runs measured 0.05 to 0.08. */
  send: 0.07,
  /** The time in which a Worker passes one message on to its client. */
  receive: 0.15,
  /** The estimated time in which a Worker writes one heartbeat. */
  beat: 0.05,
  /** The time that a message travels, assumed to be 10 to 50 ms if clients, Workers and objects are on one continent. */
  travel: { mean: 30, most: 50 },
};

/** Prices of Workers Paid in dollars, as of November 2026, after the included amounts. */
const PRICE = {
  workerRequest: 0.3 / 1e6,
  workerCpuMs: 0.02 / 1e6,
  objectRequest: 0.15 / 1e6,
  /** The price of an object that is in memory for a second, with 128 MB. */
  objectSecond: 1.6 / 1e6,
  rowWritten: 1 / 1e6,
};

/** Requests to objects for each stream that attaches. The hub needed 1.035 for 1,000,000 streams in 2,000 isolates. */
const REQUESTS_PER_STREAM = 1.04;
/** The number of messages from a Worker to an object that are billed as one request. Each stream sends one message. */
const MESSAGES_PER_REQUEST = 20;
const HEARTBEAT_SECONDS = 25;
/** The idle time after which an object hibernates. */
const SECONDS_UNTIL_HIBERNATION = 10;

export interface ListenersCost {
  readonly objects: number;
  /** The time in milliseconds until the median stream, and until the last one, is notified. */
  readonly medianMs: number;
  readonly lastMs: number;
  /** The costs in dollars: for opening all streams, for one notification, and for an hour without notifications. */
  readonly opening: number;
  readonly notification: number;
  readonly idleHour: number;
}

/** Returns what `streams` cost if an object takes at most `streamsMax` of them and an isolate holds `perIsolate`. */
export function listenersCost(streams: number, streamsMax = 10_000, perIsolate = 500): ListenersCost {
  // A full hub doubles the number of its objects. The first object passes each notification on to the others.
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
