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
