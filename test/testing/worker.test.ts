import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { choosePort } from "../../src/node/free-port.ts";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { load } from "../../src/testing/tools.ts";
import { expectLogs } from "../harness/logs.ts";

expectLogs(/^Using secrets defined in /);

const ENTRY = "test/testing/fixtures/counter.ts";
const OBJECTS = `
[[durable_objects.bindings]]
name = "COUNTER"
class_name = "Counter"
`;
const WRANGLER_TOML = `
name = "counter"
main = "counter.ts"
compatibility_date = "2026-10-20"
[vars]
GREETING = "from the file"
${OBJECTS}
[[migrations]]
tag = "v1"
new_sqlite_classes = ["Counter"]
[env.staging.vars]
GREETING = "from staging"
${OBJECTS.replace("[[", "[[env.staging.")}
`;
let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({
    entry: ENTRY,
    objects: { COUNTER: "Counter" },
    bindings: { GREETING: "hello" },
    outbound: () => new Response("from the test"),
  });
});
afterAll(() => worker.stop());

let names = 0;

function newName(): string {
  names += 1;
  return `object-${names}`;
}

type Count = { instance: string; inMemory: number; stored: number; className: string };

async function get(path: string, of = worker): Promise<string> {
  const response = await fetch(of.url(path));
  expect(response.status).toBe(200);
  return response.text();
}

async function count(name: string, of = worker): Promise<Count> {
  return JSON.parse(await get(`/count?name=${name}`, of)) as Count;
}

test("bindings reach the Worker, and the test handles its fetches", async () => {
  expect(await get("/greeting")).toBe("hello");
  expect(await get("/out")).toBe("from the test");
});

test("a Durable Object class keeps its name", async () => {
  expect((await count(newName())).className).toBe("Counter");
});

test("an evicted object returns as a new instance with its storage", async () => {
  const name = newName();
  const before = await count(name);
  expect(await count(name)).toMatchObject({ instance: before.instance, inMemory: 2 });
  expect(await worker.evict("COUNTER", name)).toBe(1);
  // It is no longer in memory.
  expect(await worker.evict("COUNTER", name)).toBe(0);
  const after = await count(name);
  expect(after).toMatchObject({ inMemory: 1, stored: 3 });
  expect(after.instance).not.toBe(before.instance);
});

test("all objects of a binding are evicted at once", async () => {
  const [one, other] = [newName(), newName()];
  await count(one);
  await count(other);
  await worker.evict("COUNTER");
  expect(await count(one)).toMatchObject({ inMemory: 1, stored: 2 });
  expect(await count(other)).toMatchObject({ inMemory: 1, stored: 2 });
});

test("an aborted object returns as a new instance with its storage", async () => {
  const name = newName();
  const before = await count(name);
  await worker.abort("COUNTER", name);
  const after = await count(name);
  expect(after).toMatchObject({ inMemory: 1, stored: 2 });
  expect(after.instance).not.toBe(before.instance);
});

async function openSocket(name: string): Promise<{ socket: WebSocket; ask(): Promise<string>; closed: Promise<void> }> {
  const socket = new WebSocket(worker.url(`/socket?name=${name}`).replace("http", "ws"));
  const heard = (type: "open" | "close" | "message") =>
    new Promise<MessageEvent>((resolve) => socket.addEventListener(type, (event) => resolve(event as MessageEvent)));
  const closed = heard("close").then(() => undefined);
  await heard("open");
  const ask = async () => {
    const answer = heard("message");
    socket.send("which instance?");
    return String((await answer).data);
  };
  return { socket, ask, closed };
}

test("an evicted object keeps its WebSockets hibernating, or closes them, and an aborted object loses them", async () => {
  const name = newName();
  const one = await openSocket(name);
  const first = await one.ask();
  await worker.evict("COUNTER", name);
  const second = await one.ask();
  expect(second).not.toBe(first);
  await worker.evict("COUNTER", name, { webSockets: "close" });
  await one.closed;
  const other = await openSocket(name);
  expect(await other.ask()).not.toBe(second);
  await worker.abort("COUNTER", name);
  await other.closed;
});

test("an object's storage can be read: keys, rows, alarm and size", async () => {
  const name = newName();
  await count(name);
  const { keys, tables, alarmAtMs, bytes } = await worker.storage("COUNTER", name);
  expect(keys).toEqual({ last: { at: "count" } });
  expect(tables).toEqual({ counts: [{ name: "all", value: 1 }] });
  expect(alarmAtMs).toBeUndefined();
  expect(bytes).toBeGreaterThan(0);
  expect(await worker.sql("COUNTER", name, "SELECT value + ? AS sum FROM counts", 2)).toEqual([{ sum: 3 }]);
});

test("ids of objects with storage are listed, and can be used like the objects' names", async () => {
  const before = await worker.objects("COUNTER");
  const name = newName();
  await count(name);
  const [id, ...others] = (await worker.objects("COUNTER")).filter((each) => !before.includes(each));
  expect(others).toEqual([]);
  expect(id).toMatch(/^[0-9a-f]{64}$/);
  expect((await worker.storage("COUNTER", id ?? "")).tables).toEqual({ counts: [{ name: "all", value: 1 }] });
});

