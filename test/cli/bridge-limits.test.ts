/** What `mcp-edge bridge` does with messages that are too large or too deep, and with a host that does not read. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import { afterEach, describe, expect, test } from "vitest";
import { HostOutput, whileRead } from "../../src/cli/relay/host-output.ts";
import { type Client, type ClientOptions, connect } from "../../src/client/index.ts";
import { type StdioOptions, stdio } from "../../src/node/index.ts";
import { ME } from "../client/places.ts";
import { initialized, result, scripted } from "../client/scripted.ts";
import { NODE } from "../oracle/node.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { watch } from "../oracle/transport-watch.ts";
import { type Bridged, bridged } from "./bridged.ts";
import { SERVER } from "./run.ts";

const MIB = 1024 * 1024;
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Our client as the host of a bridge. What the bridge sends is checked. */
async function hostOf(bridge: Bridged, options: Partial<ClientOptions> = {}): Promise<Client> {
  const oracle = new WireOracle();
  const client = await connect(watch(bridge.transport, oracle), { ...ME, ...options });
  closing.push(async () => {
    await client.close();
    oracle.expectClean();
  });
  return client;
}

/** A server that returns the number of characters of the argument for each call. */
const counting = () =>
  scripted(({ method, message }, response) => {
    if (method === "GET") return response.writeHead(405).end();
    if (message?.method === "initialize") return result(response, message.id, initialized("2025-11-25"));
    if (message?.id === undefined) return response.writeHead(202).end();
    const { text = "" } = (message.params?.arguments ?? {}) as { text?: string };
    return result(response, message.id, { content: [{ type: "text", text: String(text.length) }] });
  });

const LEGACY_HOST = { protocolVersions: ["2025-11-25"] };

test("a request of 8 MiB reaches the server", { tags: "long" }, async () => {
  await using server = await counting();
  await using bridge = await bridged(server.url);
  const client = await hostOf(bridge, LEGACY_HOST);
  const text = "x".repeat(8 * MIB);
  expect(await client.callTool("count", { text })).toMatchObject({ content: [{ text: String(8 * MIB) }] });
});

test("a request of more than 32 MiB gets an error with its id, and the next request is served", {
  tags: "long",
}, async () => {
  await using server = await counting();
  await using bridge = await bridged(server.url);
  const client = await hostOf(bridge, LEGACY_HOST);
  const text = "x".repeat(33 * MIB);
  await expect(client.callTool("count", { text })).rejects.toMatchObject({
    code: -32600,
    message: "A line is larger than 33554432 bytes.",
  });
  expect(bridge.notes).toEqual(["A line is larger than 33554432 bytes."]);
  expect(await client.callTool("count", { text: "abc" })).toMatchObject({ content: [{ text: "3" }] });
});

test("an answer to a question that is too large makes the question fail, and the call ends", {
  tags: "long",
}, async () => {
  const [command = "", ...args] = SERVER;
  await using bridge = await bridged(stdio({ command, args, stderr: "ignore" }));
  const client = await hostOf(bridge, {
    ...LEGACY_HOST,
    onElicit: () => ({ action: "accept", content: { size: "x".repeat(33 * MIB) } }),
  });
  expect(await client.callTool("order")).toMatchObject({ isError: true });
});

/** JSON text of arrays within arrays. */
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

interface Flooding extends AsyncDisposable {
  readonly url: string;
}

