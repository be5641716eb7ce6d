// @module-tag long
/** Recordings that are copied as tests pass against the same server, and fail after the server has changed. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Entry } from "../../src/recorder/entry.ts";
import { copyAsTest } from "../../src/recorder/recording/test-file.ts";
import { expectLogs } from "../harness/logs.ts";
import { NODE } from "../oracle/node.ts";
import { LegacyClient, ModernClient } from "../worker/client.ts";
import { type RecordedWorker, startRecorded } from "./recorded-worker.ts";

expectLogs(/"boom" failed/);

const ROOT = join(import.meta.dirname, "../..");

const sourceOf = (from: string, greeting: string) => `
import * as z from "zod";
import { McpServer, ToolError } from "${from === "" ? "mcp-edge" : `${from}/core/index.ts`}";
import { durable } from "${from === "" ? "mcp-edge/worker/durable" : `${from}/worker/durable/index.ts`}";
import { edge } from "${from === "" ? "mcp-edge/worker" : `${from}/worker/index.ts`}";

const server = new McpServer({ name: "${greeting}", version: "1.0.0", instructions: "${greeting}" });
server.tool("hello", { description: "${greeting}", input: z.object({ name: z.string() }) }, ({ name }) => "${greeting}, " + name + "!");
server.tool("sum", { input: z.object({ a: z.number(), b: z.number() }), output: z.object({ sum: z.number(), word: z.string() }) }, ({ a, b }) => ({ sum: a + b, word: "${greeting}" }));
server.tool("ids", {}, () => "${greeting} " + crypto.randomUUID() + " at " + new Date().toISOString());
server.tool("fails", {}, () => { throw new ToolError("${greeting} fails"); });
server.tool("boom", {}, () => { throw new Error("${greeting}"); });
server.tool("steps", {}, (_, ctx) => { for (let at = 1; at <= 3; at += 1) ctx.progress(at, { total: 3, message: "${greeting}" }); return "done"; });
server.tool("ask", {}, async (_, ctx) => { const { action } = await ctx.elicit("${greeting}?", z.object({ yes: z.boolean() })); return "${greeting}: " + action; });
server.tool("image", {}, () => [{ type: "image", data: btoa("${greeting}"), mimeType: "image/png" }]);
server.prompt("explain", { arguments: z.object({ game: z.string() }) }, ({ game }) => "${greeting}, explain " + game);
server.resource("note://one", { name: "${greeting}" }, () => "${greeting}");
server.resourceTemplate("note://{id}/part", { complete: { id: () => ["${greeting}", "two"] } }, (_, { id }) => "${greeting} " + id);
const app = edge(server, { use: [durable(${from === "" ? "" : '{ binding: "MCP" }'})] });
export default app;
export class McpObject extends app.McpObject {}
`;

const CONFIG = `name = "copied"
main = "src/index.ts"
compatibility_date = "2026-10-20"
compatibility_flags = ["enable_request_signal"]
[exports.McpObject]
type = "durable-object"
storage = "sqlite"
`;

const folder = mkdtempSync(join(tmpdir(), "mcp-edge-copied-"));
let recorded: RecordedWorker;
beforeAll(async () => {
  const objects = { MCP: "McpObject" };
  recorded = await startRecorded({ entry: { source: sourceOf("./src", "Hello") }, objects }, { contents: true });
});
afterAll(async () => {
  await recorded[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const CAPABLE = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };

/** A name with the characters that end JavaScript strings and begin template expressions. */
const QUOTED_NAME = ["Ada \"'`$", "{}"].join("");

/** Makes the calls that are recorded. */
async function useServer(): Promise<void> {
  const url = recorded.url("/mcp");
  const modern = new ModernClient(url);
  const legacy = await LegacyClient.open(url, { capabilities: { elicitation: {} } });
  for (const client of [modern, legacy]) {
    await (await client.call("hello", { name: QUOTED_NAME })).text();
    await (await client.call("sum", { a: 1, b: 2 })).text();
    await (await client.call("ids")).text();
    await (await client.call("fails")).text();
    await (await client.call("boom")).text();
    await (await client.call("steps", {}, { progressToken: "p" })).text();
    await (await client.request("tools/list")).text();
    await (await client.request("prompts/get", { name: "explain", arguments: { game: "go" } })).text();
    await (await client.request("resources/read", { uri: "note://one" })).text();
  }
  await (await modern.call("image")).text();
  await (await modern.request("server/discover")).text();
  await (await modern.request("resources/read", { uri: "note://7/part" })).text();
  const ref = { type: "ref/resource", uri: "note://{id}/part" };
  await (await modern.request("completion/complete", { ref, argument: { name: "id", value: "" } })).text();
  await answerModern(modern);
  await answerLegacy(legacy);
}

