/**
 * Simulates the hub with 1,000,000 listening clients and prints what it costs and how long a notification takes.
 *
 *   npm run simulate -- [clients] [streams of an isolate]
 *
 * The code that attaches streams and publishes is that of the package; objects, links and time are a model. What a
 * request, a call and a message cost in CPU was measured with `npm run scale`. How long messages travel is an
 * assumption: docs/scale.md states both.
 */
import { simulate } from "./simulate-of.ts";

const [clients = 1_000_000, perIsolate = 500] = process.argv.slice(2).map(Number);

/** Milliseconds. A message travels 10 to 50 ms. */
const COSTS = {
  hop: (random: () => number) => 10 + 40 * random(),
  request: 0.1,
  send: 0.07,
  call: 0.05,
  write: 10,
  receive: 0.15,
};

/** Dollars each, from the published prices of Workers Paid, after the included amounts. */
const PRICE = {
  workerRequest: 0.3 / 1e6,
  workerCpuMs: 0.02 / 1e6,
  objectRequest: 0.15 / 1e6,
  /** 128 MB for a second. */
  objectSecond: 1.6 / 1e6,
  rowWritten: 1 / 1e6,
};
/** Messages from a Worker to an object that are billed as one request. */
const MESSAGES_EACH = 20;
/** Heartbeats of a stream in an hour, and the CPU of each. */
const BEATS = 3_600 / 25;
const BEAT_CPU_MS = 0.05;

const { objects, used, attaching, publications } = await simulate({
  clients,
  perIsolate,
  attachesPerSecond: 1_000,
  streamsMax: 10_000,
  publications: 3,
  costs: COSTS,
  onProgress: (attached) => console.log(`${attached.toLocaleString("en")} streams are open`),
});

const dollars = (amount: number) => `$${amount < 0.01 ? amount.toPrecision(2) : amount.toFixed(3)}`;
const requests = attaching.dials + attaching.grows;
const opening =
  clients * PRICE.workerRequest +
  (requests + attaching.messages / MESSAGES_EACH) * PRICE.objectRequest +
  (attaching.activeMs / 1_000) * PRICE.objectSecond +
  attaching.rowsWritten * PRICE.rowWritten;
console.log(
  `${clients.toLocaleString("en")} streams are open at ${used} of ${objects} objects, at most ${attaching.mostSockets} at one.`,
);
console.log(
  `Opening them took ${(requests / clients).toFixed(3)} requests each (${attaching.grows} to grow) and ${attaching.rowsWritten} rows: ${dollars(opening)}.`,
);
console.log(
  `An hour in which nothing happens: ${dollars(clients * BEATS * BEAT_CPU_MS * PRICE.workerCpuMs)} for heartbeats of Workers; objects hibernate.`,
);
for (const { medianMs, lastMs, heard, counts } of publications) {
  const cost =
    PRICE.workerRequest +
    counts.publishes * PRICE.objectRequest +
    (counts.activeMs / 1_000) * PRICE.objectSecond +
    heard * COSTS.receive * PRICE.workerCpuMs;
  const idle = used * 10 * PRICE.objectSecond;
  console.log(
    `A notification reached ${heard.toLocaleString("en")} streams, the median after ${medianMs.toFixed(0)} ms and the last after ${lastMs.toFixed(0)} ms; ${counts.publishes} requests, ${(counts.activeMs / 1_000).toFixed(1)} s of objects: ${dollars(cost)}, and ${dollars(idle)} if the 10 s until objects hibernate are billed.`,
  );
  if (heard < clients) process.exitCode = 1;
}
