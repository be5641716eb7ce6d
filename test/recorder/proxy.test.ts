/** The proxy forwards bytes in order, FIN, RST, upgrades and backpressure. The server is a raw socket. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { RecordingProxy } from "../../src/node/record/proxy/recording-proxy.ts";
import type { Entry } from "../../src/recorder/entry.ts";
import { Recorder } from "../../src/recorder/recorder.ts";
import { until } from "../../src/testing/until.ts";

/** The route whose response does not end. */
const EVENTS = "/__mcp-edge/api/events";

interface Behind {
  readonly recorder: Recorder;
  readonly proxy: RecordingProxy;
  readonly port: number;
  /** The connections that reached the server, newest last. */
  readonly sockets: Socket[];
  /** The data that the server received on its connections. */
  received(index?: number): string;
}

const closers: (() => Promise<unknown> | undefined)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Starts a server that handles each connection with a function, and the proxy in front of it. */
async function start(answer: (socket: Socket) => void = () => undefined): Promise<Behind> {
  const sockets: Socket[] = [];
  const texts: string[] = [];
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    const index = sockets.push(socket) - 1;
    texts[index] = "";
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      texts[index] += data.toString("latin1");
    });
    answer(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: inside } = server.address() as AddressInfo;
  const recorder = new Recorder({ contents: true, endpointPath: "/mcp", hash: (text) => text.padEnd(16, "0") });
  const proxy = new RecordingProxy({
    recorder,
    connect: () => connect({ host: "127.0.0.1", port: inside, allowHalfOpen: true }),
    inside: (request, response) => {
      response.write(`inside ${request.url}`);
      if (request.url !== EVENTS) response.end();
    },
    hasTail: true,
  });
  const port = await proxy.listen(["127.0.0.1"], 0);
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    return Promise.all([proxy.close(), new Promise((resolve) => server.close(resolve))]);
  });
  return { recorder, proxy, port, sockets, received: (index = 0) => texts[index] ?? "" };
}

/** Connects, and collects the received data. */
async function open(port: number): Promise<{ readonly socket: Socket; text(): string; ended(): string | undefined }> {
  const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
  let text = "";
  let ended: string | undefined;
  socket.on("data", (data) => {
    text += data.toString("latin1");
  });
  socket.on("end", () => {
    ended ??= "fin";
  });
  socket.on("error", (error: NodeJS.ErrnoException) => {
    ended ??= error.code;
  });
  await once(socket, "connect");
  closers.push(async () => socket.destroy());
  return { socket, text: () => text, ended: () => ended };
}

const withoutId = (text: string) => text.replace(/mcp-edge-record: [\da-f]+\.\d+\r\n/g, "");

/** Returns the entry once it has ended. */
async function only({ recorder }: Behind): Promise<Entry> {
  await until("an entry that has ended", () => recorder.summaries().at(-1)?.outcome !== "running");
  return [...recorder.entries()].at(-1) as Entry;
}

const BODY = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const REQUEST = `POST /mcp?x=1 HTTP/1.1\r\nHoSt: example:1\r\nX-Odd:   two  spaces\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\nx-odd: again\r\n\r\n${BODY}`;
const RESULT = '{"jsonrpc":"2.0","id":1,"result":{}}';
const RESPONSE = `HTTP/1.1 200 Fine, thanks\r\ncontent-TYPE: application/json\r\nContent-Length: ${RESULT.length}\r\nX-A: 1\r\nX-A: 2\r\n\r\n${RESULT}`;

