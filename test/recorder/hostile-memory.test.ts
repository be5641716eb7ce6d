// @module-tag long
/** Clients and servers cannot exhaust the memory of the recorder, whatever they send. */
import { connect } from "node:net";
import { expect, test } from "vitest";
import { heldBytes } from "../../src/node/record/proxy/body-reader.ts";
import type { TailEvent } from "../../src/recorder/tail/tail-event.ts";
import { until } from "../../src/testing/until.ts";
import { CALL, closers, createRecorder, events, exchange, json, RESULT, start } from "./behind-proxy.ts";

test("20,000 exchanges that do not end, with their objects, use a limited amount of memory", () => {
  const recorder = createRecorder();
  const event = (trace: string, span: string | undefined): TailEvent => ({
    invocation: `${trace}.${span ?? "root"}`,
    trace,
    ...(span === undefined ? {} : { span }),
    sequence: 0,
    atMs: 1,
    event: {
      type: "onset",
      spanId: `${trace}s`,
      isObject: span !== undefined,
      cause: "fetch",
      objectId: "f".repeat(64),
      exchange: trace,
    },
  });
  for (let at = 0; at < 20_000; at += 1) {
    const id = String(at);
    const wire = recorder.begin({ atMs: at, method: "POST", path: "/mcp", headers: [] }, { exchangeId: id });
    wire.requestBody({ json: JSON.parse(CALL.replace("{}", `{"text":"${"x".repeat(1_000)}"}`)), characters: 1_100 });
    recorder.takeTail([event(id, undefined), event(id, `${id}s`)]);
  }
  expect(recorder.size.entries).toBeLessThanOrEqual(10_000);
  expect(recorder.size.characters).toBeLessThanOrEqual(64 * 1024 * 1024);
  // Late events of evicted entries.
  recorder.takeTail([{ ...event("0", undefined), event: { type: "outcome", outcome: "ok" } }]);
  expect(recorder.entry("1")).toBeUndefined();
});

test("a stream of 40 MB is forwarded, and its entry stores a part, the result and the number of omitted messages", async () => {
  const text = "x".repeat(1_000);
  const one = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"${text}"}}`;
  const entry = await exchange(CALL, events(...Array.from({ length: 40_000 }, () => one), RESULT));
  expect(entry.outcome).toBe("ok");
  expect(JSON.stringify(entry).length).toBeLessThan(5 * 1024 * 1024);
  expect(entry.messages.length + (entry.omitted?.messages ?? 0)).toBe(40_002);
});

test("an event without an end and a body of 20 MB are forwarded but not stored", async () => {
  const endless = { type: "text/event-stream", body: `data: ${"x".repeat(20_000_000)}` };
  expect(JSON.stringify(await exchange(CALL, endless)).length).toBeLessThan(2_000);
  const large = CALL.replace("{}", `{"text":"${"x".repeat(20_000_000)}"}`);
  expect(JSON.stringify(await exchange(large, json(RESULT))).length).toBeLessThan(2_000);
});

test("bodies that do not end share a limited amount of memory, and release it when their connections are lost", async () => {
  const { port } = await start(json(RESULT));
  const head =
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n";
  const sockets = Array.from({ length: 40 }, () => connect({ host: "127.0.0.1", port }));
  closers.push(() => sockets.map((socket) => socket.destroy()));
  for (const socket of sockets) socket.on("error", () => undefined).write(head + "[".repeat(3_000_000));
  await until("the bodies", () => sockets.every(({ writableLength }) => writableLength === 0));
  await until("what is held", () => heldBytes() > 32 * 1024 * 1024);
  expect(heldBytes()).toBeLessThanOrEqual(64 * 1024 * 1024);
  for (const socket of sockets) socket.destroy();
  await until("the release", () => heldBytes() === 0);
});
