// @module-tag long
/** `mcp-edge expose`: a stdio server over HTTP, for clients of every version. Every message is checked. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Gateway } from "../../src/cli/commands/expose/gateway.ts";
import { type Client, type ClientOptions, connect } from "../../src/client/index.ts";
import { listen } from "../../src/node/http-server.ts";
import { stdio } from "../../src/node/index.ts";
import { LEGACY, ME, MODERN } from "../client/places.ts";
import { startHttpTap } from "../oracle/http-tap.ts";
import { NODE } from "../oracle/node.ts";
import { childrenOf } from "./processes.ts";
import { CLI, cli, SERVER } from "./run.ts";

interface Exposed {
  readonly url: string;
  readonly token: string;
  readonly child: ChildProcess;
}

/** Starts the program and reads where it serves. */
async function expose(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<Exposed> {
  const child = spawn(NODE, [CLI, "expose", "--json", ...args, "--", ...SERVER], { env: { ...process.env, ...env } });
  let text = "";
  for await (const chunk of child.stdout) {
    text += chunk;
    if (text.includes("}\n")) break;
  }
  return { ...(JSON.parse(text) as { url: string; token: string }), child };
}

async function end({ child }: Exposed): Promise<number> {
  const ended = once(child, "exit");
  child.kill("SIGINT");
  return (await ended)[0] as number;
}

let exposed: Exposed;
const closing: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  exposed = await expose();
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
afterAll(() => end(exposed));

/** Connects through a tap that checks every message. */
async function join(version: string, options: Partial<ClientOptions> = {}): Promise<Client> {
  const tap = await startHttpTap(exposed.url);
  const headers = { Authorization: `Bearer ${exposed.token}` };
  const client = await connect(tap.url, { ...ME, headers, protocolVersions: [version], ...options });
  closing.push(async () => {
    await client.close();
    await tap.close();
    tap.oracle.expectClean();
  });
  return client;
}

describe.each([...LEGACY, MODERN])("a client of %s at expose", (version) => {
  test("lists, calls with progress, reads and completes", async () => {
    const client = await join(version);
    expect(client.server).toMatchObject({ protocolVersion: version, transport: "streamable-http" });
    expect((await client.tools().all()).length).toBeGreaterThan(10);
    const seen: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => seen.push(progress);
    expect(await client.callTool("slow", { steps: 3, stepMs: 20 }, { onProgress })).toMatchObject({
      content: [{ text: "done" }],
    });
    expect(seen).toEqual([1, 2, 3]);
    expect(await client.readResource("test://notes/1")).toMatchObject({ contents: [{ text: "This is note 1." }] });
    expect((await client.complete({ type: "ref/prompt", name: "explain" }, "language", "py")).values).toHaveLength(2);
    await expect(client.request("lab/none")).rejects.toMatchObject({ code: -32601 });
  });

  test("is notified of changes", async () => {
    const heard: string[] = [];
    const client = await join(version, {
      onToolsChanged: () => heard.push("tools"),
      onResourceUpdated: (uri) => heard.push(uri),
    });
    await client.subscribe("test://notes/2");
    await client.callTool("touch", { uri: "test://notes/2" });
    await expect.poll(() => heard, { timeout: 10_000 }).toContain("test://notes/2");
    await client.callTool("change");
    await expect.poll(() => heard, { timeout: 10_000 }).toContain("tools");
  });
});

test.each(["2025-06-18", "2025-11-25", MODERN])("a client of %s answers two questions of a call", async (version) => {
  const client = await join(version, { onElicit: () => ({ action: "accept", content: { size: "L" } }) });
  expect(await client.callTool("order_twice")).toMatchObject({ content: [{ text: "accept accept" }] });
});

test("a cancelled call is cancelled at the server, in both eras", async () => {
  for (const version of ["2025-11-25", MODERN]) {
    const client = await join(version);
    const cancel = new AbortController();
    const onProgress = () => cancel.abort("enough");
    const call = client.callTool("hold", { key: version }, { signal: cancel.signal, onProgress });
    await expect(call).rejects.toBe("enough");
    const noted = async () => (await client.callTool("noted", { key: version })).content[0];
    await expect.poll(noted, { timeout: 10_000 }).toMatchObject({ text: "aborted" });
  }
});

test("each session has its own process, which ends with it", async () => {
  const own = await expose();
  const headers = { Authorization: `Bearer ${own.token}` };
  const pid = own.child.pid ?? 0;
  const clients = [
    await connect(own.url, { ...ME, headers, protocolVersions: ["2025-11-25"] }),
    await connect(own.url, { ...ME, headers, protocolVersions: ["2025-11-25"] }),
  ];
  expect(childrenOf(pid)).toHaveLength(2);
  await clients[0]?.close();
  await expect.poll(() => childrenOf(pid).length, { timeout: 10_000 }).toBe(1);
  // The other session is still served, and its process ends with the program.
  expect(await clients[1]?.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
  const [left = 0] = childrenOf(pid);
  expect(await end(own)).toBe(0);
  expect(() => process.kill(left, 0)).toThrow();
});

/** Sends a request with any Host header, and returns the status and the body. */
function post(headers: Record<string, string>, path = "/mcp"): Promise<{ status: number; body: string }> {
  const { port } = new URL(exposed.url);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const all = { "Content-Type": "application/json", ...headers };
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: "127.0.0.1", port, path, method: "POST", headers: all }, async (response) => {
      resolve({ status: response.statusCode ?? 0, body: (await response.toArray()).join("") });
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

test("a request requires the token, a Host of this machine, and no foreign Origin", async () => {
  const authorized = { Authorization: `Bearer ${exposed.token}` };
  expect(await post({})).toMatchObject({ status: 401, body: expect.stringContaining("A token is required.") });
  expect(await post({ Authorization: "Bearer wrong" })).toMatchObject({ status: 401 });
  expect(await post({ ...authorized, Host: "evil.example" })).toMatchObject({ status: 403 });
  expect(await post({ ...authorized, Origin: "https://evil.example" })).toMatchObject({ status: 403 });
  expect(await post({ ...authorized, Origin: "null" })).toMatchObject({ status: 403 });
  expect(await post(authorized, "/other")).toMatchObject({ status: 404 });
  expect(await post({ ...authorized, "Content-Type": "text/plain" })).toMatchObject({ status: 415 });
  // With everything right, only the session is missing.
  expect(await post(authorized)).toMatchObject({
    status: 400,
    body: expect.stringContaining("Mcp-Session-Id is missing"),
  });
  expect(await post({ ...authorized, "Mcp-Session-Id": "unknown" })).toMatchObject({ status: 404 });
});

test("a missing or empty token never matches", async () => {
  for (const given of ["Bearer", "Bearer ", "bearer   ", "Basic Og==", exposed.token]) {
    expect(await post({ Authorization: given })).toMatchObject({ status: 401 });
  }
  // Not even where the token itself is empty, which the program does not allow.
  const never = () => Promise.reject(new Error("A process was started."));
  const gateway = new Gateway({ connect: never, path: "/mcp", token: "", log: () => undefined });
  closing.push(() => gateway.close());
  for (const headers of [{}, { Authorization: "" }, { Authorization: "Bearer" }, { Authorization: "Bearer  " }]) {
    const response = await gateway.handle(new Request("http://127.0.0.1/mcp", { method: "POST", headers }));
    expect(response.status).toBe(401);
  }
});

test("the token is new each time, is read from MCP_EDGE_TOKEN, or is disabled", async () => {
  const [other, chosen, open] = [
    await expose(),
    await expose([], { MCP_EDGE_TOKEN: "t0ken-of-my-own-choice\n" }),
    await expose(["--no-token"]),
  ];
  expect(other.token).toMatch(/^[\w-]{32}$/);
  expect(other.token).not.toBe(exposed.token);
  expect(chosen.token).toBe("t0ken-of-my-own-choice");
  expect(open.token).toBeUndefined();
  const client = await connect(open.url, ME);
  expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
  await client.close();
  for (const each of [other, chosen, open]) expect(await end(each)).toBe(0);
});

test.each(["", "                ", "short"])("an empty or short MCP_EDGE_TOKEN is refused: %j", async (token) => {
  const { code, stdout, stderr } = await cli(["expose", "--", ...SERVER], { env: { MCP_EDGE_TOKEN: token } });
  expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining("MCP_EDGE_TOKEN has fewer than 16")]);
});

test.each(["sixteen letters and", "schlüssel-zum-haus"])(
  "MCP_EDGE_TOKEN is refused if a header cannot have its characters: %j",
  async (token) => {
    const { code, stdout, stderr } = await cli(["expose", "--", ...SERVER], { env: { MCP_EDGE_TOKEN: token } });
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining("which a header cannot contain")]);
  },
);

