import { afterEach, expect, test, vi } from "vitest";
import { EventStream } from "../../src/http/event-stream.ts";
import { resolveHttpLimits } from "../../src/http/response-times.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("frames held before the stream opens are limited by streamBufferBytesMax: notifications are dropped, but results are not", async () => {
  const stream = new EventStream(resolveHttpLimits({ limits: { streamBufferBytesMax: 10 } }));
  for (let at = 0; at < 5; at++) stream.write(`new${at}`, true);
  stream.write("result");
  stream.write("late", true);
  stream.end();
  expect(await stream.respond().text()).toBe("new0new1result");
});

test("nothing is inserted into a frame that arrives in parts: heartbeats are skipped, hints wait", async () => {
  const stream = new EventStream(resolveHttpLimits({ heartbeatMs: 1 }));
  const text = stream.respond().text();
  stream.write("data: one ");
  stream.insert("data: hint\n\n");
  await new Promise((resolve) => setTimeout(resolve, 20));
  stream.write("event\n\n");
  stream.end();
  expect(await text).toMatch(/^(: keepalive\n\n)+data: one event\n\ndata: hint\n\n(: keepalive\n\n)*$/);
});

test("while a reader does not read, one frame per changed subject is kept when streamBufferBytesMax is exceeded", async () => {
  const max = 1_000;
  const stream = new EventStream(resolveHttpLimits({ limits: { streamBufferBytesMax: max } }));
  const body = stream.respond().body as ReadableStream<Uint8Array>;
  const [log, dropped] = [`data: ${"x".repeat(90)}\n\n`, "data: dropped\n\n"];
  const changes = ["data: tools\n\n", "data: a\n\n", "data: b\n\n"];
  for (let times = 0; times < 1_000; times += 1) {
    stream.notify(log, "log", dropped);
    for (const change of changes) stream.notify(change);
  }
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const expected = new RegExp(`(${[dropped, ...changes].join("|")}){4}$`);
  while (!expected.test(text)) text += (await reader.read()).value ?? "";
  expect(text.length).toBeLessThan(max + log.length + dropped.length + changes.join("").length);
  expect(text.split(dropped)).toHaveLength(2);
  // After the reader has caught up, everything is sent again.
  stream.notify(log, "log", dropped);
  expect((await reader.read()).value).toBe(log);
  stream.end();
});

test("the stream of a client that reads nothing for longer than slowReaderMs fails", async () => {
  vi.useFakeTimers();
  const limits = resolveHttpLimits({ heartbeatMs: 10, slowReaderMs: 100, limits: { streamBufferBytesMax: 10 } });
  const stream = new EventStream(limits);
  const { body } = stream.respond();
  stream.write(`data: ${"x".repeat(100)}\n\n`);
  vi.advanceTimersByTime(100);
  expect(stream.signal.aborted).toBe(false);
  vi.advanceTimersByTime(20);
  expect(stream.signal.aborted).toBe(true);
  await expect(body?.getReader().read()).rejects.toThrow("The client has stopped reading.");
});

test("the stream of a client that reads nothing fails although its buffer is not full", async () => {
  vi.useFakeTimers();
  const limits = resolveHttpLimits({ heartbeatMs: 10, slowReaderMs: 100, limits: { streamBufferBytesMax: 10_000 } });
  const stream = new EventStream(limits);
  stream.respond();
  stream.write("data: not read\n\n");
  vi.advanceTimersByTime(120);
  expect(stream.signal.aborted).toBe(true);
});

test("the stream of a client that has read everything does not fail because of recently written frames", async () => {
  vi.useFakeTimers();
  const stream = new EventStream(resolveHttpLimits({ heartbeatMs: 10, slowReaderMs: 100 }));
  const reader = stream.respond().body?.pipeThrough(new TextDecoderStream()).getReader();
  // No heartbeat is written between the parts of a frame.
  stream.write("data: first part");
  let text = "";
  while (!text.endsWith("part")) text += (await reader?.read())?.value;
  vi.advanceTimersByTime(200);
  stream.write("\n\n");
  vi.advanceTimersByTime(10);
  expect(stream.signal.aborted).toBe(false);
  stream.end();
});

test("a stream that has ended does not send heartbeats or accept frames", async () => {
  vi.useFakeTimers();
  const stream = new EventStream(resolveHttpLimits({}));
  const text = stream.respond().text();
  stream.write("data: last\n\n");
  stream.end();
  expect(vi.getTimerCount()).toBe(0);
  stream.write("data: late\n\n");
  expect(await text).toBe(": keepalive\n\ndata: last\n\n");
});
