// @module-tag long
/** `mcp-edge bridge`: hosts of every version over stdio, servers of both eras over HTTP. Every message of both sides is checked. */
import { AsyncLocalStorage } from "node:async_hooks";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Client as OfficialClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Client, type ClientOptions, connect, type ElicitAnswer, type Transport } from "../../src/client/index.ts";
import { stdio } from "../../src/node/index.ts";
import { newKeys, startWorker } from "../../src/testing/index.ts";
import { type CuttableProxy, startProxy } from "../../src/testing/proxy.ts";
import { Lab, LEGACY, ME, MODERN } from "../client/places.ts";
import { initialized, result, scripted } from "../client/scripted.ts";
import { STDIO_PEERS } from "../interop/peers.ts";
import { startHttpTap } from "../oracle/http-tap.ts";
import { CACHED, NODE } from "../oracle/node.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { watch } from "../oracle/transport-watch.ts";
import { bridged } from "./bridged.ts";
import { childrenOf, isAlive } from "./processes.ts";
import { CLI, cli, SERVER } from "./run.ts";

let lab: Lab;
let proxy: CuttableProxy;
const closing: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  lab = await Lab.start();
  proxy = await startProxy(lab.worker.origin);
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await lab[Symbol.asyncDispose]();
});

const commandOf = (url: string) => ({ command: NODE, args: [...CACHED, CLI, "bridge", url] });

/** The options of our client as the host of a bridge, and how the bridge runs. */
interface HostOptions extends Partial<ClientOptions> {
  /** The protocol version that the bridge uses with the server, whatever the server supports. */
  readonly as?: string;
  /** Whether the bridge runs as a process of its own. By default it runs within the process of the tests, which takes less time. */
  readonly isProcess?: boolean;
}

/** Our client as the host of a bridge. Both hops are watched. */
async function hostOf(
  version: string,
  path: string,
  { as, isProcess = false, ...options }: HostOptions = {},
): Promise<Client> {
  const tap = await startHttpTap(lab.url(path));
  const oracle = new WireOracle();
  closing.push(async () => {
    await tap.close();
    oracle.expectClean();
    tap.oracle.expectClean();
  });
  const transport = isProcess ? processOf(tap.url, as) : await bridgeHere(tap.url, as);
  // A bridge that starts slowly on a loaded machine must not be mistaken for a legacy server.
  const versions = { probeTimeoutMs: 60_000, protocolVersions: [version] };
  const client = await connect(watch(transport, oracle), { ...ME, ...versions, ...options });
  closing.push(async () => client.close());
  return client;
}

function processOf(url: string, as?: string): Transport {
  const { command, args } = commandOf(url);
  return stdio({ command, args: [...args, ...(as === undefined ? [] : ["--as", as])], stderr: "ignore" });
}

async function bridgeHere(url: string, as?: string): Promise<Transport> {
  const bridge = await bridged(url, as === undefined ? {} : { protocolVersions: [as] });
  closing.push(async () => bridge[Symbol.asyncDispose]());
  return bridge.transport;
}

const envelope = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientInfo": ME,
  "io.modelcontextprotocol/clientCapabilities": {},
};
const LIST = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: envelope } });

const HOSTS = [...LEGACY, MODERN];
const SERVERS = ["/mcp", "/legacy/mcp", "/modern/mcp"];
const PAIRS = HOSTS.flatMap((version) => SERVERS.map((path) => [version, path] as const));

describe.each(PAIRS)("a host of %s with a server at %s", (version, path) => {
  test("lists, calls with progress, reads, gets prompts and completes", async () => {
    const client = await hostOf(version, path);
    expect(client.server).toMatchObject({ protocolVersion: version, instructions: "Call add.", transport: "pipe" });
    const tools = await client.tools().all();
    expect(tools.map(({ name }) => name)).toContain("add");
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    const seen: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => seen.push(progress);
    await client.callTool("slow", { steps: 3, stepMs: 20 }, { onProgress });
    expect(seen).toEqual([1, 2, 3]);
    expect(await client.callTool("fail")).toMatchObject({ isError: true });
    expect(await client.readResource("test://notes/1")).toMatchObject({ contents: [{ text: "This is note 1." }] });
    const code = version === MODERN ? -32602 : -32002;
    await expect(client.readResource("test://notes/9")).rejects.toMatchObject({ code });
    expect(await client.getPrompt("explain", { language: "php" })).toMatchObject({ messages: [{ role: "user" }] });
    expect((await client.complete({ type: "ref/prompt", name: "explain" }, "language", "py")).values).toHaveLength(2);
    expect(await client.request("lab/echo", { word: "hi" })).toMatchObject({ echo: "hi" });
    await expect(client.request("lab/none")).rejects.toMatchObject({ code: -32601 });
  });
});

