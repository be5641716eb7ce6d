// @module-tag long
/** Fault injection with `mcp-edge dev --faults` on the real wrangler: the effects of faults, and how they are recorded. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { FaultResult, ObjectState } from "../../src/recorder/api.ts";
import { openStream } from "../../src/testing/http-stream.ts";
import { until } from "../../src/testing/until.ts";
import { LegacyClient, ModernClient } from "../worker/client.ts";
import { type Dev, Project, START_MS } from "./dev-project.ts";

const INDEX = `
import { DurableObject } from "cloudflare:workers";
import { McpServer } from "mcp-edge";
import { edge, page } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";

let instances = 0;
export class Clock extends DurableObject {
  #instance = ++instances;
  instance() { return this.#instance; }
  async wake(ms) { await this.ctx.storage.setAlarm(Date.now() + ms); return "set"; }
  alarm() { console.log("the alarm runs"); }
}
const server = new McpServer({ name: "faults", version: "1.0.0" });
const clock = (ctx) => ctx.env.CLOCKS.getByName("one");
server.tool("instance", {}, async (_, ctx) => String(await clock(ctx).instance()));
server.tool("wake", {}, (_, ctx) => clock(ctx).wake(60 * 60_000));
server.tool("now", {}, () => String(Date.now()));
server.tool("ask", {}, async (_, ctx) => (await ctx.elicit("Go on?", { type: "object", properties: {} })).action);
server.tool("wait", {}, async (_, ctx) => { for (let at = 0; at < 600; at += 1) { ctx.progress(at); await new Promise((resolve) => setTimeout(resolve, 100)); } return "waited"; });
const app = edge(server, { use: [durable(), page()] });
export default app;
export class McpObject extends app.McpObject {}
`;
const CONFIG = `name = "faults"
main = "src/index.ts"
compatibility_date = "2026-10-20"
compatibility_flags = ["enable_request_signal"]
[[durable_objects.bindings]]
name = "CLOCKS"
class_name = "Clock"
[exports.McpObject]
type = "durable-object"
storage = "sqlite"
[exports.Clock]
type = "durable-object"
storage = "sqlite"
`;

const project = new Project(INDEX, CONFIG);
let dev: Dev;
beforeAll(async () => {
  dev = await project.dev("--faults", "--contents");
}, START_MS);
afterAll(async () => {
  await dev[Symbol.asyncDispose]();
  project[Symbol.dispose]();
});

const fault = (body: object) => dev.api<FaultResult>("faults", body);
const call = async (tool: string) => {
  const { result } = (await (await new ModernClient(dev.url()).call(tool)).json()) as {
    result: { content: { text: string }[] };
  };
  return result.content[0]?.text ?? "";
};
async function clockObject(): Promise<ObjectState> {
  const objects = await dev.api<ObjectState[]>("objects");
  return objects.find(({ className }) => className === "Clock") as ObjectState;
}

test("an object can be evicted and reset, and the next call reaches a new instance", async () => {
  const first = await call("instance");
  expect(await call("instance")).toBe(first);
  const { id, name } = await clockObject();
  expect(name).toBe("one");
  expect(await fault({ kind: "evict", object: id })).toMatchObject({ done: true });
  const second = await call("instance");
  expect(second).not.toBe(first);
  expect(await fault({ kind: "abort", object: id })).toMatchObject({ done: true });
  expect(await call("instance")).not.toBe(second);
  expect(await fault({ kind: "abort", object: "0".repeat(64) })).toMatchObject({ done: false });
});

test("advancing the clock runs due alarms, which are recorded", async () => {
  expect(await call("wake")).toBe("set");
  const { id, alarmAtMs = 0 } = await clockObject();
  expect(alarmAtMs).toBeGreaterThan(Date.now() + 50 * 60_000);
  expect(await fault({ kind: "clock", ms: 2 * 60 * 60_000 })).toMatchObject({
    done: true,
    text: expect.stringMatching(/1 alarm ran/),
  });
  expect(Number(await call("now"))).toBeGreaterThan(Date.now() + 60 * 60_000);
  const entry = await dev.entry("the alarm", ({ kind }) => kind === "alarm");
  expect(entry.counts.alarmsRun).toBe(1);
  expect(entry.invocations.flatMap(({ logs }) => logs.map(({ text }) => text))).toContain("the alarm runs");
  expect(await fault({ kind: "alarm", object: id })).toEqual({ done: false, text: "No alarm is set." });
  await call("wake");
  expect(await fault({ kind: "alarm", object: id })).toEqual({ done: true, text: "The alarm ran." });
  const summaries = await dev.api<{ http?: { path: string } }[]>("entries");
  expect(summaries.filter(({ http }) => http?.path.includes("control"))).toEqual([]);
});

test("a running stream can be cut, and answers to questions can be delayed", async () => {
  const client = await LegacyClient.open(dev.url(), { capabilities: { elicitation: {} } });
  const headers = { "Mcp-Session-Id": client.sessionId, "MCP-Protocol-Version": "2025-11-25" };
  const open = (id: number, name: string) =>
    openStream(dev.url(), {
      body: { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: {}, _meta: { progressToken: id } } },
      headers,
    });
  const stream = await open(1, "wait");
  await stream.waitFor("progress", ({ messages }) => messages.length > 1);
  const running = (await dev.api<{ id: string; target?: string; outcome: string }[]>("entries")).find(
    ({ target, outcome }) => target === "wait" && outcome === "running",
  );
  expect(await fault({ kind: "cut", entry: running?.id })).toMatchObject({ done: true });
  expect(await stream.end()).toBe("lost");
  expect((await dev.api<{ outcome: string }>(`entries/${running?.id}`)).outcome).toBe("cut-on-purpose");

  const asked = await open(2, "ask");
  await asked.waitFor("the question", ({ messages }) => messages.length > 0);
  expect(await fault({ kind: "delay", ms: 1_500 })).toMatchObject({ done: true });
  const [question] = asked.messages as { id: string }[];
  await client.send({ jsonrpc: "2.0", id: question?.id, result: { action: "accept", content: {} } });
  await asked.end();
  const answer = await dev.entry("the answer", ({ kind }) => kind === "answer");
  expect(answer.ms).toBeGreaterThanOrEqual(1_400);
  expect(await fault({ kind: "delay", ms: 0 })).toMatchObject({ done: true });
});

test("workerd can be killed, and restarts with the same state", async () => {
  const client = await LegacyClient.open(dev.url());
  expect(await fault({ kind: "kill" })).toMatchObject({ done: true });
  await until("the next answer", async () => {
    const response = await client.call("now").catch(() => undefined);
    const text = await response?.text();
    return text?.includes("content") === true;
  });
});

test("SIGTERM removes the main module that was written for --faults", async () => {
  const entries = () => readdirSync(join(project.folder, "src")).filter((name) => name.startsWith(".mcp-edge"));
  expect(entries()).toHaveLength(1);
  await dev.stop();
  expect(entries()).toEqual([]);
});
