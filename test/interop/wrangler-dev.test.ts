/** `wrangler dev` with a custom domain in `routes`: wrangler replaces the requested host by that domain. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { choosePort } from "../../src/node/free-port.ts";
import { CONTENT, initialize } from "../http/messages.ts";
import { NODE } from "../oracle/node.ts";

const ROOT = join(import.meta.dirname, "../..");
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
/** Long enough for wrangler to bundle and start on a loaded machine. */
const START_MS = 120_000;
const FOLDER = mkdtempSync(join(tmpdir(), "wrangler-dev-"));
const children: ChildProcess[] = [];

/** Kills the process group, which includes everything that wrangler has started. */
async function killGroup(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("close", resolve));
  process.kill(-(child.pid ?? 0), "SIGKILL");
  await ended;
}

afterAll(async () => {
  await Promise.all(children.map(killGroup));
  rmSync(FOLDER, { recursive: true, force: true });
});

/** The reference server under `wrangler dev`, with a custom domain. @returns Its port. */
async function wranglerDev(name: string, ...flags: readonly string[]): Promise<number> {
  const port = await choosePort();
  const config = readFileSync(join(ROOT, "wrangler.toml"), "utf8")
    .replace("src/reference/index.ts", join(ROOT, "src/reference/index.ts"))
    .replace("send_metrics = false", 'routes = [{ pattern = "mcp.example.com", custom_domain = true }]');
  const file = join(FOLDER, `${name}.toml`);
  writeFileSync(file, config);
  const env = {
    PATH: `${dirname(NODE)}:${process.env.PATH}`,
    HOME: FOLDER,
    WRANGLER_SEND_METRICS: "false",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    CI: "true",
  };
  const state = join(FOLDER, `${name}-state`);
  const ports = ["--port", String(port), "--inspector-port", String(await choosePort())];
  const args = [WRANGLER, "dev", "-c", file, ...ports, "--persist-to", state, ...flags];
  const child = spawn(NODE, args, { cwd: FOLDER, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
  const answers = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`).catch((cause: unknown) => {
      throw new Error(`wrangler dev does not answer: ${output}`, { cause });
    });
    await response.text();
  };
  await vi.waitFor(answers, { timeout: START_MS, interval: 200 });
  return port;
}

interface Answered {
  readonly status: number | undefined;
  readonly text: string;
}

/** Sends any Host and Origin, which `fetch` would not. */
function send(port: number, method: string, headers: Readonly<Record<string, string>>): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const own = method === "POST" ? (CONTENT as Record<string, string>) : { accept: "text/event-stream" };
    const all = { ...own, ...headers };
    const sent = request({ host: "127.0.0.1", port, path: "/mcp", method, headers: all }, (response) => {
      let text = "";
      response.on("data", (data) => (text += data));
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    sent.on("error", reject).end(method === "POST" ? JSON.stringify(initialize()) : undefined);
  });
}

let plain: number;
let flagged: number;
beforeAll(async () => {
  // Two wranglers that start at the same time may choose the same inspector port, and one of them then hangs.
  plain = await wranglerDev("plain");
  flagged = await wranglerDev("flagged", "--local-upstream", "localhost");
}, 2 * START_MS);

describe("wrangler dev with a custom domain", () => {
  test("serves a client with initialize, a list, a call and the end of the session", async () => {
    const url = new URL(`http://localhost:${plain}/mcp`);
    const client = new Client({ name: "custom-domain", version: "1.0.0" });
    const transport = new StreamableHTTPClientTransport(url);
    await client.connect(transport as never);
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    const called = await client.callTool({ name: "add", arguments: { a: 5, b: 3 } });
    expect(called.structuredContent).toEqual({ sum: 8 });
    await transport.terminateSession();
    await client.close();
  });

  test("refuses requests that a browser may have sent, even from a page whose name resolves to this machine", async () => {
    const host = `evil.example:${plain}`;
    for (const origin of [`http://${host}`, "http://evil.example", "null"]) {
      expect(await send(plain, "POST", { host, origin })).toMatchObject({ status: 403 });
    }
    expect(await send(plain, "GET", { host })).toMatchObject({ status: 403 });
  });

  test("refuses GET with the names of the option and the flag that allow it, and serves GET with the flag", async () => {
    const refused = await send(plain, "GET", {});
    expect(refused.status).toBe(403);
    expect(refused.text).toContain("allowedHosts");
    expect(refused.text).toContain("wrangler dev --local-upstream localhost");
    // Allowed: what is missing now is a session.
    expect(await send(flagged, "GET", { "mcp-session-id": "none" })).toMatchObject({ status: 404 });
    expect(await send(flagged, "POST", { origin: "http://localhost:6274" })).toMatchObject({ status: 200 });
  });
});
