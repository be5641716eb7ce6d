import { expect, test } from "vitest";
import { resolveLimits } from "../../src/core/limits.ts";
import { EventStream } from "../../src/http/event-stream.ts";

test("frames held before the stream opens keep to streamBufferBytesMax: news are dropped, results never", async () => {
  const stream = new EventStream(resolveLimits({ streamBufferBytesMax: 10 }));
  for (let at = 0; at < 5; at++) stream.write(`new${at}`, true);
  stream.write("result");
  stream.write("late", true);
  stream.end();
  expect(await stream.respond().text()).toBe("new0new1result");
});

test("nothing goes into a frame that comes in parts: heartbeats are left out, hints wait", async () => {
  const stream = new EventStream(resolveLimits({ heartbeatMs: 1 }));
  const text = stream.respond().text();
  stream.write("data: one ");
  stream.insert("data: hint\n\n");
  await new Promise((resolve) => setTimeout(resolve, 20));
  stream.write("event\n\n");
  stream.end();
  expect(await text).toMatch(/^(: keepalive\n\n)+data: one event\n\ndata: hint\n\n(: keepalive\n\n)*$/);
});