test("forwards requests and responses unchanged, apart from one header at the end of the head", async () => {
  const behind = await start((socket) => socket.once("data", () => socket.write(RESPONSE)));
  const client = await open(behind.port);
  client.socket.write(REQUEST);
  await until("the response", () => client.text().length >= RESPONSE.length);
  expect(client.text()).toBe(RESPONSE);
  expect(behind.received()).toMatch(/\r\nx-odd: again\r\nmcp-edge-record: [\da-f]{24}\.1\r\n\r\n\{/);
  expect(withoutId(behind.received())).toBe(REQUEST);
  const entry = await only(behind);
  expect(entry).toMatchObject({ kind: "request", method: "ping", outcome: "ok", http: { status: 200, path: "/mcp" } });
  expect(entry.messages.map(({ from, message }) => [from, message])).toEqual([
    ["client", JSON.parse(BODY)],
    ["server", JSON.parse(RESULT)],
  ]);
});

test("reads heads and chunks regardless of how the bytes are split", async () => {
  const chunked = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\n${RESULT.slice(0, 5)}\r\n${(RESULT.length - 5).toString(16)}\r\n${RESULT.slice(5)}\r\n0\r\nTrailer: x\r\n\r\n`;
  const behind = await start((socket) => {
    socket.on("data", (data) => {
      if (!data.toString("latin1").endsWith('g"}')) return;
      void (async () => {
        for (const byte of chunked) {
          socket.write(byte);
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
    });
  });
  const client = await open(behind.port);
  for (let round = 1; round <= 2; round += 1) {
    for (const byte of REQUEST.slice(0, -BODY.length)) {
      client.socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    client.socket.write(BODY);
    await until("the response", () => client.text().length >= chunked.length * round);
  }
  expect(client.text()).toBe(chunked + chunked);
  expect(withoutId(behind.received())).toBe(REQUEST + REQUEST);
  expect(behind.sockets).toHaveLength(1);
  expect([...behind.recorder.entries()].map(({ outcome }) => outcome)).toEqual(["ok", "ok"]);
});

test("forwards each event immediately, and forwards a FIN of a client that still reads the response", async () => {
  const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
  const behind = await start((socket) => {
    socket.once("data", () => socket.write(`${head}id: 1\ndata: {"jsonrpc":"2.0","method":"a"}\n\n`));
    socket.once("end", () => socket.end(`data: ${RESULT}\n\n`));
  });
  const client = await open(behind.port);
  client.socket.write(REQUEST);
  await until("the first event", () => client.text().endsWith("}\n\n"));
  expect([...behind.recorder.entries()][0]?.messages).toHaveLength(2);
  client.socket.end();
  await until("the end", () => client.ended() !== undefined);
  expect([client.ended(), client.text().endsWith(`data: ${RESULT}\n\n`)]).toEqual(["fin", true]);
  await until("the outcome", () => behind.recorder.summaries()[0]?.outcome === "ok");
});

test("a client that closes or resets its connection ends the entry, and the server receives the FIN or RST", async () => {
  const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: open\n\n";
  const behind = await start((socket) => socket.once("data", () => socket.write(head)));
  const ends: string[] = [];
  for (const how of ["fin", "rst"] as const) {
    const client = await open(behind.port);
    client.socket.write(REQUEST);
    await until("the stream", () => client.text() === head);
    const server = behind.sockets.at(-1) as Socket;
    server.on("end", () => ends.push("fin"));
    server.on("error", (error: NodeJS.ErrnoException) => ends.push(error.code ?? ""));
    if (how === "fin") client.socket.destroy();
    else client.socket.resetAndDestroy();
    await until("what the server sees", () => ends.length > 0);
    expect(ends.splice(0)).toEqual([how === "fin" ? "fin" : "ECONNRESET"]);
    expect(await only(behind)).toMatchObject({ outcome: "cut-by-client", http: { status: 200 } });
    // Data that the server sends afterwards does not complete the entry.
    if (how === "fin") server.write(`data: ${RESULT}\n\n`, () => server.end());
    await until("the end of the connection", () => server.destroyed || server.writableEnded);
  }
  expect([...behind.recorder.entries()].map(({ outcome }) => outcome)).toEqual(["cut-by-client", "cut-by-client"]);
});

test("a client that leaves during its request has cut the entry, whatever the server responds to the part", async () => {
  const behind = await start((socket) => {
    socket.on("end", () => socket.end("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\nlost"));
  });
  const client = await open(behind.port);
  client.socket.write("PUT /files/a HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\npart");
  await until("the request", () => behind.received().endsWith("part"));
  // The client still reads, so that the response arrives.
  client.socket.end();
  await until("the end", () => client.ended() !== undefined);
  expect(client.text()).toMatch(/lost$/);
  await until("the connection", () => behind.sockets[0]?.destroyed === true);
  // The proxy waits whether the client resets the connection.
  await new Promise((resolve) => setTimeout(resolve, 300));
  const [entry] = behind.recorder.summaries();
  expect([entry?.outcome, entry?.http?.status]).toEqual(["cut-by-client", undefined]);
});

test("a server that closes or resets a connection ends the entry, and the client receives the FIN or RST", async () => {
  const behind = await start((socket) => {
    socket.once("data", (data) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
      setImmediate(() => (data.includes("reset") ? socket.resetAndDestroy() : socket.end()));
    });
  });
  for (const [path, ended] of [
    ["/reset", "ECONNRESET"],
    ["/end", "fin"],
  ]) {
    const client = await open(behind.port);
    client.socket.write(REQUEST.replace("/mcp", path ?? ""));
    await until("the end", () => client.ended() !== undefined);
    expect(client.ended()).toBe(ended);
    expect(await only(behind)).toMatchObject({ outcome: "cut-by-server" });
  }
});

test("a stream that ended early has a finding until the client resumes it", { tags: "long" }, async () => {
  const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
  const behind = await start((socket) => {
    socket.once("data", (data) => {
      socket.end(data.includes("GET /mcp") ? `${head}data: ${RESULT}\n\n` : `${head}id: first\ndata:\n\n`);
    });
  });
  const client = await open(behind.port);
  client.socket.write(REQUEST);
  await until("the end", () => client.ended() !== undefined);
  const { id, outcome } = await only(behind);
  const findings = () => behind.recorder.entry(id)?.findings.map(({ what }) => what);
  await until("the finding", () => findings()?.length === 1);
  expect([outcome, findings()]).toEqual(["cut-by-server", ["The response ended without a result"]]);
  const again = await open(behind.port);
  again.socket.write("GET /mcp HTTP/1.1\r\nHost: example\r\nLast-Event-ID: first\r\n\r\n");
  await until("the end", () => again.ended() !== undefined);
  expect((await only(behind)).related).toEqual([{ id, why: "resumes" }]);
  await until("no finding", () => findings()?.length === 0);
});

test("forwards the bytes of an upgraded connection in both directions", async () => {
  const behind = await start((socket) => {
    socket.once("data", () => socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: odd\r\n\r\nhello"));
  });
  const client = await open(behind.port);
  client.socket.write("GET /socket HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: odd\r\n\r\n");
  await until("the greeting", () => client.text().endsWith("hello"));
  client.socket.write("GET /__mcp-edge/ HTTP/1.1\r\n\r\n\u00ff", "latin1");
  await until("the bytes", () => behind.received().endsWith("GET /__mcp-edge/ HTTP/1.1\r\n\r\n\u00ff"));
  expect(await only(behind)).toMatchObject({ outcome: "ok", http: { status: 101 } });
});

test("a slow reader pauses the server, and receives everything", { tags: "long" }, async () => {
  const size = 64 * 1024 * 1024;
  let written = 0;
  const behind = await start((socket) => {
    socket.once("data", () => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${size}\r\n\r\n`);
      const fill = () => {
        while (written < size) {
          written += 65_536;
          if (!socket.write(Buffer.alloc(65_536, "a"))) break;
        }
      };
      socket.on("drain", fill);
      fill();
    });
  });
  const client = await open(behind.port);
  client.socket.pause();
  client.socket.write(REQUEST);
  let before = -1;
  await until("the server to stop", async () => {
    if (written === before && written > 0) return true;
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return false;
  });
  expect(written).toBeLessThan(size);
  let bytes = 0;
  client.socket.removeAllListeners("data");
  client.socket.on("data", (data: Buffer) => {
    bytes += data.length;
  });
  client.socket.resume();
  await until("all bytes", () => bytes > size);
  expect((await only(behind)).messages).toHaveLength(1);
});