/** A gateway in this process. `later` ends what has been idle for a long time. */
async function inProcess(): Promise<{ url: string; later(): void; count(): number }> {
  const [command = "", ...args] = SERVER;
  const before = childrenOf(process.pid).length;
  const open = (more: Partial<ClientOptions>) =>
    connect(stdio({ command, args, stderr: "ignore" }), { ...ME, ...more });
  const gateway = new Gateway({ connect: open, path: "/mcp", token: undefined, log: () => undefined });
  const { origin, close } = await listen((request) => gateway.handle(request), 0);
  closing.push(close, () => gateway.close());
  return {
    url: `${origin}/mcp`,
    later: () => gateway.endIdle(Date.now() + 60 * 60_000),
    // `ps` itself is a child too while it runs.
    count: () => childrenOf(process.pid).length - before,
  };
}

test.each(["2025-11-25", MODERN])(
  "a process with an open call of a client of %s is in use until the call has its result",
  async (version) => {
    const { url, later, count } = await inProcess();
    const client = await connect(url, { ...ME, protocolVersions: [version] });
    closing.unshift(() => client.close());
    const key = `idle-${version}`;
    const onProgress = () => {
      later();
      void client.callTool("pace", { key, steps: 1 });
    };
    expect(await client.callTool("paced", { key, steps: 1 }, { onProgress })).toMatchObject({
      content: [{ text: "done" }],
    });
    expect(count()).toBe(1);
    later();
    await expect.poll(count, { timeout: 10_000 }).toBe(0);
  },
);

