// @module-tag long
/**
 * The Worker of `recorder()`, which receives the tail events of another Worker on workerd, and stores and shows its last
 * calls.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseRecording } from "../../src/recorder/recording/file.ts";
import { prepare } from "../../src/testing/configuration.ts";
import { until } from "../../src/testing/until.ts";
import { TestWorker } from "../../src/testing/worker.ts";
import { expectLogs } from "../harness/logs.ts";
import { LegacyClient, ModernClient } from "../worker/client.ts";

expectLogs(/"boom" failed/, /^log-secret-4711$/);

const ROOT = new URL("../..", import.meta.url).pathname;

const SERVER = `
import { McpServer } from "./src/core/index.ts";
import { edge } from "./src/worker/index.ts";
import { durable } from "./src/worker/durable/index.ts";

const server = new McpServer({ name: "recorded", version: "1.0.0" });
server.tool("hello", {}, () => { console.log("log-secret-4711"); return "Hello"; });
server.tool("boom", {}, () => { throw new Error("error-secret-4711"); });
const app = edge(server, { use: [durable({ binding: "MCP" })] });
export default app;
export class McpObject extends app.McpObject {}
`;

const RECORDER = `
import { authenticate, edge } from "./src/worker/index.ts";
import { recorder } from "./src/recorder/worker/index.ts";

const recording = recorder({ callsMax: 20, keepMs: 3_600_000 });
const users = (request) => {
  const subject = request.headers.get("X-User");
  return subject === null ? "anonymous" : { issuer: "https://login.example.com", subject };
};
const app = edge(recording.server, { use: [authenticate(users)] });
export default {
  fetch: (request, env, ctx) => request.url.endsWith("/server") ? env.SERVER.fetch(new Request(request.url.replace("/server", "/mcp"), request)) : app.fetch(request, env, ctx),
  tailStream: recording.tailStream,
};
export class McpRecorder extends recording.McpRecorder {}
`;

type Headers = Readonly<Record<string, string>>;
type Members = Readonly<Record<string, unknown>>;

const USER: Headers = { "X-User": "ada" };

let worker: TestWorker;

beforeAll(async () => {
  const own = await prepare({ root: ROOT, entry: { source: RECORDER }, objects: ["McpRecorder"] });
  const server = await prepare({ root: ROOT, entry: { source: SERVER }, objects: { MCP: "McpObject" } });
  const [recorderWorker, ...others] = own.workers as [{ readonly name: string }, ...object[]];
  const recorded = { ...server.workers[0], name: "server", streamingTails: [recorderWorker.name] };
  const workers = [{ ...recorderWorker, serviceBindings: { SERVER: "server" } }, recorded, ...others];
  worker = new TestWorker({ ...own, workers }, ROOT);
  await worker.restart();
});
afterAll(() => worker.stop());

interface Listed {
  readonly id: string;
  readonly method?: string;
  readonly target?: string;
  readonly outcome: string;
  readonly http?: { readonly method: string; readonly status?: number };
  readonly counts: { readonly objectRequests: number; readonly rowsWritten: number };
}

/** Calls a tool of the recorder as a user. */
async function ask<T>(name: string, args: Members = {}, headers: Headers = USER): Promise<T> {
  const response = await new ModernClient(worker.url("/mcp")).call(name, args, { headers });
  const { result } = (await response.json()) as {
    result: { structuredContent: T; isError?: boolean; content: unknown };
  };
  if (result.isError) throw new Error(JSON.stringify(result.content));
  return result.structuredContent;
}

async function listed(what: string, isFound: (call: Listed) => boolean): Promise<Listed> {
  let found: Listed | undefined;
  await until(what, async () => {
    found = (await ask<{ calls: Listed[] }>("list_calls")).calls.find(isFound);
    return found !== undefined;
  });
  return found as Listed;
}

const server = () => worker.url("/server");

