/** Objects of a role that the deploy does not serve, and objects that store nothing. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { toTaskId } from "../../src/worker/tasks/task-id.ts";
import { TaskClient } from "./task-client.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const OBJECT = "McpObject";

/** Whether the class has its parts is a member of the Worker, so that one state can be served by both. */
const SOURCE = `
  import { exports } from "cloudflare:workers";
  import { McpServer } from "./src/core/index.ts";
  import { durable } from "./src/worker/durable/index.ts";
  import { hub } from "./src/worker/hub/index.ts";
  import { edge, objects } from "./src/worker/index.ts";
  const server = new McpServer({ name: "unserved", version: "1.0.0" });
  server.tool("work", { task: "required" }, async (_, ctx) => {
    await ctx.elicit("Go on?", { type: "object", properties: {} });
    return "worked";
  });
  const whole = edge(server, { use: [durable({ className: "McpObject" })] });
  const part = edge(server, { path: "/part", use: [hub(), objects({ className: "PartObject" })] });
  let isWhole = true;
  const said = [];
  console.error = (...each) => void said.push(each.join(" "));
  export class McpObject extends whole.McpObject {
    #part;
    async alarm(info) {
      if (isWhole) return super.alarm(info);
      this.#part ??= new part.McpObject(this.ctx, this.env);
      return this.#part.alarm(info);
    }
    wake() { return this.alarm({ retryCount: 0 }); }
    soon() { return this.ctx.storage.setAlarm(Date.now() + 3_600_000); }
  }
  export class PartObject extends part.McpObject {}
  export default { async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/mcp") return whole.fetch(request, env, ctx);
    if (pathname === "/parts") { isWhole = searchParams.get("whole") === "yes"; return new Response("ok"); }
    if (pathname === "/said") return Response.json(said);
    const object = exports.McpObject.get(exports.McpObject.idFromName(searchParams.get("name")));
    const target = searchParams.get("target");
    try {
      return Response.json(await (target ? object.callRole(target, "publish", []) : object[searchParams.get("call")]()) ?? null);
    } catch (error) {
      return Response.json(String(error));
    }
  } };`;

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: { source: SOURCE }, objects: ["McpObject", "PartObject"] });
});
afterAll(() => worker.stop());

const get = async (path: string) => (await fetch(worker.url(path))).text();
/** Lets alarms be handled by a class with all parts, or by one with a hub only. */
const serve = (isWhole: boolean) => get(`/parts?whole=${isWhole ? "yes" : "no"}`);
const waitMs = async (id: string) => ((await worker.storage(OBJECT, id)).alarmAtMs ?? Number.NaN) - Date.now();

describe("an object that stores nothing", () => {
  test("does not take a role from an alarm, so that it still serves the role of its name", async () => {
    await serve(true);
    expect(await get("/?name=hub:7&call=wake")).toBe("null");
    expect(await get("/?name=hub:7&target=hub/McpObject")).toBe("0");
  });

  test.each([true, false])("sets no alarm and writes no row (all roles served: %s)", async (isWhole) => {
    await serve(isWhole);
    const name = `hub:8${isWhole}`;
    await get(`/?name=${name}&call=soon`);
    expect(await worker.runAlarm(OBJECT, name)).toBe(true);
    expect(await worker.storage(OBJECT, name)).toMatchObject({ keys: {}, tables: {}, alarmAtMs: undefined });
  });
});

describe("an object whose part was removed from the code", () => {
  test("keeps its data, waits twice as long each time up to 30 days, and continues with the next request", {
    tags: "long",
  }, async () => {
    await serve(true);
    const tasks = new TaskClient(worker.url("/mcp"));
    const taskId = await tasks.start("work");
    await tasks.reaches(taskId, "input_required");
    const [id = ""] = await worker.objects(OBJECT, "task");
    expect(toTaskId(id)).toBe(taskId);
    const before = await worker.storage(OBJECT, id);
    await serve(false);
    await worker.evict(OBJECT, id);
    for (let times = 0; times < 20; times += 1) {
      expect(await worker.runAlarm(OBJECT, id)).toBe(true);
      const expectedMs = Math.min(2 ** times * MINUTE_MS, 30 * DAY_MS);
      const ms = await waitMs(id);
      expect(ms).toBeLessThanOrEqual(expectedMs);
      expect(ms).toBeGreaterThan(expectedMs - MINUTE_MS);
    }
    const said = JSON.parse(await get("/said")) as string[];
    expect(said[0]).toContain('the role "task"');
    expect(said).toHaveLength(20);
    expect((await worker.storage(OBJECT, id)).keys).toMatchObject(before.keys);

    await serve(true);
    await worker.evict(OBJECT, id);
    expect((await tasks.get(taskId)).status).toBe("input_required");
    // The alarm that the request has set may have run already.
    const { alarmAtMs = 0 } = await worker.storage(OBJECT, id);
    expect(alarmAtMs).toBeLessThanOrEqual(before.alarmAtMs ?? 0);
    expect((await worker.storage(OBJECT, id)).keys).toEqual(before.keys);
  });
});
