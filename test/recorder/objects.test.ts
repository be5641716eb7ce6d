/** The current state of objects, read from their databases while workerd runs. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ObjectReader } from "../../src/node/record/objects/object-states.ts";
import type { ObjectState } from "../../src/recorder/api.ts";
import { roleOfKey, roleOfName } from "../../src/recorder/assemble/roles.ts";
import { Recorder } from "../../src/recorder/recorder.ts";
import { until } from "../../src/testing/until.ts";
import { hubName, KEYS_NAME, storedRole } from "../../src/worker/roles.ts";
import { LegacyClient, ModernClient } from "../worker/client.ts";
import { TaskClient } from "../worker/task-client.ts";
import { type RecordedWorker, startRecorded } from "./recorded-worker.ts";

const SOURCE = `
import * as z from "zod";
import { DurableObject } from "cloudflare:workers";
import { McpServer } from "./src/core/index.ts";
import { durable } from "./src/worker/durable/index.ts";
import { edge } from "./src/worker/index.ts";

export class Shelf extends DurableObject {
  add(title) {
    const { sql, kv } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS book (title TEXT, pages INTEGER)");
    sql.exec("INSERT INTO book VALUES (?, 42)", title);
    kv.put("owner", { name: "Ada", apiKey: "very-secret-value" });
    return sql.exec("SELECT count(*) AS books FROM book").one().books;
  }
}
const server = new McpServer({ name: "objects", version: "1.0.0" });
server.tool("shelve", {}, (_, ctx) => ctx.env.SHELVES.getByName("ada").add("Dune").then(String));
server.tool("ask", { task: "required" }, async (_, ctx) => (await ctx.elicit("Go on?", z.object({ yes: z.boolean() }))).action);
server.tool("steps", {}, (_, ctx) => { ctx.progress(1); return "done"; });
const app = edge(server, { use: [durable({ binding: "MCP" })] });
export default app;
export class McpObject extends app.McpObject {}
`;

let recorded: RecordedWorker;
let reader: ObjectReader;

beforeAll(async () => {
  const objects = { MCP: "McpObject", SHELVES: "Shelf" };
  recorded = await startRecorded({ entry: { source: SOURCE }, objects });
  const folder = join(recorded.worker.stateFolder, "do");
  reader = new ObjectReader({ folder, workerName: "worker" }, recorded.recorder);
});
afterAll(() => recorded[Symbol.asyncDispose]());

async function find(what: string, isFound: (state: ObjectState) => boolean): Promise<ObjectState> {
  let found: ObjectState | undefined;
  await until(what, async () => {
    found = (await reader.states()).find(isFound);
    return found !== undefined;
  });
  return found as ObjectState;
}

test("an object of the author shows its tables and keys, but not their contents", async () => {
  await (await new ModernClient(recorded.url("/mcp")).call("shelve")).text();
  const shelf = await find("the shelf", ({ className, tables }) => className === "Shelf" && tables.length > 0);
  expect(shelf.awake).toBe(true);
  expect(shelf.role).toBeUndefined();
  expect(shelf.tables).toEqual([
    { name: "book", rows: 1, columns: ["title", "pages"], first: [["<text, 4 characters>", "<number>"]] },
  ]);
  expect(shelf.keys).toMatchObject([{ key: "owner", value: { name: "<text, 3 characters>" } }]);
  const call = await recorded.entry("the call", ({ target }) => target === "shelve");
  expect(shelf.entries).toContain(call.id);
});

test("sessions, tasks and keys show their roles and alarms, but no stored values", async () => {
  const session = await LegacyClient.open(recorded.url("/mcp"));
  await (await session.call("steps", {}, { progressToken: 1 })).text();
  const tasks = new TaskClient(recorded.url("/mcp"));
  const taskId = await tasks.start("ask");
  await tasks.reaches(taskId, "input_required");
  const found = await find(
    "the task",
    ({ role, facts }) => role === "task" && facts.some(([, value]) => value === "input_required"),
  );
  expect(found.facts).toContainEqual(["status", "input_required"]);
  expect(found.alarmAtMs).toBeGreaterThan(Date.now());
  const stored = await find("the session", ({ role, tables }) => role === "session" && tables.length > 0);
  expect(stored.facts).toContainEqual(["streams", "1"]);
  expect(stored.alarmAtMs).toBeGreaterThan(Date.now() + 60_000);
  const keys = await find("the keys", ({ role }) => role === "keys");
  expect(keys).toMatchObject({ facts: [["sealing keys", "1"]] });
  expect(JSON.stringify(keys)).toContain("<text, 43 characters>");
  expect(JSON.stringify(await reader.states())).not.toContain(session.sessionId);
});

test("reading the state does not wake objects", { tags: "long" }, async () => {
  const all = await reader.states();
  const [{ id = "" } = {}] = all.filter(({ role }) => role === "task");
  await recorded.worker.evict("McpObject", id);
  await reader.states();
  expect(await recorded.worker.evict("McpObject", id)).toBe(0);
});

test("with contents, an object of the author shows its values, but not its secrets", async () => {
  const recorder = new Recorder({ contents: true, endpointPath: "/mcp", hash: (text) => text });
  const folder = join(recorded.worker.stateFolder, "do");
  const open = new ObjectReader({ folder, workerName: "worker" }, recorder);
  const shelf = (await open.states()).find(({ className }) => className === "Shelf");
  expect([shelf?.tables[0]?.first, shelf?.keys[0]?.value]).toEqual([
    [["Dune", 42]],
    { name: "Ada", apiKey: "[redacted]" },
  ]);
});

test.each(["claim:x", "entry/000001/0000", "keys", "objects", "proofs/1", "rates", "start/0000", "user/me", "session"])(
  "an object that stores %s has the same role as in the Worker",
  (key) => {
    expect(roleOfKey(key)).toBe(storedRole({ list: () => [[key, 1]] }));
  },
);

test.each([[hubName(0)], [hubName(3, 2)], [KEYS_NAME]])(
  "the role of an object is inferred from the name %s",
  (name) => {
    expect(roleOfName(name)).toBe(name.split(":")[0]);
  },
);
