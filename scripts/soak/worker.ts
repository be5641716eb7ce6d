/**
 * The Worker that soak.ts uses: both eras and HTTP+SSE, sessions that live for seconds. The variable `LEAK` makes it leak on purpose, so
 * that a test can show that the soak test detects leaks.
 */
import * as z from "zod";
import { McpServer } from "../../src/core/index.ts";
import { httpSse } from "../../src/worker/http-sse/index.ts";
import { hub } from "../../src/worker/hub/index.ts";
import { edge } from "../../src/worker/index.ts";
import { once } from "../../src/worker/once/index.ts";
import { sessions } from "../../src/worker/sessions/index.ts";
import type { Leak } from "./leaks.ts";

interface Env {
  readonly LEAK?: readonly Leak[];
}

const server = new McpServer<Env>({ name: "soak", version: "1.0.0", onError: () => undefined });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** The memory that a leaking server keeps. */
const kept: Uint8Array[] = [];

server.tool("plain", {}, (_, ctx) => {
  if (ctx.env.LEAK?.includes("memory")) kept.push(new Uint8Array(256 * 1024));
  return "done";
});
server.tool("telling", { input: z.object({ count: z.number().int() }) }, async ({ count }, ctx) => {
  for (let value = 1; value <= count; value += 1) {
    ctx.progress(value);
    if (value % 20 === 0) await pause(5);
  }
  return "done";
});
server.tool("slow", {}, async (_, ctx) => {
  for (let wait = 0; wait < 40 && !ctx.signal.aborted; wait += 1) await pause(50);
  return "done";
});
server.tool("asking", {}, async (_, ctx) => {
  const { action } = await ctx.elicit("Go on?", z.object({ yes: z.boolean() }));
  return action;
});
server.tool("changing", {}, async () => {
  await server.toolsChanged();
  return "told";
});
server.tool("booking", { once: true }, () => "booked");
server.resource("soak://a", { name: "a" }, () => "a");

const app = edge(server, {
  heartbeatMs: 500, // A handler that asks keeps its session until it is answered, or this time is over.
  limits: { elicitTimeoutMs: 2_000 },
  use: [
    sessions({ ttlMs: 4_000, resumeMs: 1_500, progressRetentionMs: 3_000 }),
    hub(),
    httpSse(),
    once({ ttlMs: 3_000 }),
  ],
});
export default app;

export class McpObject extends app.McpObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    if (ctx.id.name !== undefined) return;
    if (env.LEAK?.includes("rows")) ctx.waitUntil(leakRow(ctx));
    if (env.LEAK?.includes("alarms")) ctx.waitUntil(ctx.storage.setAlarm(Date.now() + 3_600_000));
  }
}

/** Adds a row that nothing deletes, after the object has had time to delete its own. */
async function leakRow(ctx: DurableObjectState): Promise<void> {
  await pause(100);
  ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS leak(value TEXT)");
  ctx.storage.sql.exec("INSERT INTO leak VALUES ('left')");
}