test("stores a modern call with its method, tool, log line and exception, but without their contents", async () => {
  await (await new ModernClient(server()).call("hello", { key: "argument-secret-4711" })).text();
  await (
    await new ModernClient(server()).call("boom", {}, { headers: { Authorization: "Bearer token-secret-4711" } })
  ).text();
  const { id, method, http, outcome } = await listed("the call", ({ target }) => target === "boom");
  expect({ method, http, outcome }).toMatchObject({ method: "tools/call", http: { method: "POST", status: 200 } });
  const { call } = await ask<{ call: { invocations: { exceptions: { name: string }[] }[] } }>("show_call", {
    id: Number(id),
  });
  expect(call.invocations.flatMap(({ exceptions }) => exceptions)).toMatchObject([{ name: "Error" }]);
  await listed("the other call", ({ target }) => target === "hello");
  const file = await (await readRecording()).text();
  expect(file).toContain("<text, 15 characters>");
  expect(file).not.toContain("secret-4711");
});

function readRecording(headers: Headers = USER): Promise<Response> {
  return new ModernClient(worker.url("/mcp")).request("resources/read", { uri: "recording://calls" }, { headers });
}

test("counts the objects and rows of a session, and exports a recording that can be imported", async () => {
  const session = await LegacyClient.open(server());
  await (await session.call("hello")).text();
  const { counts } = await listed("the session", ({ counts: { rowsWritten } }) => rowsWritten > 0);
  expect(counts.objectRequests).toBeGreaterThan(0);
  const { result } = (await (await readRecording()).json()) as { result: { contents: { text: string }[] } };
  const entries = parseRecording(JSON.parse(result.contents[0]?.text ?? ""));
  expect(entries.some(({ invocations }) => invocations.some(({ role }) => role === "session"))).toBe(true);
});

test("does not show calls to anonymous callers", async () => {
  const client = new ModernClient(worker.url("/mcp"));
  expect(await (await client.request("tools/list")).json()).toMatchObject({ result: { tools: [] } });
  expect(await (await client.call("list_calls")).json()).toMatchObject({ error: { code: -32602 } });
  expect(await (await client.call("show_call", { id: 1 })).json()).toMatchObject({ error: { code: -32602 } });
  expect(await (await readRecording({})).json()).toMatchObject({ error: { code: expect.any(Number) } });
});

test("a client cannot hide a call by sending the header or the path of the proxy", async () => {
  await (await new ModernClient(server()).call("hello", {}, { headers: { "mcp-edge-record": "x.1" } })).text();
  await fetch(worker.url("/__mcp-edge/server"), { method: "PUT" });
  await listed("the request", ({ http }) => http?.method === "PUT");
  const calls = async () => (await ask<{ calls: Listed[] }>("list_calls")).calls;
  await until("both", async () => (await calls()).filter(({ target }) => target === "hello").length >= 2);
});

test("keeps calls after an eviction, continues their ids, and stores at most callsMax", async () => {
  const before = await listed("a call", ({ target }) => target === "hello");
  await worker.evict("McpRecorder");
  for (let at = 0; at < 25; at += 1) await (await new ModernClient(server()).call("hello")).text();
  const calls = async () => (await ask<{ calls: Listed[] }>("list_calls", { max: 200 })).calls;
  await until("the newest calls", async () => {
    const [all, newest] = [await calls(), Number((await calls())[0]?.id)];
    return all.length === 20 && newest >= Number(before.id) + 25;
  });
  await expect(ask("show_call", { id: Number(before.id) })).rejects.toThrow(/no call/);
});

test("deletes expired calls", async () => {
  await listed("a call", ({ target }) => target === "hello");
  const [id = ""] = await worker.objects("McpRecorder");
  const rows = async () => (await worker.sql("McpRecorder", id, "SELECT id FROM call")).length;
  expect(await rows()).toBeGreaterThan(0);
  await worker.advance(2 * 3_600_000);
  expect((await ask<{ calls: Listed[] }>("list_calls")).calls.filter(({ target }) => target === "hello")).toEqual([]);
  await until("the deletion", async () => (await rows()) === 0);
});