async function answerModern(client: ModernClient): Promise<void> {
  const asked = (await (await client.call("ask", {}, { meta: CAPABLE })).json()) as {
    result: { inputRequests: object; requestState: string };
  };
  const { inputRequests, requestState } = asked.result;
  const inputResponses = Object.fromEntries(
    Object.keys(inputRequests).map((key) => [key, { action: "accept", content: { yes: true } }]),
  );
  await (
    await client.request("tools/call", { name: "ask", arguments: {}, inputResponses, requestState }, { meta: CAPABLE })
  ).text();
}

async function answerLegacy(client: LegacyClient): Promise<void> {
  const response = await client.call("ask");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let id: string | undefined;
  while (id === undefined) {
    text += (await reader?.read())?.value ?? "";
    id = /"id":"([^"]+)","method":"elicitation\/create"/.exec(text)?.[1];
  }
  await client.send({ jsonrpc: "2.0", id, result: { action: "decline" } });
  while (!(await reader?.read())?.done);
}

function writeProject(greeting: string): void {
  mkdirSync(join(folder, "src"), { recursive: true });
  writeFileSync(join(folder, "src/index.ts"), sourceOf("", greeting));
  writeFileSync(join(folder, "wrangler.toml"), CONFIG);
  writeFileSync(join(folder, "package.json"), '{ "name": "copied", "private": true, "type": "module" }');
  writeFileSync(
    join(folder, "vitest.config.ts"),
    "export default { test: { maxWorkers: 2, isolate: false, testTimeout: 120000 } };",
  );
}

interface Ran {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  readonly output: string;
}

function runTests(): Ran {
  const program = join(ROOT, "node_modules/vitest/vitest.mjs");
  const report = join(folder, "report.json");
  const args = [program, "run", "--reporter=json", `--outputFile=${report}`];
  const { stdout, stderr } = spawnSync(NODE, args, {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, CI: "true" },
  });
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as {
    testResults: { assertionResults: { title: string; status: string; failureMessages: string[] }[] }[];
  };
  const all = testResults.flatMap(({ assertionResults }) => assertionResults);
  const titles = (status: string) => all.filter((each) => each.status === status).map(({ title }) => title);
  const output = all.flatMap(({ title, failureMessages }) =>
    failureMessages.map((each) => `${title}: ${each.slice(0, 600)}`),
  );
  return { passed: titles("passed"), failed: titles("failed"), output: `${output.join("\n")}\n${stdout}${stderr}` };
}

test("20 recordings pass as tests, and fail when the server has changed", { timeout: 1_800_000 }, async () => {
  await useServer();
  await recorded.entry(
    "the last call",
    ({ era, target, outcome }) => era === "legacy" && target === "ask" && outcome === "ok",
  );
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  writeProject("Hello");
  const entries: Entry[] = [...recorded.recorder.entries()].filter(({ kind, method }) => {
    return kind === "request" && method !== "initialize";
  });
  const find = (id: string) => recorded.recorder.entry(id);
  const server = { kind: "worker", config: "wrangler.toml" } as const;
  for (const entry of entries) {
    const copied = copyAsTest(entry, { server, path: "/mcp", find });
    if (!("text" in copied)) throw new Error(`${entry.method} ${entry.target}: ${copied.problem}`);
    writeFileSync(join(folder, `recorded-${entry.id}.test.ts`), copied.text);
  }
  expect(entries.length).toBeGreaterThanOrEqual(20);
  const same = runTests();
  expect(same.failed, same.output).toEqual([]);
  expect(same.passed).toHaveLength(entries.length);
  writeProject("Howdy");
  const changed = runTests();
  // Clients do not receive the message of an exception, so this response does not change.
  expect(changed.passed.filter((title) => !title.includes("boom"))).toEqual([]);
  expect(changed.failed.length).toBeGreaterThanOrEqual(20);
});