test("an alarm that is days away runs at once, can set the next alarm, and reports its exception", async () => {
  const name = newName();
  expect(await worker.runAlarm("COUNTER", name)).toBe(false);
  await get(`/alarm?name=${name}&ms=500000000`);
  expect(await worker.runAlarm("COUNTER", name)).toBe(true);
  const { keys, alarmAtMs } = await worker.storage("COUNTER", name);
  expect(keys).toEqual({ alarms: 1 });
  expect(alarmAtMs).toBeGreaterThan(0);
  await expect(worker.runAlarm("COUNTER", name)).rejects.toThrow("the second alarm fails");
  expect(await worker.runAlarm("COUNTER", name)).toBe(false);
});

test("an alarm can wait for the test, which handles its fetches while it runs", async () => {
  const name = newName();
  await get(`/fetch-in-alarm?name=${name}`);
  expect(await worker.runAlarm("COUNTER", name)).toBe(true);
  expect((await worker.storage("COUNTER", name)).keys).toEqual({ answer: "from the test" });
});

test("an unknown binding causes an error with the existing bindings", async () => {
  await expect(worker.evict("COUNT", "one")).rejects.toThrow(
    '"COUNT" is not a Durable Object class or binding of this Worker. Available: COUNTER, Counter.',
  );
});

test("after a kill the port is closed, and after a restart it is open again with all acknowledged writes", {
  tags: "long",
}, async () => {
  await using own = await startWorker({ entry: ENTRY, objects: { COUNTER: "Counter" } });
  const { origin, pid } = own;
  for (let i = 0; i < 20; i += 1) await count("one", own);
  await own.kill();
  expect(own.pid).toBeUndefined();
  await expect(fetch(origin)).rejects.toThrow();
  await expect(own.objects("COUNTER")).rejects.toThrow("The Worker is not running");
  await own.restart();
  expect(own.origin).toBe(origin);
  expect(own.pid).not.toBe(pid);
  expect(await count("one", own)).toMatchObject({ inMemory: 1, stored: 21 });
});

test("a kill of one of several Workers ends only this Worker", { tags: "long" }, async () => {
  const options = { entry: ENTRY, objects: { COUNTER: "Counter" } };
  const [one, other] = await Promise.all([startWorker(options), startWorker(options)]);
  await using _one = one;
  await using _other = other;
  const { pid } = other;
  await one.kill();
  expect(await count("one", other)).toMatchObject({ stored: 1 });
  expect(other.pid).toBe(pid);
});

test("a wrangler configuration provides entry, objects, vars and environment; options take precedence", {
  tags: "long",
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "wrangler-"));
  try {
    writeFileSync(join(folder, "counter.ts"), readFileSync(ENTRY));
    writeFileSync(join(folder, ".dev.vars"), "SECRET=from-dev-vars\n");
    writeFileSync(join(folder, "wrangler.toml"), WRANGLER_TOML);
    const options = { root: folder, wrangler: "wrangler.toml" };
    await using plain = await startWorker(options);
    expect(await get("/greeting", plain)).toBe("from the file, seen in from-dev-vars");
    expect(await count("one", plain)).toMatchObject({ stored: 1 });
    await plain.evict("COUNTER", "one");
    expect(await count("one", plain)).toMatchObject({ inMemory: 1, stored: 2 });
    await using staged = await startWorker({ ...options, environment: "staging", bindings: { SECRET: "the test" } });
    expect(await get("/greeting", staged)).toBe("from staging, seen in the test");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("with nodejs_compat Node's modules have both names", { tags: "long" }, async () => {
  const source = `
    import { Buffer } from "buffer";
    import { basename } from "node:path";
    export default { fetch: () => new Response(Buffer.from(basename("/a/b")).toString("hex")) };`;
  await using own = await startWorker({ entry: { source }, compatibilityFlags: ["nodejs_compat"] });
  expect(await get("/", own)).toBe("62");
});

test("a Worker without an entry, and a Worker that does not build, are refused with the reason", async () => {
  await expect(startWorker({})).rejects.toThrow(
    "startWorker() needs the option `wrangler` (a configuration file) or `entry`.",
  );
  await expect(startWorker({ entry: { source: 'import "./nowhere.ts"; export default {};' } })).rejects.toThrow(
    "nowhere.ts",
  );
});

test("a tool that is not installed causes an error with the command that installs it", async () => {
  await expect(load(process.cwd(), "no-such-tool")).rejects.toThrow(
    'mcp-edge/testing requires the package "no-such-tool"',
  );
});

test("a tool that is too old is skipped if a new enough tool exists", async () => {
  const folder = mkdtempSync(join(tmpdir(), "old-tool-"));
  const place = join(folder, "node_modules/esbuild");
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "package.json"), JSON.stringify({ name: "esbuild", version: "0.24.9", main: "index.js" }));
  writeFileSync(join(place, "index.js"), "exports.version = 'the old one';");
  try {
    expect(await load(folder, "esbuild")).toMatchObject({ version: expect.stringMatching(/^\d/) });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("developer tools can attach to the Worker at inspectorPort", { tags: "long" }, async () => {
  const inspectorPort = await choosePort();
  await using inspected = await startWorker({ entry: { source: "export default {}" }, inspectorPort });
  expect(inspected.pid).toBeGreaterThan(0);
  const listed = (await (await fetch(`http://127.0.0.1:${inspectorPort}/json`)).json()) as { id: string }[];
  expect(listed.map(({ id }) => id)).toContain("core:user:worker");
});
