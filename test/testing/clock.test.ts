// @module-tag long
import { afterAll, beforeAll, expect, test } from "vitest";
import { newKeys, openStream, startWorker, type TestWorker } from "../../src/testing/index.ts";

const HOUR_MS = 3_600_000;
const source = `
import { DurableObject } from "cloudflare:workers";
export class Tick extends DurableObject {
  async begin() { await this.ctx.storage.setAlarm(Date.now() + ${HOUR_MS}); }
  async alarm() {
    await this.ctx.storage.put("ticks", ((await this.ctx.storage.get("ticks")) ?? 0) + 1);
    const { scheduledTime } = arguments[0];
    await this.ctx.storage.setAlarm(scheduledTime + ${HOUR_MS});
  }
}
export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname === "/begin") await env.TICK.getByName("one").begin();
    const date = new Date();
    return Response.json({ now: Date.now(), date: date.getTime(), text: Date(), fixed: new Date(0).getTime(), isDate: date instanceof Date, twin: env.TWIN ? await (await env.TWIN.fetch(request)).json() : undefined });
  },
};`;

type Times = { now: number; date: number; text: string; fixed: number; isDate: boolean; twin?: Times };

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: { source }, objects: { TICK: "Tick" }, twin: true });
});
afterAll(() => worker.stop());

async function times(path = "/"): Promise<Times> {
  return (await (await fetch(worker.url(path))).json()) as Times;
}

test("advance() moves the clock of every isolate and runs due alarms, even after a restart", async () => {
  const before = await times("/begin");
  expect(await worker.advance(HOUR_MS / 2)).toBe(0);
  expect(await worker.advance(2 * HOUR_MS)).toBe(2);
  expect((await worker.storage("TICK", "one")).keys).toEqual({ ticks: 2 });
  for (const after of [await times(), (await times()).twin]) {
    expect(after?.now).toBeGreaterThanOrEqual(before.now + 2.5 * HOUR_MS);
    expect(after?.date).toBeGreaterThanOrEqual(before.now + 2.5 * HOUR_MS);
    expect(Date.parse(after?.text ?? "")).toBeGreaterThanOrEqual(before.now + 2.5 * HOUR_MS - 1_000);
    expect(after).toMatchObject({ fixed: 0, isDate: true });
  }
  await worker.restart();
  expect((await times()).now).toBeGreaterThanOrEqual(before.now + 2.5 * HOUR_MS);
  expect(await worker.advance(HOUR_MS)).toBe(1);
});

test("a server from its wrangler.toml can have a session expire, which leaves nothing stored", async () => {
  await using reference = await startWorker({ wrangler: "wrangler.toml", bindings: { MCP_KEYS: newKeys() } });
  const clientInfo = { name: "test", version: "1.0.0" };
  const post = async (message: object, headers: Record<string, string> = {}) => {
    const stream = await openStream(reference.url("/mcp"), { body: { jsonrpc: "2.0", ...message }, headers });
    await stream.end();
    return stream;
  };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const opened = await post({ id: 1, method: "initialize", params });
  const session = { "Mcp-Session-Id": opened.headers["mcp-session-id"] ?? "", "MCP-Protocol-Version": "2025-11-25" };
  expect((await post({ method: "notifications/initialized" }, session)).status).toBe(202);
  // A level is stored in the session's object.
  const set = await post({ id: 2, method: "logging/setLevel", params: { level: "error" } }, session);
  expect(set.messages).toMatchObject([{ result: {} }]);
  const [id = ""] = await reference.objects("McpObject");
  expect(Object.keys((await reference.storage("McpObject", id)).keys)).not.toEqual([]);
  expect(await reference.advance(15 * 24 * HOUR_MS)).toBe(1);
  const { tables, keys, alarmAtMs } = await reference.storage("McpObject", id);
  expect(Object.values(tables).flat()).toEqual([]);
  expect(keys).toEqual({});
  expect(alarmAtMs).toBeUndefined();
  expect((await post({ id: 3, method: "tools/list" }, session)).status).toBe(404);
});
