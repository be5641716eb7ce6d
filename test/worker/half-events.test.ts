// @module-tag long
/** A part of an event was sent, and the rest of it was deleted from the log before its reader could take it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { eventsOf, newKey, Session } from "../conformance/support.ts";
import type { Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { ModernClient, Reading, readAnswer } from "./client.ts";

let worker: TestWorker;

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/durable.ts",
    objects: Object.fromEntries(
      ["Plain", "Small", "Full", "Brief", "Idle", "Shared", "Large", "Hasty", "Placed"].map((name) => [
        name.toUpperCase(),
        `${name}Object`,
      ]),
    ),
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

/** Whether the object waits for its reader within an event. */
async function isWithinEvent(): Promise<boolean> {
  const objects = (await (await fetch(worker.url("/look/LargeObject"))).json()) as { sockets: Members[] }[];
  const places = objects.flatMap(({ sockets }) => sockets.map(({ behind }) => behind as { rank: number } | undefined));
  return places.some((place) => place !== undefined && place.rank < 0);
}

test("two parts of different events are not joined: the stream ends, and its client resumes before the event", async () => {
  const session = await Session.open(worker.url("/large/mcp"));
  const key = newKey();
  // More than the buffers of the connection hold.
  const response = await session.call("hold", { key, events: 2, size: 12_000_000 });
  await until("a part of the first event was sent", isWithinEvent);
  // Deletes progress that is older than progressRetentionMs, except for the newest event of a stream.
  await worker.advance(61_000);
  await readAnswer(new ModernClient(worker.url("/plain/mcp")).call("release", { key }));
  const reading = new Reading(response);
  await reading.has("the end", ({ isOver }) => isOver);
  expect(reading.messages).toEqual([]);
  const again = await session.get(eventsOf(reading.raw)[0]?.id);
  expect((await again.end()).messages).toMatchObject([
    { params: { logger: "mcp-edge", data: expect.stringMatching(/^1 earlier/) } },
    { params: { progress: 2 } },
    { result: { content: [{ text: key }] } },
  ]);
});