test("requests to the recorder's own routes never reach the server, in any order on one connection", async () => {
  const behind = await start((socket) => socket.on("data", () => setTimeout(() => socket.write(RESPONSE), 20)));
  const client = await open(behind.port);
  const own = "GET /__mcp-edge/api/info HTTP/1.1\r\nHost: localhost\r\n\r\n";
  client.socket.write(REQUEST + own + REQUEST + own);
  await until("four responses", () => client.text().match(/HTTP\/1\.1 200/g)?.length === 4);
  const order = [...client.text().matchAll(/Fine, thanks|inside \/__mcp-edge\/api\/info/g)].map(([found]) => found);
  expect(order).toEqual(["Fine, thanks", "inside /__mcp-edge/api/info", "Fine, thanks", "inside /__mcp-edge/api/info"]);
  expect(behind.received()).not.toContain("__mcp-edge");
  expect(behind.recorder.summaries()).toHaveLength(2);
});

test("a stream of the recorder's own routes continues when the server closes the client's idle connection", async () => {
  const behind = await start((socket) => socket.on("data", () => socket.write(RESPONSE)));
  const client = await open(behind.port);
  client.socket.write(REQUEST);
  await until("the response", () => client.text().endsWith(RESULT));
  client.socket.write(`GET ${EVENTS} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await until("the stream", () => client.text().includes(`inside ${EVENTS}`));
  behind.sockets[0]?.end();
  await until("an end", () => behind.sockets[0]?.destroyed === true || client.ended() !== undefined);
  expect(client.ended()).toBeUndefined();
});

test("forwards other protocols and heads that are too large without recording them", async () => {
  const behind = await start((socket) => socket.on("data", (data) => socket.write(data)));
  for (const text of ["\u0016\u0003\u0001 hello\r\n\r\n", `GET / HTTP/1.1\r\nX: ${"a".repeat(200_000)}`]) {
    const client = await open(behind.port);
    client.socket.write(text, "latin1");
    await until("the echo", () => client.text().length === text.length);
    expect(client.text()).toBe(text);
  }
  expect(behind.recorder.summaries()).toEqual([]);
});

test("cutting a connection resets both sides", async () => {
  const behind = await start((socket) => {
    socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: open\n\n"));
  });
  const client = await open(behind.port);
  client.socket.write(REQUEST);
  await until("the stream", () => client.text().endsWith("\n\n"));
  const [entry] = behind.recorder.summaries();
  expect(behind.proxy.cut(entry?.id ?? "")).toBe(true);
  await until("the end", () => client.ended() !== undefined);
  expect([client.ended(), (await only(behind)).outcome]).toEqual(["ECONNRESET", "cut-on-purpose"]);
  expect(behind.proxy.cut(entry?.id ?? "")).toBe(false);
});
