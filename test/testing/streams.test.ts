import { createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CutHow, openStream, startProxy, startWorker, type TestWorker, until } from "../../src/testing/index.ts";

/** A Worker that streams, and reports which of its streams were cancelled. */
const source = `
const cancelled = [];
const encoder = new TextEncoder();
export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const key = searchParams.get("key");
    if (pathname === "/cancelled") return Response.json(cancelled);
    if (pathname === "/json") return Response.json({ method: request.method, sent: await request.text(), type: request.headers.get("content-type") });
    if (pathname === "/plain") return new Response("x".repeat(1000), { headers: { "content-length": "1000" } });
    if (pathname === "/events") {
      return new Response(": hello\\n\\nretry: 1500\\n\\nid: a-1\\ndata: {\\"n\\":1}\\n\\nevent: note\\nid: a-2\\ndata: no JSON\\n\\nid: a-3\\ndata:\\n\\n", { headers: { "content-type": "text/event-stream" } });
    }
    // Without end: as much as is taken.
    let n = 0;
    const body = new ReadableStream({
      async pull(controller) {
        n += 1;
        controller.enqueue(encoder.encode("id: " + n + "\\ndata: " + JSON.stringify({ n, filler: "x".repeat(Number(searchParams.get("filler") ?? 0)) }) + "\\n\\n"));
        if (searchParams.has("slow")) await new Promise((resolve) => setTimeout(resolve, 5));
      },
      cancel() { cancelled.push(key); },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  },
};`;

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: { source }, compatibilityFlags: ["enable_request_signal"] });
});
afterAll(() => worker.stop());

async function isCancelled(key: string): Promise<boolean> {
  return ((await (await fetch(worker.url("/cancelled"))).json()) as string[]).includes(key);
}

const HOW: readonly CutHow[] = ["fin", "rst"];

describe("openStream", () => {
  test("collects events, comments, ids, messages and retry", async () => {
    const stream = await openStream(worker.url("/events"));
    expect(await stream.end()).toBe("complete");
    expect(stream).toMatchObject({ status: 200, retryMs: 1500, comments: ["hello"], ids: ["a-1", "a-2", "a-3"] });
    expect(stream.headers["content-type"]).toBe("text/event-stream");
    expect(stream.messages).toEqual([{ n: 1 }, "no JSON"]);
    expect(stream.events[1]).toEqual({ id: "a-2", event: "note", data: "no JSON" });
    expect(stream.bytes).toBe(Buffer.byteLength(stream.raw));
  });

  test("sends the given body and reads a JSON body as one message", async () => {
    const stream = await openStream(worker.url("/json"), { body: { a: 1 } });
    await stream.end();
    expect(stream.messages).toEqual([{ method: "POST", sent: '{"a":1}', type: "application/json" }]);
    const other = await openStream(worker.url("/json"), {
      method: "PUT",
      headers: { "Content-Type": "text/plain" },
      body: "b",
    });
    await other.end();
    expect(other.messages).toEqual([{ method: "PUT", sent: "b", type: "text/plain" }]);
  });

  test.each(HOW)("cuts after the given number of bytes by %s, and notifies the Worker", async (cutHow) => {
    const key = `after-${cutHow}`;
    for (const cutAfterBytes of [1, 30, 500]) {
      const stream = await openStream(worker.url(`/endless?slow&key=${key}`), { cutAfterBytes, cutHow });
      expect(await stream.end()).toBe("cut");
      expect(stream.bytes).toBe(cutAfterBytes);
      expect(Buffer.byteLength(stream.raw)).toBe(cutAfterBytes);
    }
    await until("the Worker sees the cut", () => isCancelled(key));
  });

  test.each(HOW)("cuts on request by %s, and notifies the Worker", async (how) => {
    const key = `now-${how}`;
    const stream = await openStream(worker.url(`/endless?slow&key=${key}`));
    await stream.waitFor("two events", ({ ids }) => ids.includes("2"));
    stream.cut(how);
    expect(stream.ended).toBe("cut");
    await until("the Worker sees the cut", () => isCancelled(key));
  });

  test("cuts a body with a length as well", async () => {
    const stream = await openStream(worker.url("/plain"), { cutAfterBytes: 10 });
    expect(await stream.end()).toBe("cut");
    expect(stream.raw).toBe("x".repeat(10));
  });

  test("reports what has arrived when the awaited event can no longer arrive", async () => {
    const stream = await openStream(worker.url("/events"));
    await expect(stream.waitFor("a fourth event", ({ events }) => events.length === 4)).rejects.toThrow(
      /the stream ended \(complete\)\): a fourth event\..*a-3/s,
    );
  });

  test("gives a slow reader nothing while it does not read, and the rest when it reads again", async () => {
    const stream = await openStream(worker.url("/endless?key=slow&filler=1000"), { paused: true });
    expect(stream.bytes).toBe(0);
    stream.resume();
    await stream.waitFor("some", ({ bytes }) => bytes > 100_000);
    stream.pause();
    const { bytes } = stream;
    await fetch(worker.url("/cancelled"));
    expect(stream.bytes).toBe(bytes);
    stream.resume();
    await stream.waitFor("more", (all) => all.bytes > 2 * bytes);
    expect(stream.ids).toEqual(stream.ids.map((_, index) => `${index + 1}`));
    stream.cut();
  });
});

