import { expect, test } from "vitest";
import { simulate } from "../../scripts/simulate-of.ts";

const costs = { hop: () => 20, request: 0.1, send: 0.02, call: 0.05, write: 10, receive: 0.2 };

test("a simulated hub grows as it does for a million clients: no object has too many streams, and each client is notified", async () => {
  const options = { clients: 3_000, perIsolate: 50, attachesPerSecond: 1_000, streamsMax: 100, publications: 2, costs };
  const { objects, attaching, publications } = await simulate(options);
  // Twice as many as needed, or twice as many again.
  expect([32, 64]).toContain(objects);
  expect(attaching.mostSockets).toBeLessThanOrEqual(100);
  expect(attaching.messages).toBe(3_000);
  expect(attaching.rowsWritten).toBe(Math.log2(objects));
  for (const { heard, counts, medianMs, lastMs } of publications) {
    expect(heard).toBe(3_000);
    expect(counts).toMatchObject({ publishes: objects, dials: 0, grows: 0, messages: 0, rowsWritten: 0 });
    // To the root, to a branch and to the Worker, at the least.
    expect(medianMs).toBeGreaterThan(60);
    expect(lastMs).toBeGreaterThanOrEqual(medianMs);
  }
});
