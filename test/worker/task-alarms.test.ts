// @module-tag long
/** A request sets the alarm of a task again if the runtime has given it up. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { until } from "../http/wire.ts";
import { TaskClient } from "./task-client.ts";

const OBJECT = "McpObject";
const SOURCE = `
  import { exports } from "cloudflare:workers";
  import { McpServer, retrying } from "./src/core/index.ts";
  import { tasks } from "./src/worker/tasks/index.ts";
  import { edge } from "./src/worker/index.ts";
  const server = new McpServer({ name: "alarms", version: "1.0.0" });
  server.tool("ask", { task: "required" }, async (_, ctx) => {
    await ctx.elicit("Go on?", { type: "object", properties: {} });
    return "asked";
  });
  let runs = 0;
  server.tool("retry", { task: "required" }, async (_, ctx) => {
    runs += 1;
    const fail = () => { throw new Error("not yet"); };
    return String(await ctx.step("fail", retrying(fail, { retries: 3, backoffMs: 3_600_000, backoffMaxMs: 3_600_000 })));
  });
  const app = edge(server, { use: [tasks()] });
  export class McpObject extends app.McpObject {
    async failWith(retryCount) {
      this.ctx.storage.kv.put("state/0000", "{");
      await this.alarm({ retryCount }).catch(() => undefined);
    }
    setTo(atMs) { return atMs ? this.ctx.storage.setAlarm(atMs) : this.ctx.storage.deleteAlarm(); }
  }
  export default { async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/mcp") return app.fetch(request, env, ctx);
    if (pathname === "/runs") return Response.json(runs);
    const object = exports.McpObject.get(exports.McpObject.idFromString(searchParams.get("id")));
    if (pathname === "/fail") await object.failWith(Number(searchParams.get("retries")));
    else await object.setTo(Number(searchParams.get("at")));
    return new Response("ok");
  } };`;

let worker: TestWorker;
let tasks: TaskClient;
beforeAll(async () => {
  worker = await startWorker({ entry: { source: SOURCE }, objects: [OBJECT] });
  tasks = new TaskClient(worker.url("/mcp"));
});
afterAll(() => worker.stop());

const get = async (path: string) => (await fetch(worker.url(path))).text();
const alarmOf = async (id: string) => (await worker.storage(OBJECT, id)).alarmAtMs;

async function start(tool: string): Promise<{ taskId: string; id: string }> {
  const before = new Set(await worker.objects(OBJECT));
  const taskId = await tasks.start(tool);
  const [id = ""] = (await worker.objects(OBJECT)).filter((each) => !before.has(each));
  return { taskId, id };
}

test.each([0, 1])(
  "a task that waits for an answer expires, although its alarm was lost or moved (%s)",
  async (later) => {
    const { taskId, id } = await start("ask");
    await tasks.reaches(taskId, "input_required");
    const expiresAtMs = await alarmOf(id);
    await get(`/set?id=${id}&at=${later && (expiresAtMs ?? 0) + 3_600_000}`);
    await tasks.get(taskId);
    expect(await alarmOf(id)).toBe(expiresAtMs);
  },
);

test.each([0, 1])(
  "a step that waits for its next try is tried at that time, although its alarm was lost or moved (%s)",
  async (later) => {
    const { taskId, id } = await start("retry");
    await until("the first try has failed", async () => ((await alarmOf(id)) ?? 0) > Date.now() + 60_000);
    const triedAtMs = await alarmOf(id);
    const runs = await get("/runs");
    await get(`/set?id=${id}&at=${later && (triedAtMs ?? 0) + 7_200_000}`);
    await tasks.get(taskId);
    expect(await alarmOf(id)).toBe(triedAtMs);
    expect(await get("/runs")).toBe(runs);
  },
);

test.each([
  [4, false],
  [5, true],
])(
  "an alarm that fails in retry %i sets the next alarm: %s, because the platform drops it after six",
  async (retries, isSet) => {
    const { taskId, id } = await start("ask");
    await tasks.reaches(taskId, "input_required");
    await get(`/set?id=${id}&at=0`);
    await worker.abort(OBJECT, id);
    await get(`/fail?id=${id}&retries=${retries}`);
    expect((await alarmOf(id)) !== undefined).toBe(isSet);
  },
);