/** How a server sees a client that does not read. */
test("a slow reader makes the server wait, because its writes are no longer accepted", { tags: "long" }, async () => {
  const accepted = Promise.withResolvers<Socket>();
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => accepted.resolve(socket));
  });
  await listening(server);
  const { port } = server.address() as { port: number };
  const opening = openStream(`http://127.0.0.1:${port}/`, { paused: true });
  const socket = await accepted.promise;
  socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n");
  const stream = await opening;
  // More than the buffers of any system hold.
  const megabyte = Buffer.alloc(1 << 20, 120);
  for (let i = 0; i < 64; i += 1) socket.write(megabyte);
  await until("buffers are full", () => socket.writableNeedDrain && socket.bytesWritten > 1 << 20);
  expect(socket.writableLength).toBeGreaterThan(0);
  stream.resume();
  await stream.waitFor("all", ({ bytes }) => bytes === 64 << 20);
  expect(socket.writableLength).toBe(0);
  socket.destroy();
  server.close();
});

describe("startProxy", () => {
  test("passes on requests and responses", async () => {
    await using proxy = await startProxy(worker.origin);
    const answer = await fetch(proxy.url("/json"), { method: "POST", body: "through" });
    expect(await answer.json()).toMatchObject({ sent: "through" });
    expect(proxy.accepted).toBe(1);
  });

  test.each(HOW)("cuts all connections at once, by %s, on both sides", async (how) => {
    await using proxy = await startProxy(worker.origin);
    const keys = ["one", "other"].map((name) => `proxy-${name}-${how}`);
    const streams = await Promise.all(keys.map((key) => openStream(proxy.url(`/endless?slow&key=${key}`))));
    expect(proxy.connections).toBe(2);
    expect(proxy.cut(how)).toBe(2);
    for (const stream of streams) expect(await stream.end()).toBe("lost");
    for (const key of keys) await until("the Worker sees the cut", () => isCancelled(key));
    await until("both are closed", () => proxy.connections === 0);
    expect((await fetch(proxy.url("/json"))).status).toBe(200);
  });

  test.each(HOW)("cuts each connection by %s after a number of bytes, including headers", async (how) => {
    await using proxy = await startProxy(worker.origin);
    proxy.cutAfter(400, how);
    const stream = await openStream(proxy.url(`/endless?slow&key=bytes-${how}`));
    expect(await stream.end()).toBe("lost");
    expect(stream.bytes).toBeLessThan(400);
    proxy.cutAfter(undefined);
    expect((await fetch(proxy.url("/plain"))).status).toBe(200);
  });

  test("delivers all bytes before a cut by FIN", async () => {
    await using proxy = await startProxy(worker.origin);
    proxy.cutAfter(300, "fin");
    const { hostname, port } = new URL(proxy.origin);
    const { connect } = await import("node:net");
    const socket = connect(Number(port), hostname);
    socket.write(`GET /plain HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks)).toHaveLength(300);
  });

  test("refuses new connections and keeps existing ones", async () => {
    await using proxy = await startProxy(worker.origin);
    const stream = await openStream(proxy.url("/endless?slow&key=kept"));
    proxy.refuse(true);
    await expect(openStream(proxy.url("/json"))).rejects.toThrow();
    const seen = stream.ids.length;
    await stream.waitFor("more", ({ ids }) => ids.length > seen);
    proxy.refuse(false);
    expect((await openStream(proxy.url("/plain"))).status).toBe(200);
  });

  test("delivers a response completely in small pieces when it is throttled", async () => {
    await using proxy = await startProxy(worker.origin);
    proxy.throttle({ bytes: 100, everyMs: 1 });
    const stream = await openStream(proxy.url("/plain"));
    let pieces = 0;
    await stream.waitFor("all", ({ bytes }) => {
      pieces += 1;
      return bytes === 1000;
    });
    expect(pieces).toBeGreaterThan(2);
  });

  test("breaks the client's connection if the server is unavailable", async () => {
    const server = createServer();
    await listening(server);
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    await using proxy = await startProxy(`http://127.0.0.1:${port}`);
    await expect(openStream(proxy.url("/"))).rejects.toThrow();
  });
});

function listening(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
}
