/** All objects of an endpoint have one class. Each accepts only calls for its own role and endpoint. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { toTaskId } from "../../src/worker/tasks/task-id.ts";
import { Listener } from "../conformance/listen-support.ts";
import { until } from "../http/wire.ts";
import { LegacyClient, ModernClient, readAnswer } from "./client.ts";
import { TaskClient } from "./task-client.ts";

const ROLES = ["session", "hub", "keys", "once", "task"] as const;
type Role = (typeof ROLES)[number];
/** One method of each role. */
const METHODS = { session: "admit", hub: "publish", keys: "keys", once: "none", task: "read" } as const;

let worker: TestWorker;
let client: LegacyClient;
const ids = new Map<Role, string>();

const idOf = (role: Role) => ids.get(role) ?? "";
const post = async (path: string, body: object | string) => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(worker.url(path), { method: "POST", body: text });
};
const call = async (id: string, target: string, method: string, ...args: unknown[]) =>
  (await post(`/call/${id}`, { target, method, args })).json() as Promise<{ answer?: unknown; refused?: string }>;

beforeAll(async () => {
  worker = await startWorker({ entry: "test/worker/fixtures/roles.ts", objects: ["McpObject", "AdminObject"] });
  client = await LegacyClient.open(worker.url("/mcp"));
  await readAnswer(client.call("change"));
  await readAnswer(
    new ModernClient(worker.url("/mcp")).call("pay", {}, { meta: { "mcp-edge/idempotencyKey": "key" } }),
  );
  // A session that has stored something.
  await readAnswer(client.request("logging/setLevel", { level: "error" }));
  await new TaskClient(worker.url("/mcp")).start("work");
  await until("the hub was called", async () => (await worker.objects("McpObject", "hub")).length === 1);
  for (const role of ROLES) {
    const [id = ""] = await worker.objects("McpObject", role);
    ids.set(role, id);
  }
});
afterAll(() => worker.stop());

test("an object of each role exists", () => {
  expect([...ids.keys()]).toEqual(ROLES);
  expect(new Set(ids.values()).size).toBe(ROLES.length);
});

describe.each([false, true])("a call for another role (evicted before: %s)", (isEvicted) => {
  test.each(
    ROLES.flatMap((own) => ROLES.map((called) => [own, called] as const)).filter(([own, called]) => own !== called),
  )("an object of the role %s refuses calls for %s", async (own, called) => {
    // A hibernating hub without sockets is recognised by its name, which a call by id does not contain.
    if (isEvicted && own === "hub") return;
    if (isEvicted) await worker.evict("McpObject", idOf(own));
    const { answer, refused } = await call(idOf(own), `${called}/McpObject`, METHODS[called], []);
    // A client can send any id as a task id, so for the task role the error is "unknown task".
    if (called === "task") expect([answer, refused]).toEqual([null, undefined]);
    else expect(refused).toMatch(/role/);
    if (called !== "task") {
      const dialled = await post(`/dial/${idOf(own)}`, `${called}/McpObject`);
      expect(await dialled.json()).toEqual([421, expect.stringContaining("role")]);
    }
  });
});

test.each(ROLES)("a task id made from the id of a %s object is unknown and has no effect", async (role) => {
  if (role === "task") return;
  const before = await worker.storage("McpObject", idOf(role));
  const tasks = new TaskClient(worker.url("/mcp"));
  const taskId = toTaskId(idOf(role));
  for (const [method, more] of [
    ["tasks/get", {}],
    ["tasks/update", { inputResponses: {} }],
    ["tasks/cancel", {}],
  ] as const) {
    expect(await tasks.error(method, { taskId, ...more })).toMatchObject({ code: -32602 });
  }
  expect(await worker.storage("McpObject", idOf(role))).toEqual(before);
});

test("an unused object is not a task either, and stores nothing", async () => {
  expect(await call("new", "task/McpObject", "read", "who")).toEqual({ answer: null });
  expect(await call("new", "task/McpObject", "work")).toEqual({ answer: null });
});

test("a task is not created in an object that has another role", async () => {
  expect((await call(idOf("session"), "task/McpObject", "create", {})).refused).toMatch(/role/);
});

test.each(ROLES)("a call for the role %s of another endpoint's class is refused, naming both", async (role) => {
  const { refused } = await call(idOf(role), `${role}/AdminObject`, role === "task" ? "create" : METHODS[role], []);
  expect(refused).toContain("the class McpObject was called for the class AdminObject");
});

describe("finding the role of an object after eviction", () => {
  test("works in the alarm of a task that waits", async () => {
    const id = idOf("task");
    const before = await worker.storage("McpObject", id);
    await worker.evict("McpObject", id);
    expect(await worker.runAlarm("McpObject", id)).toBe(true);
    expect((await worker.storage("McpObject", id)).keys).toEqual(before.keys);
  });

  test("works in the alarm of a call that runs once, which keeps its outcome until it expires", async () => {
    const id = idOf("once");
    await worker.evict("McpObject", id);
    expect(await worker.runAlarm("McpObject", id)).toBe(true);
    expect(Object.keys((await worker.storage("McpObject", id)).keys)).toEqual([expect.stringMatching(/^claim:/)]);
  });

  test("works in the alarm of a session", async () => {
    const id = idOf("session");
    await worker.evict("McpObject", id);
    expect(await worker.runAlarm("McpObject", id)).toBe(true);
    expect((await readAnswer(client.call("hello"))).text).toBe("Hello!");
  });

  test("works in the WebSocket events of a hibernating hub and session", async () => {
    const listener = await Listener.ofSession(client);
    await worker.evict("McpObject");
    // The Worker sends its filter on its existing socket, and the hub notifies it on that socket.
    await readAnswer(client.call("change"));
    await listener.hears("notifications/tools/list_changed");
    listener.leave();
  });
});

test("the secret MCP_KEYS replaces the keys object, so no object of that role is created", {
  tags: "long",
}, async () => {
  const keyed = await startWorker({
    entry: "test/worker/fixtures/roles.ts",
    objects: ["McpObject", "AdminObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
  try {
    const known = await LegacyClient.open(keyed.url("/mcp"));
    expect((await readAnswer(known.call("hello"))).text).toBe("Hello!");
    expect(await keyed.objects("McpObject", "keys")).toEqual([]);
  } finally {
    await keyed.stop();
  }
});