/** Versions before 2025-06-18 have no elicitation. The server is spoken to in each era. */
const ASKING = HOSTS.filter((version) => version >= "2025-06-18").flatMap((version) =>
  ["2025-11-25", MODERN].map((as) => [version, as] as const),
);

const ANSWERS: Readonly<Record<string, ElicitAnswer>> = {
  "What do you order?": { action: "accept", content: { size: "L" } },
  "First?": { action: "decline" },
  "Second?": { action: "cancel" },
};

describe.each(ASKING)("a host of %s with a server of %s", (version, as) => {
  test("answers forms, twice in a call, and gets sampling requests", async () => {
    const messages: string[] = [];
    const client = await hostOf(version, "/mcp", {
      as,
      onElicit: ({ message }) => {
        messages.push(message);
        return { action: "accept", content: { size: "L" } };
      },
      onSample: () => ({ role: "assistant", content: { type: "text", text: "Short." }, model: "m" }),
    });
    expect(await client.callTool("order_twice")).toMatchObject({ content: [{ text: "accept accept" }] });
    expect(messages).toEqual(["First?", "Second?"]);
    expect(await client.callTool("summarise")).toMatchObject({
      content: [{ text: '{"type":"text","text":"Short."}' }],
    });
  });

  test("gets the right question for each of two calls", async () => {
    const calls = new AsyncLocalStorage<string>();
    const asked: string[] = [];
    const client = await hostOf(version, "/mcp", {
      as,
      onElicit: ({ message }) => {
        asked.push(`${calls.getStore()}: ${message}`);
        return ANSWERS[message] ?? { action: "decline" };
      },
    });
    const both = await Promise.all(
      ["order", "order_twice"].map((name) => calls.run(name, () => client.callTool(name))),
    );
    expect(both).toMatchObject([
      { content: [{ text: '{"size":"L","count":2}' }] },
      { content: [{ text: "decline cancel" }] },
    ]);
    // Only a modern host can tell to which call a question on a pipe belongs.
    const expected = ["order: What do you order?", "order_twice: First?", "order_twice: Second?"];
    if (version === MODERN) expect(asked.sort()).toEqual(expected);
    else expect(asked).toHaveLength(3);
  });
});

// The tests above run the bridge in the process of the tests, without the command line.
test.each([
  ["2025-11-25", MODERN, "/legacy/mcp"],
  [MODERN, "2025-11-25", "/modern/mcp"],
])("the program passes questions to a host of %s, and uses only %s with --as", async (version, as, other) => {
  // Only a bridge that follows --as fails with a server of the other era.
  const { code, stdout } = await cli(["bridge", lab.url(other), "--as", as], { input: `${LIST}\n` });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ id: 1, error: { code: expect.any(Number) } });
  const onElicit = (): ElicitAnswer => ({ action: "accept", content: { size: "L" } });
  const client = await hostOf(version, "/mcp", { as, isProcess: true, onElicit });
  expect(client.server).toMatchObject({ protocolVersion: version, transport: "pipe" });
  expect(await client.callTool("order_twice")).toMatchObject({ content: [{ text: "accept accept" }] });
});

