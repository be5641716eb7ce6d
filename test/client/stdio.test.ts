// @module-tag long
/** A server that runs as a child process of the client. */
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { type Client, type ClientEvent, type ClientOptions, connect } from "../../src/client/index.ts";
import { type StdioOptions, stdio } from "../../src/node/index.ts";
import { until } from "../http/wire.ts";
import { NODE } from "../oracle/node.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { watch } from "../oracle/transport-watch.ts";
import { toolNamesOf } from "./fixtures/server.ts";
import { createStdioServer } from "./fixtures/stdio-server.ts";
import { LEGACY, ME, MODERN } from "./places.ts";

const TOOLS = toolNamesOf(createStdioServer());
const SERVER = join(import.meta.dirname, "fixtures/stdio.ts");
/** A time for readTimeoutMs in which a server surely starts. */
const PATIENCE_MS = 8_000;
const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

/** Starts the server and connects to it. */
async function start(how: string[] = [], options: Partial<StdioOptions> = {}, more: Partial<ClientOptions> = {}) {
  const oracle = new WireOracle();
  const events: ClientEvent[] = [];
  const transport = watch(stdio({ command: NODE, args: [SERVER, ...how], ...options }), oracle);
  const client = await connect(transport, { ...ME, onEvent: (event) => events.push(event), ...more });
  clients.push(client);
  return { client, oracle, events, transport };
}

const textOf = (called: { content: readonly unknown[] }) => (called.content[0] as { text: string }).text;

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Whether a process exists. */
function isAlive(pid: number | undefined): boolean {
  try {
    return process.kill(Number(pid), 0);
  } catch {
    return false;
  }
}

describe.each([MODERN, ...LEGACY])("a stdio server in %s", (version) => {
  test("is started, called and ended in the normal way", async () => {
    const { client, oracle, transport } = await start([], {}, { protocolVersions: [version] });
    expect(client.server).toMatchObject({ protocolVersion: version, transport: "pipe" });
    expect(textOf(await client.callTool("add", { a: 1, b: 2 }))).toBe("3");
    expect((await client.tools().all()).map(({ name }) => name)).toEqual(TOOLS);
    await client.close();
    expect(isAlive(transport.pid)).toBe(false);
    oracle.expectClean();
  });
});

test("the newest version is chosen by default", async () => {
  const { client } = await start();
  expect(client.server.protocolVersion).toBe(MODERN);
});

test("a server gets the given variables and folder, and none of the client's secrets", async () => {
  process.env.CLIENT_SECRET = "hunter2";
  try {
    const { client } = await start([], { env: { OWN: "mine", HOME: undefined }, cwd: import.meta.dirname });
    const { env, cwd } = JSON.parse(textOf(await client.callTool("environment")));
    expect(env).toMatchObject({ OWN: "mine", PATH: process.env.PATH });
    expect(env).not.toHaveProperty("CLIENT_SECRET");
    expect(env).not.toHaveProperty("HOME");
    expect(cwd).toBe(import.meta.dirname);
  } finally {
    delete process.env.CLIENT_SECRET;
  }
});

test("standard error of a server is passed to the given function", async () => {
  let text = "";
  const stderr = (piece: string) => {
    text += piece;
  };
  const { client } = await start([], { stderr });
  await client.callTool("complain");
  await until("the text arrives", () => text.includes("something to log"));
});

test.each(["stubborn", "deaf"])("a server that ignores its end (%s) is ended by a signal", async (how) => {
  const { client, transport } = await start([how], { shutdownMs: 200 });
  await client.close();
  expect(isAlive(transport.pid)).toBe(false);
});

test("a server that dies makes pending calls reject, and the error says how it ended", async () => {
  const { client, events } = await start([], {}, { reconnectsMax: 0 });
  await expect(client.callTool("crash")).rejects.toMatchObject({
    code: "closed",
    source: "transport",
    mayHaveRun: true,
  });
  await until("the end is reported", () => events.at(-1)?.type === "closed");
  expect(events.at(-1)).toMatchObject({
    error: { message: expect.stringContaining("The server process ended with exit code 7.") },
  });
  await expect(client.callTool("add")).rejects.toMatchObject({ code: "closed", mayHaveRun: false });
});

test.each([
  ["process.exit(3)", "with exit code 3"],
  ["process.exit(0)", "with exit code 0"],
  ["process.kill(process.pid, 'SIGTERM')", "by SIGTERM"],
])("connect() fails if the server ends first (%s), and the error says how", async (code, how) => {
  const connecting = connect(stdio({ command: NODE, args: ["-e", code] }), { ...ME, onEvent: () => undefined });
  await expect(connecting).rejects.toMatchObject({ code: "closed" });
  await expect(connecting).rejects.toThrow(`server/discover got no response. The server process ended ${how}.`);
});

test("a server that is silent for readTimeoutMs is ended", async () => {
  const transport = stdio({ command: NODE, args: [SERVER, "silent"], readTimeoutMs: 500, shutdownMs: 100 });
  const connecting = connect(transport, { ...ME, onEvent: () => undefined });
  await expect(connecting).rejects.toMatchObject({ code: "closed" });
  await expect(connecting).rejects.toThrow("server/discover");
  await until("the process has ended", () => !isAlive(transport.pid));
});

test("a server that falls silent after a message about the call is ended after readTimeoutMs", async () => {
  const { client, oracle } = await start([], { readTimeoutMs: PATIENCE_MS });
  await expect(client.callTool("mute")).rejects.toMatchObject({ code: "closed", mayHaveRun: true });
  oracle.expectClean();
});

test.each([MODERN, "2025-11-25"])(
  "a server may be silent while no request is pending, even after a call was abandoned (%s)",
  async (version) => {
    const options = { protocolVersions: [version], onToolsChanged: () => undefined };
    const { client, oracle, events } = await start([], { readTimeoutMs: PATIENCE_MS }, options);
    await expect(client.callTool("never", {}, { timeoutMs: 100 })).rejects.toMatchObject({ code: "timeout" });
    await sleep(PATIENCE_MS + 500);
    expect(textOf(await client.callTool("add", { a: 1, b: 2 }))).toBe("3");
    expect(events.map(({ type }) => type)).toEqual(["connected"]);
    oracle.expectClean();
  },
);

test("a server may be silent while its question is being answered", async () => {
  const onElicit = async () => {
    await sleep(PATIENCE_MS + 500);
    return { action: "decline" as const };
  };
  const more = { protocolVersions: ["2025-11-25"], onElicit };
  const { client, oracle } = await start([], { readTimeoutMs: PATIENCE_MS }, more);
  expect(await client.callTool("order")).toHaveProperty("content");
  oracle.expectClean();
});

test("a modern server that died gets no second request for its changes", async () => {
  const { client, events } = await start([], {}, { onToolsChanged: () => undefined, reconnectsMax: 0 });
  await client.callTool("change");
  await client.callTool("crash").catch(() => undefined);
  await until("the connection is closed", () => events.some(({ type }) => type === "closed"));
  await sleep(500);
  expect(events.map(({ type }) => type)).not.toContain("stream-reconnecting");
});

test("a program that does not exist causes an error with its name", async () => {
  await expect(connect(stdio({ command: "no-such-program" }), ME)).rejects.toThrow(/no-such-program ENOENT/);
  await expect(connect(stdio({ command: "no-such-program" }), ME)).rejects.toMatchObject({ code: "unreachable" });
});

test("invalid options are refused by name", () => {
  expect(() => stdio({ command: "" })).toThrow("stdio(): command");
  expect(() => stdio({ command: "node", arg: [] } as never)).toThrow('"args"');
});