test("a process whose client has cut its stream is ended when it is idle", async () => {
  const { url, later, count } = await inProcess();
  const json = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: ME };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const opened = await fetch(url, { method: "POST", headers: json, body });
  const session = { Accept: "text/event-stream", "Mcp-Session-Id": opened.headers.get("Mcp-Session-Id") ?? "" };
  const cut = new AbortController();
  expect((await fetch(url, { headers: session, signal: cut.signal })).status).toBe(200);
  later();
  expect(count()).toBe(1);
  cut.abort();
  const left = () => {
    later();
    return count();
  };
  await expect.poll(left, { timeout: 10_000 }).toBe(0);
});

test("a port that is in use causes exit code 4", async () => {
  const { port } = new URL(exposed.url);
  const { code, stderr } = await cli(["expose", "--port", port, "--", ...SERVER]);
  expect(code).toBe(4);
  expect(stderr).toContain(`Port ${port} cannot be used`);
});

test.each([
  ["is not found", ["no-such-program-here"], 'The command "no-such-program-here" was not found.'],
  ["is not executable", ["/etc/passwd"], 'The command "/etc/passwd" cannot be run: permission denied.'],
  ["ends at once", [NODE, "-e", "console.error('no licence'); process.exit(2)"], "no licence"],
])("a command that %s is reported before requests are served, with exit code 4", async (_, command, text) => {
  const { code, stdout, stderr } = await cli(["expose", "--", ...command]);
  expect([code, stdout]).toEqual([4, ""]);
  expect(stderr).toContain(text);
  expect(stderr).not.toContain("Serving");
});