describe.each(HOSTS)("a host of %s", (version) => {
  test("is notified of changed lists and resources", async () => {
    const heard: string[] = [];
    const client = await hostOf(version, "/mcp", {
      onToolsChanged: () => heard.push("tools"),
      onResourceUpdated: (uri) => heard.push(uri),
    });
    await client.subscribe("test://notes/2");
    await client.callTool("touch", { uri: "test://notes/2" });
    await expect.poll(() => heard, { timeout: 10_000 }).toContain("test://notes/2");
    await client.callTool("change");
    await expect.poll(() => heard, { timeout: 10_000 }).toContain("tools");
  });

  test("cancels a call at the server", async () => {
    const key = `bridge ${version}`;
    const client = await hostOf(version, "/mcp");
    const cancel = new AbortController();
    const call = client.callTool("hold", { key }, { signal: cancel.signal, onProgress: () => cancel.abort("enough") });
    await expect(call).rejects.toBe("enough");
    const noted = async () => (await client.callTool("noted", { key })).content[0];
    await expect.poll(noted, { timeout: 10_000 }).toMatchObject({ text: "aborted" });
  });
});

test.each(STDIO_PEERS.map((peer) => [peer.name, peer] as const))("the released %s is served", async (_, peer) => {
  const { client, end } = await peer.connect(commandOf(lab.url()));
  closing.push(end);
  expect(client.getServerVersion()).toMatchObject({ name: "client-lab" });
  expect((await client.listTools()).tools.length).toBeGreaterThan(2);
  expect(await client.callTool({ name: "add", arguments: { a: 2, b: 3 } })).toMatchObject({ content: [{ text: "5" }] });
});

describe("the official client as host", () => {
  async function officialHost(
    url: string,
    elicit?: () => Promise<void>,
    content: Record<string, string> = {},
  ): Promise<OfficialClient> {
    const client = new OfficialClient(ME, { capabilities: elicit ? { elicitation: {} } : {} });
    if (elicit) {
      client.setRequestHandler(ElicitRequestSchema, async () => {
        await elicit();
        return { action: "accept", content };
      });
    }
    await client.connect(new StdioClientTransport({ ...commandOf(url), stderr: "ignore" }));
    closing.push(() => client.close());
    return client;
  }

  test("gets the result although the connection is cut three times during the call", async () => {
    const client = await officialHost(proxy.url("/mcp"));
    // The server takes each step when the host has seen the one before, over a connection that is not cut.
    const pacing = await connect(lab.url(), ME);
    closing.push(() => pacing.close());
    const key = "cut three times";
    const seen: number[] = [];
    const cuts: number[] = [];
    const paces: Promise<unknown>[] = [];
    const onprogress = ({ progress }: { progress: number }) => {
      seen.push(progress);
      if (progress % 2 === 0) cuts.push(proxy.cut("rst"));
      paces.push(pacing.callTool("pace", { key, steps: progress }));
    };
    const called = await client.callTool({ name: "paced", arguments: { key, steps: 7 } }, undefined, { onprogress });
    expect(called).toMatchObject({ content: [{ text: "done" }] });
    await Promise.all(paces);
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(cuts).toHaveLength(3);
    for (const connections of cuts) expect(connections).toBeGreaterThan(0);
  });

  test("gets the result although the server is killed and started again during the call", async () => {
    const worker = await startWorker({
      entry: "test/worker/fixtures/durable-calls.ts",
      objects: { MCP: "McpObject", HASTY: "HastyObject", EFFECTS: "Effects" },
      bindings: { MCP_KEYS: newKeys() },
    });
    closing.push(() => worker.stop());
    // Both questions of the call are answered by a server that did not ask them.
    const client = await officialHost(`${worker.origin}/mcp`, () => worker.restart(), { value: "x" });
    const called = await client.callTool({ name: "order", arguments: { key: "k" } });
    expect(called).toMatchObject({ content: [{ text: "x x 1 1" }] });
  });

  test("gets the result although the server has lost the session", async () => {
    let sessions = 0;
    let calls = 0;
    await using server = await scripted(({ method, headers, message }, response) => {
      const session = headers["mcp-session-id"];
      if (message?.method === "initialize") {
        sessions += 1;
        return result(response, message.id, initialized("2025-11-25"), { "mcp-session-id": `s${sessions}` });
      }
      if (method === "GET") return response.writeHead(405).end();
      if (message?.id === undefined) return response.writeHead(202).end();
      calls += 1;
      // The first session is gone after its first call.
      if (session === "s1" && calls > 1) return response.writeHead(404).end();
      return result(response, message.id, { content: [{ type: "text", text: String(session) }] });
    });
    const client = await officialHost(server.url);
    expect(await client.callTool({ name: "any" })).toMatchObject({ content: [{ text: "s1" }] });
    expect(await client.callTool({ name: "any" })).toMatchObject({ content: [{ text: "s2" }] });
    await client.close();
  });
});