/** A server of 2025-11-25 whose response to a call is written by the test, without checks. */
async function rawServer(call: (response: ServerResponse, id: unknown) => unknown): Promise<Flooding> {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const message = text === "" ? undefined : JSON.parse(text);
    if (request.method === "GET") response.writeHead(405).end();
    else if (message.method === "initialize") result(response, message.id, initialized("2025-11-25", CAPABILITIES));
    else if (message.method === "tools/call") await call(response, message.id);
    else response.writeHead(message.id === undefined ? 202 : 400).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const CAPABILITIES = { tools: {}, resources: { subscribe: true } };

/** A process that serves 2025-11-25, with code for a call: it can use `id`, `say` and `write`. */
function processServer(code: string, stderr: StdioOptions["stderr"] = "ignore") {
  const program = `
    const write = (text) => process.stdout.write(text + "\\n");
    const say = (message) => write(JSON.stringify({ jsonrpc: "2.0", ...message }));
    require("node:readline").createInterface({ input: process.stdin }).on("line", async (line) => {
      const { id, method } = JSON.parse(line);
      if (method === "initialize") say({ id, result: ${JSON.stringify(initialized("2025-11-25", CAPABILITIES))} });
      if (method === "tools/call") { ${code} }
    });`;
  return stdio({ command: NODE, args: ["-e", program], stderr });
}

test.each([
  ["larger than 32 MiB", `JSON.stringify("x".repeat(${33 * MIB}))`, "message-too-large"],
  ["nested deeper than 1,000 levels", `"[".repeat(2_000) + "]".repeat(2_000)`, "answer-invalid"],
])(
  "a response of a process that is %s becomes an error with the request's id",
  { tags: "long" },
  async (_, value, reason) => {
    const answer = `write('{"jsonrpc":"2.0","result":{"content":[],"structuredContent":{"x":' + ${value} + '}},"id":' + id + '}');`;
    await using bridge = await bridged(processServer(answer));
    const client = await hostOf(bridge, LEGACY_HOST);
    const failure = { code: -32603, data: { reason, mayHaveRun: true } };
    await expect(client.callTool("any")).rejects.toMatchObject(failure);
  },
);

test("a response that is nested too deeply becomes an error with the request's id, and the next call is served", async () => {
  let calls = 0;
  await using server = await rawServer((response, id) => {
    calls += 1;
    if (calls > 1) return result(response, id, { content: [] });
    const body = `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"x":${nested(20_000)}}}}`;
    return response.writeHead(200, { "content-type": "application/json" }).end(body);
  });
  await using bridge = await bridged(server.url);
  const client = await hostOf(bridge, LEGACY_HOST);
  await expect(client.callTool("deep")).rejects.toMatchObject({ code: -32603, data: { mayHaveRun: true } });
  expect(await client.callTool("flat")).toMatchObject({ content: [] });
});

describe("the output of a bridge to its host", () => {
  /** A host that reads only on request. */
  function slowHost() {
    const texts: string[] = [];
    const taken: (() => void)[] = [];
    let pauses = 0;
    const sendText = (text: string) => {
      texts.push(text);
      return new Promise<void>((resolve) => taken.push(resolve));
    };
    const host = { sendText, pause: () => (pauses += 1), resume: () => (pauses = 0) };
    const read = (count: number) => {
      for (const take of taken.splice(0, count)) take();
      return new Promise((resolve) => setImmediate(resolve));
    };
    return { output: new HostOutput(host), texts, read, isPaused: () => pauses > 0 };
  }
  const answer = (size: number) => ({ jsonrpc: "2.0" as const, id: 1, result: { text: "x".repeat(size) } });
  const tell = (method: string) => ({ jsonrpc: "2.0" as const, method, params: { data: "x".repeat(1_000) } });

  test("has an error with the id, if a response cannot be written as JSON", () => {
    const { output, texts } = slowHost();
    output.respond({ jsonrpc: "2.0", id: 7, result: { deep: JSON.parse(nested(20_000)) } });
    expect(texts.map((text) => JSON.parse(text))).toEqual([
      {
        jsonrpc: "2.0",
        id: 7,
        error: {
          code: -32603,
          message: expect.stringMatching(/^The server's response is nested too deeply, or too large, to be passed on/),
          data: { reason: "answer-invalid", mayHaveRun: true },
        },
      },
    ]);
  });

  test("leaves out progress and log messages while more than 1 MiB waits for the host", async () => {
    const { output, texts, read } = slowHost();
    const all = ["notifications/progress", "notifications/message", "notifications/elicitation/complete"];
    const say = () => {
      for (const method of all) output.send(tell(method));
    };
    say();
    output.respond(answer(MIB));
    say();
    await read(texts.length);
    say();
    expect(texts.map((text) => JSON.parse(text).method)).toEqual([...all, undefined, all[2], ...all]);
  });

  test("contains equal changes once, when the host reads again, unless there are too many different changes", async () => {
    const { output, texts, read } = slowHost();
    const change = (uri: string) =>
      output.send({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } });
    output.respond(answer(MIB));
    for (let n = 0; n < 1_000; n += 1) change("test://same");
    change("test://other");
    expect(texts).toHaveLength(1);
    change(`test://${"x".repeat(MIB)}`);
    expect(texts).toHaveLength(2);
    await read(1);
    expect(texts).toHaveLength(2);
    await read(1);
    const told = texts.slice(2).map((text) => JSON.parse(text).params.uri);
    expect(told).toEqual(["test://same", "test://other"]);
  });

  test("is limited: the server waits while more than 4 MiB is queued, and the host while more than 64 MiB is queued", {
    tags: "long",
  }, async () => {
    const { output, read, isPaused } = slowHost();
    for (let sent = 0; sent < 3; sent += 1) output.respond(answer(MIB));
    expect(output.opened()).toBeUndefined();
    output.respond(answer(MIB));
    const opened = output.opened();
    expect(opened).toBeInstanceOf(Promise);
    expect(isPaused()).toBe(false);
    for (let sent = 0; sent < 60; sent += 1) output.respond(answer(MIB));
    expect(isPaused()).toBe(true);
    await read(10);
    expect(isPaused()).toBe(false);
    expect(output.opened()).toBeInstanceOf(Promise);
    await read(51);
    expect(output.opened()).toBeUndefined();
    await opened;
  });
});

test("messages for the user are dropped while more than 1 MiB of them waits to be read", async () => {
  const lines: string[] = [];
  const stderr = new Writable({ write: (line, _, done) => done(void lines.push(String(line))) });
  const write = whileRead(stderr, (text) => stderr.write(text));
  stderr.cork();
  for (let line = 0; line < 100; line += 1) write("x".repeat(MIB / 10));
  stderr.uncork();
  await expect.poll(() => stderr.writableLength).toBe(0);
  write("last");
  expect(lines.map((line) => line.length)).toEqual([...Array(11).fill(Math.floor(MIB / 10)), 4]);
});

/** Resolves when a count no longer grows. */
async function settled(count: () => number): Promise<number> {
  for (let before = -1; ; ) {
    const now = count();
    if (now === before) return now;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

describe("a host that does not read", () => {
  /** Enough changes of 64 KiB, each of another resource, to fill more than the bridge and the channels hold. */
  const COUNT = 1_000;
  const uri = (n: number) => `test://${n}/${"x".repeat(65_000)}`;

  test("makes a server over HTTP wait, and gets everything when it reads again", { tags: "long" }, async () => {
    let written = 0;
    await using server = await rawServer(async (response, id) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (; written < COUNT; written += 1) {
        const change = { jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: uri(written) } };
        const isTaken = response.write(`data: ${JSON.stringify(change)}\n\n`);
        if (!isTaken) await new Promise((resolve) => response.once("drain", resolve));
      }
      response.end(`data: {"jsonrpc":"2.0","id":${id},"result":{"content":[]}}\n\n`);
    });
    await using bridge = await bridged(server.url);
    let changes = 0;
    const client = await hostOf(bridge, { ...LEGACY_HOST, onResourceUpdated: () => (changes += 1) });
    bridge.transport.pause();
    const call = client.callTool("flood");
    await expect.poll(() => written).toBeGreaterThan(0);
    expect(await settled(() => written)).toBeLessThan(COUNT / 2);
    bridge.transport.resume();
    expect(await call).toMatchObject({ content: [] });
    expect(changes).toBe(COUNT);
  });

  test("makes a process wait, and gets everything when it reads again", { tags: "long" }, async () => {
    const flood = `
      for (let n = 0; n < ${COUNT}; n += 1) {
        const isTaken = say({ method: "notifications/resources/updated", params: { uri: uri(n) } });
        process.stderr.write(".");
        if (!isTaken) await new Promise((resolve) => process.stdout.once("drain", resolve));
      }
      say({ id, result: { content: [] } });`;
    let written = 0;
    const stderr = (text: string) => (written += text.length);
    await using bridge = await bridged(processServer(`const uri = ${uri};${flood}`, stderr));
    let changes = 0;
    const client = await hostOf(bridge, { ...LEGACY_HOST, onResourceUpdated: () => (changes += 1) });
    bridge.transport.pause();
    const call = client.callTool("flood");
    await expect.poll(() => written).toBeGreaterThan(0);
    expect(await settled(() => written)).toBeLessThan(COUNT / 2);
    bridge.transport.resume();
    expect(await call).toMatchObject({ content: [] });
    expect(changes).toBe(COUNT);
  });
});
