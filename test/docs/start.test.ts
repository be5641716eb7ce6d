// @module-tag long
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { choosePort } from "../../src/node/free-port.ts";
import { startHttpTap } from "../oracle/http-tap.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Long enough for wrangler to bundle and start on a loaded machine. */
const START_MS = 60_000;

interface Started {
  readonly child: ChildProcess;
  /** The output so far. */
  output(): string;
}

/** Wrangler chooses additional ports for itself, which another program may take before wrangler listens. */
const STARTS_MAX = 3;

/** Runs `npm start` in a separate process group, and waits until it has printed the endpoint's URL. */
async function npmStart(port: number, state: string, starts = 1): Promise<Started> {
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" };
  const args = ["start", "--", "--port", String(port), "--persist-to", state];
  const child = spawn("npm", args, { cwd: ROOT, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data) => {
      output += data;
    });
  }
  const [READY, TAKEN] = ["claude mcp add", "Address already in use"];
  await expect.poll(() => output, { timeout: START_MS }).toMatch(new RegExp(`${READY}|${TAKEN}`));
  if (!output.includes(READY) && starts < STARTS_MAX) {
    if (child.exitCode === null) await killGroup(child);
    return npmStart(port, state, starts + 1);
  }
  expect(output).toContain(READY);
  return { child, output: () => output };
}

/** Kills every process of the group at once, as a crash of the machine would. */
async function killGroup(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("close", resolve));
  process.kill(-(child.pid ?? 0), "SIGKILL");
  await ended;
}

test("npm start serves at the given port, and a session survives kill -9 in the given state folder", {
  timeout: 3 * START_MS,
}, async () => {
  const [port, state] = [await choosePort(), mkdtempSync(join(tmpdir(), "mcp-edge-start-"))];
  const tap = await startHttpTap(`http://127.0.0.1:${port}/mcp`);
  const send = (message: object, headers: Record<string, string> = {}) =>
    fetch(tap.url, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
  let { child } = await npmStart(port, state);
  try {
    const clientInfo = { name: "start", version: "1.0.0" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const opened = await send({ id: 0, method: "initialize", params });
    expect(opened.status).toBe(200);
    const session = { "Mcp-Session-Id": opened.headers.get("Mcp-Session-Id") ?? "" };
    const level = await send({ id: 1, method: "logging/setLevel", params: { level: "info" } }, session);
    expect(level.status).toBe(200);
    expect(existsSync(state) && readdirSync(state).length).toBeGreaterThan(0);
    await killGroup(child);
    ({ child } = await npmStart(port, state));
    const called = await send(
      { id: 2, method: "tools/call", params: { name: "add", arguments: { a: 5, b: 3 } } },
      session,
    );
    expect(await called.json()).toMatchObject({ id: 2, result: { structuredContent: { sum: 8 } } });
  } finally {
    await killGroup(child);
    await tap.close();
    rmSync(state, { recursive: true, force: true });
  }
  tap.oracle.expectClean();
});

/** Whether anything listens at the port. */
function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/mcp`).then(
    () => true,
    () => false,
  );
}

/** The remaining processes of the group. */
function isGroupAlive(child: ChildProcess): boolean {
  try {
    return process.kill(-(child.pid ?? 0), 0);
  } catch {
    return false;
  }
}

test("npm start prints the URL, what the server offers and commands that work; SIGINT and SIGTERM end all processes", {
  timeout: 4 * START_MS,
}, async () => {
  const [port, state] = [await choosePort(), mkdtempSync(join(tmpdir(), "mcp-edge-start-"))];
  const url = `http://127.0.0.1:${port}/mcp`;
  try {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const { child, output } = await npmStart(port, state);
      try {
        const printed = output();
        expect(printed).toContain(`\n${url}\n`);
        expect(printed).toMatch(/\n\d+ tools, \d+ prompts, \d+ resources, \d+ resource templates\n/);
        expect(printed).toContain("2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28");
        expect(printed).toContain(`npx @modelcontextprotocol/inspector --transport http --server-url ${url}`);
        expect(printed).toContain(`claude mcp add --transport http mcp-edge-reference ${url}`);
        // Wrangler's own output is printed too.
        expect(printed).toContain(`Ready on http://127.0.0.1:${port}`);
        const curl = /^ +(curl .*)$/m.exec(printed)?.[1] ?? "";
        const { stdout } = await promisify(execFile)("sh", ["-c", `${curl} --silent`]);
        expect(JSON.parse(stdout)).toMatchObject({ result: { tools: expect.any(Array) } });
        // Ctrl-C reaches the whole group; `kill` reaches only the given process.
        if (signal === "SIGINT") process.kill(-(child.pid ?? 0), signal);
        else child.kill(signal);
        await expect.poll(() => isGroupAlive(child), { timeout: START_MS }).toBe(false);
        expect(await answers(port)).toBe(false);
      } finally {
        if (isGroupAlive(child)) await killGroup(child);
      }
    }
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
});