test("a host whose version the server supports uses that version, without conversion", async () => {
  const versions: unknown[] = [];
  await using server = await scripted(({ method, message }, response) => {
    if (message?.method === "initialize") {
      versions.push(message.params?.protocolVersion);
      return result(response, message.id, initialized("2025-06-18"));
    }
    return response.writeHead(method === "GET" ? 405 : 202).end();
  });
  const client = await connect(stdio({ ...commandOf(server.url), stderr: "ignore" }), {
    ...ME,
    protocolVersions: ["2025-06-18"],
  });
  await client.close();
  expect(server.asked.slice(0, 2)).toEqual(["POST initialize", "POST notifications/initialized"]);
  expect(versions).toEqual(["2025-06-18"]);
});

test("a server that cannot be reached causes an error of the first request, and a later request tries again", async () => {
  const line = (id: number) =>
    `${JSON.stringify({ jsonrpc: "2.0", id, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: ME } })}\n`;
  const { code, stdout } = await cli(["bridge", "http://127.0.0.1:9/mcp"], { input: line(1) + line(2) });
  expect(code).toBe(0);
  const answers = stdout
    .trimEnd()
    .split("\n")
    .map((each) => JSON.parse(each));
  expect(answers.map(({ id }) => id).sort()).toEqual([1, 2]);
  for (const { error } of answers) expect(error).toMatchObject({ code: -32603, data: { reason: "unreachable" } });
});

test("requests from a pipe get responses before the end, and other lines are reported", async () => {
  const params = { name: "add", arguments: { a: 1, b: 2 }, _meta: envelope };
  const call = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params });
  const lines = ["not json", call, '{"id":8}'];
  const { code, stdout, stderr } = await cli(["bridge", lab.url()], { input: `${lines.join("\n")}\n` });
  expect(code).toBe(0);
  expect(
    stdout
      .trimEnd()
      .split("\n")
      .map((each) => JSON.parse(each)),
  ).toEqual([
    { jsonrpc: "2.0", error: { code: -32700, message: "A line is not JSON." } },
    { jsonrpc: "2.0", id: 8, error: { code: -32600, message: '"jsonrpc" is not "2.0"' } },
    { jsonrpc: "2.0", id: 7, result: expect.objectContaining({ content: [{ type: "text", text: "3" }] }) },
  ]);
  expect(stderr).toContain("A line is not JSON.");
});

/** A bridge to a server of this machine, with one open request that has no end. */
async function hanging(request: object): Promise<{ child: ChildProcess; server: number; ended: Promise<unknown[]> }> {
  const child = spawn(NODE, [CLI, "bridge", "--", ...SERVER], { stdio: ["pipe", "pipe", "ignore"] });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const say = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  say(request);
  // The call reports progress and the listen is acknowledged, so both have begun after one line.
  await lines.next();
  const [server = 0] = childrenOf(child.pid ?? 0);
  closing.push(async () => child.kill("SIGKILL"));
  return { child, server, ended };
}

const OPEN = [
  {
    id: 1,
    method: "tools/call",
    params: { name: "hold", arguments: { key: "open" }, _meta: { ...envelope, progressToken: 1 } },
  },
  {
    id: 1,
    method: "subscriptions/listen",
    params: { notifications: { toolsListChanged: true }, _meta: envelope },
  },
];

describe.each(OPEN)("a bridge whose $method is still open", (request) => {
  test("ends with its server when the host closes the input", { timeout: 30_000 }, async () => {
    const { child, server, ended } = await hanging(request);
    child.stdin?.end();
    expect(await ended).toEqual([0, null]);
    expect(isAlive(server)).toBe(false);
  });

  test("ends with its server on a signal", { timeout: 30_000 }, async () => {
    const { child, server, ended } = await hanging(request);
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    expect(isAlive(server)).toBe(false);
  });
});
