// @module-tag long
/** `mcp-edge record` with servers over HTTP, HTTPS and stdio, in a separate process. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, describe, expect, test } from "vitest";
import type { RecordingFile } from "../../src/recorder/api.ts";
import type { Summary } from "../../src/recorder/entry.ts";
import { parseRecording } from "../../src/recorder/recording/file.ts";
import { until } from "../../src/testing/until.ts";
import { CLI, SERVER } from "../cli/run.ts";
import { NODE } from "../oracle/node.ts";
import { startRecorded } from "./recorded-worker.ts";

const folder = mkdtempSync(join(tmpdir(), "mcp-edge-record-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ME = { name: "recorded", version: "1.2.3" };
const PEM = join(import.meta.dirname, "fixtures/localhost.pem");

/** Reads a recording file, which must be importable. */
function readRecording(file: string): RecordingFile {
  const recording = JSON.parse(readFileSync(file, "utf8")) as RecordingFile;
  expect(parseRecording(recording)).toHaveLength(recording.entries.length);
  return recording;
}

/** Starts `mcp-edge record` for a URL. */
async function startRecording(args: readonly string[], env: Record<string, string> = {}) {
  const child: ChildProcess = spawn(NODE, [CLI, "record", ...args], {
    env: { ...process.env, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { out: "", err: "" };
  child.stdout?.on("data", (data) => (output.out += data));
  child.stderr?.on("data", (data) => (output.err += data));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  await until("the page", () => output.err.includes("Page: ")).catch(() => {
    throw new Error(output.err);
  });
  const url = output.out.split("\n")[0] ?? "";
  const page = /Page: (\S+)/.exec(output.err)?.[1] ?? "";
  return {
    url,
    output,
    api: async <T>(path: string) => (await (await fetch(new URL(`api/${path}`, page))).json()) as T,
    async stop() {
      child.kill("SIGINT");
      return ended;
    },
  };
}

const SOURCE = `
import { McpServer } from "./src/core/index.ts";
import { edge } from "./src/worker/index.ts";
import * as z from "zod";
const server = new McpServer({ name: "any", version: "1.0.0" });
server.tool("hello", { input: z.object({ name: z.string() }) }, ({ name }) => "Hello, " + name);
export default edge(server);
`;

describe("a server with a URL", () => {
  test("is reached through the proxy with an added token, and the file contains no secrets", async () => {
    await using server = await startRecorded({ entry: { source: SOURCE } });
    const out = join(folder, "http.json");
    const token = "the-token-of-this-test";
    const header = `Authorization: Bearer ${token}`;
    const recording = await startRecording([server.worker.url("/mcp"), "--contents", "--out", out, "--header", header]);
    expect(recording.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    const client = new Client(ME);
    await client.connect(new StreamableHTTPClientTransport(new URL(recording.url)) as never);
    const called = await client.callTool({ name: "hello", arguments: { name: "Ada" } });
    expect(called.content).toEqual([{ type: "text", text: "Hello, Ada" }]);
    await client.close();
    expect(await recording.api("info")).toMatchObject({
      mode: "record",
      endpoint: { url: recording.url, path: "/mcp" },
      server: { name: "any" },
    });
    const summaries = await recording.api<Summary[]>("entries");
    expect(summaries.find(({ target }) => target === "hello")).toMatchObject({ outcome: "ok", version: "2025-11-25" });
    expect(await recording.stop()).toBe(0);
    expect(recording.output.out).toMatch(/tools\/call hello {2}ok {2}\d+ ms/);
    expect(recording.output.err).toMatch(/\d+ entries in /);
    expect(statSync(out).mode & 0o077).toBe(0);
    const { entries } = readRecording(out);
    expect(JSON.stringify(entries)).toContain("Hello, Ada");
    expect(readFileSync(out, "utf8")).not.toContain(token);
  });

  test("over HTTPS receives its own host, and its own origin in requests of the recorder's page", async () => {
    const pem = readFileSync(PEM, "utf8");
    const seen: { host: string | undefined; origin: string | undefined }[] = [];
    const server = createServer({ key: pem, cert: pem }, ({ headers }, response) => {
      seen.push({ host: headers.host, origin: headers.origin });
      response.writeHead(200, { "Content-Type": "application/json" }).end('{"jsonrpc":"2.0","id":1,"result":{}}');
    });
    await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
    const { port } = server.address() as AddressInfo;
    const recording = await startRecording([`https://localhost:${port}/mcp`], { NODE_EXTRA_CA_CERTS: PEM });
    const send = (headers: Record<string, string>) => {
      const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
      return fetch(recording.url, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...headers },
        body,
      });
    };
    expect(await (await send({ Origin: new URL(recording.url).origin })).json()).toMatchObject({ id: 1 });
    await (await send({ Origin: "https://other.example" })).text();
    const host = `localhost:${port}`;
    expect(seen).toEqual([
      { host, origin: `https://${host}` },
      { host, origin: "https://other.example" },
    ]);
    const summaries = await recording.api<Summary[]>("entries");
    expect(summaries.map(({ method, outcome }) => [method, outcome])).toEqual([
      ["ping", "ok"],
      ["ping", "ok"],
    ]);
    await recording.stop();
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("a server over stdio", () => {
  test("serves a released client unchanged, and each request is an entry", async () => {
    const out = join(folder, "stdio.json");
    const args = [CLI, "record", "--contents", "--out", out, "--", ...SERVER];
    const transport = new StdioClientTransport({
      command: NODE,
      args,
      stderr: "pipe",
      env: { ...process.env } as never,
    });
    let log = "";
    transport.stderr?.on("data", (data) => (log += data));
    const client = new Client(ME, { capabilities: { elicitation: {} } });
    await client.connect(transport as never);
    const { tools } = await client.listTools();
    const [first] = tools;
    expect(first).toBeDefined();
    const failed = await client
      .callTool({ name: "no such tool", arguments: {} })
      .catch((error: unknown) => String(error));
    await client.close();
    await until("the file", () => /entries in /.test(log));
    expect(log).toMatch(/recorded 1\.2\.3 {2}2025-11-25 {2}tools\/list {2}ok/);
    const { entries, info } = readRecording(out);
    expect(info.endpoint.url).toBe("");
    const list = entries.find(({ method }) => method === "tools/list");
    expect(list).toMatchObject({ kind: "request", outcome: "ok", client: ME, version: "2025-11-25" });
    expect(list?.http).toBeUndefined();
    expect(list?.messages).toHaveLength(2);
    expect(entries.map(({ kind, method }) => [kind, method])).toEqual(
      expect.arrayContaining([
        ["request", "initialize"],
        ["notification", "notifications/initialized"],
      ]),
    );
    const call = entries.find(({ method }) => method === "tools/call");
    expect([failed !== undefined, ["error", "tool-error"].includes(call?.outcome ?? "")]).toEqual([true, true]);
  });

  test("ends with the exit code of the server, and reports that it cannot be started", async () => {
    const run = async (...command: string[]) => {
      const child = spawn(NODE, [CLI, "record", "--", ...command], { stdio: ["pipe", "pipe", "pipe"] });
      let log = "";
      child.stderr.on("data", (data) => (log += data));
      const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
      return { code, log };
    };
    expect(await run(NODE, "-e", "process.exit(7)")).toMatchObject({ code: 7 });
    const missing = await run("no-such-program-of-this-test");
    expect(missing.code).not.toBe(0);
    expect(missing.log).toContain('The command "no-such-program-of-this-test" could not be started');
  });
});
