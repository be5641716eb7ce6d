/** Automatic keys: created when first needed, shared by all isolates, and rotated. */
import { afterEach, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker, type WorkerOptions } from "../../src/testing/index.ts";
import { rotate, type StoredKey } from "../../src/worker/keys/rotation.ts";
import type { Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { startHttpTap } from "../oracle/http-tap.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { LegacyClient, ModernClient, readAnswer } from "./client.ts";

const DAY_MS = 24 * 60 * 60_000;
const opened: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

async function start(options: Partial<WorkerOptions> = {}) {
  const worker: TestWorker = await startWorker({
    entry: "test/worker/fixtures/keys.ts",
    objects: { MCP: "McpObject", BROKEN: "BrokenObject" },
    twin: true,
    ...options,
  });
  const oracle = new WireOracle();
  const at = async (path: string) => {
    const tap = await startHttpTap(`${worker.origin}${path}`, { oracle });
    opened.unshift(() => tap.close());
    return tap.url;
  };
  opened.push(async () => {
    if (oracle.messages > 0) oracle.expectClean();
    await worker.stop();
  });
  const asked = async () => Number(await (await fetch(`${worker.origin}/asked`)).text());
  const stored = async () => {
    const [id = ""] = await worker.objects("McpObject", "keys");
    const { keys } = await worker.storage("McpObject", id);
    return (keys as Record<string, unknown>).keys as readonly StoredKey[];
  };
  return { worker, at, asked, stored };
}

/** The status of a session: 200 if it is known. */
const status = async (client: LegacyClient) => (await readAnswer(client.request("tools/list"))).status;

test("the first key is created when it is first needed; warm isolates make no more requests", {
  tags: "long",
}, async () => {
  const { worker, at, asked, stored } = await start();
  expect(await worker.objects("McpObject", "keys")).toEqual([]);
  const url = await at("/mcp");
  const client = await LegacyClient.open(url);
  const before = await asked();
  expect(before).toBe(1);
  for (let count = 0; count < 5; count += 1) await LegacyClient.open(url);
  expect(await status(client)).toBe(200);
  expect(await asked()).toBe(before);
  expect(await stored()).toMatchObject([{ secret: expect.stringMatching(/^[\w-]{43}$/) }]);
});

test("a request for the keys does not leave a timer, which would delay the hibernation of an object", {
  tags: "long",
}, async () => {
  const { worker, at, asked } = await start();
  await LegacyClient.open(await at("/mcp"));
  expect(await asked()).toBe(1);
  expect(await (await fetch(`${worker.origin}/timers`)).text()).toBe("0");
});

test("isolates have the same keys, at once and after SIGKILL, even if they request them at the same time", {
  tags: "long",
}, async () => {
  const { worker, at, stored } = await start();
  const urls = [await at("/mcp"), await at("/twin/mcp")];
  const clients = await Promise.all([...urls, ...urls].map((url) => LegacyClient.open(url)));
  for (const client of clients) for (const url of urls) expect(await status(client.at(url))).toBe(200);
  const before = await stored();
  await worker.restart();
  const again = await at("/mcp");
  for (const client of clients) expect(await status(client.at(again))).toBe(200);
  expect(await stored()).toEqual(before);
});

test("a key is rotated: published before it seals, and kept while sealed values are valid", async () => {
  const { worker, at, stored } = await start();
  const url = await at("/mcp");
  const old = await LegacyClient.open(url);
  const [first] = await stored();
  await worker.advance(20 * DAY_MS - 30 * 60_000);
  await until("the next key is published", async () => {
    await LegacyClient.open(url);
    return (await stored()).length === 2;
  });
  const published = await stored();
  expect(published[0]).toEqual(first);
  const between = await LegacyClient.open(url);
  await worker.advance(2 * 60 * 60_000);
  const late = await LegacyClient.open(url);
  for (const client of [between, late]) expect(await status(client)).toBe(200);
  // The session has expired, its key has not.
  expect(await status(old)).toBe(404);
  // The beginning of an id names its key.
  const keyOf = ({ sessionId = "" }: LegacyClient) => Buffer.from(sessionId, "base64url").toString("hex", 1, 4);
  expect(keyOf(between)).toBe(keyOf(old));
  expect(keyOf(late)).not.toBe(keyOf(old));
});

test("keys() with custom options publishes, uses and drops keys at the right times", () => {
  const rotation = { rotateMs: 100, publishMs: 10, ttlMs: 1_000 };
  let keys: readonly StoredKey[] = [];
  const seen: [atMs: number, count: number][] = [];
  for (let atMs = 0; atMs <= 3_000; atMs += 5) {
    const next = rotate(keys, rotation, atMs);
    if (next !== keys) seen.push([atMs, next.length]);
    keys = next;
    // At each time one key seals, and it was published long enough before.
    const sealing = keys.filter(({ sealsFromMs }) => sealsFromMs <= atMs);
    expect(sealing.length).toBeGreaterThan(0);
    expect(new Set(keys.map(({ secret }) => secret)).size).toBe(keys.length);
  }
  expect(seen.slice(0, 3)).toEqual([
    [0, 1],
    [90, 2],
    [190, 3],
  ]);
  expect(keys.length).toBeLessThanOrEqual(13);
  expect(rotate(keys, rotation, 3_000)).toBe(keys);
});

test("garbage ids cost at most one request per pause, and cause 404", { tags: "long" }, async () => {
  const { at, asked } = await start();
  const url = await at("/mcp");
  await LegacyClient.open(url);
  const before = await asked();
  const garbage = Array.from({ length: 50 }, () => Buffer.from(crypto.getRandomValues(new Uint8Array(93))));
  for (const bytes of garbage) {
    bytes[0] = 1;
    const headers = { "mcp-session-id": bytes.toString("base64url"), "content-type": "application/json" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    expect((await fetch(url, { method: "POST", headers, body })).status).toBe(404);
  }
  expect((await asked()) - before).toBeLessThanOrEqual(2);
});

test("requestState is sealed with the same keys in every isolate", async () => {
  const { at } = await start();
  const [here, there] = [new ModernClient(await at("/mcp")), new ModernClient(await at("/twin/mcp"))];
  // One isolate has sealed a session id before, the other has not.
  await LegacyClient.open(await at("/mcp"));
  const asked = (await readAnswer(here.call("rounds"))).messages as [{ result: Members }];
  const { requestState } = asked[0].result;
  const params = { name: "rounds", arguments: {}, requestState };
  expect((await readAnswer(there.request("tools/call", params))).text).toBe("sealed");
});

test("the secret MCP_KEYS replaces the object", { tags: "long" }, async () => {
  const { worker, at } = await start({ bindings: { MCP_KEYS: newKeys() } });
  const client = await LegacyClient.open(await at("/mcp"));
  expect(await status(client)).toBe(200);
  expect(await worker.objects("McpObject", "keys")).toEqual([]);
});

describe("keys that are unavailable", () => {
  const failing = (worker: TestWorker, how: "yes" | "no") => fetch(worker.url(`/failing/${how}`), { method: "POST" });

  test("do not matter while known keys are cached, and the object is asked rarely", { tags: "long" }, async () => {
    const { worker, at, asked } = await start();
    const client = await LegacyClient.open(await at("/mcp"));
    await failing(worker, "yes");
    await worker.advance(2 * 60 * 60_000);
    const before = await asked();
    for (let count = 0; count < 20; count += 1) expect(await status(client)).toBe(200);
    const failures = (await asked()) - before;
    expect(failures).toBeLessThanOrEqual(2);
    const log = (await (await fetch(worker.url("/log"))).json()) as string[];
    expect(log).toEqual(Array(failures).fill("mcp-edge: the sealing keys were not refreshed Error: secret trouble"));
  });

  test("cause 503, not 404, for a session sealed with a key that an isolate could not fetch", async () => {
    const { worker, at } = await start();
    const [here, there] = [await at("/mcp"), await at("/twin/mcp")];
    await Promise.all([LegacyClient.open(here), LegacyClient.open(there)]);
    // One isolate learns about the next key, the other does not.
    await worker.advance(20 * DAY_MS - 30 * 60_000);
    await LegacyClient.open(there);
    await failing(worker, "yes");
    await worker.advance(70 * 60_000);
    const late = await LegacyClient.open(there);
    expect(await status(late.at(here))).toBe(503);
    await failing(worker, "no");
    await worker.advance(11_000);
    expect(await status(late.at(here))).toBe(200);
  });

  test("are fetched once by concurrent first requests", { tags: "long" }, async () => {
    const { worker, at, asked } = await start();
    const url = await at("/mcp");
    await fetch(worker.url("/held/yes"), { method: "POST" });
    const opening = Promise.all(Array.from({ length: 50 }, () => LegacyClient.open(url, { silent: true })));
    await until("all have come", async () => (await (await fetch(worker.url("/arrived"))).text()) === "50");
    await fetch(worker.url("/held/no"), { method: "POST" });
    await opening;
    expect(await asked()).toBe(1);
  });

  test("options that are not valid are refused when they are passed", { tags: "long" }, async () => {
    const source = `import { keys } from "./src/worker/keys/index.ts";
      const refusalOf = (options) => {
        try { keys(options); return "none"; } catch (error) { return error.code + " " + error.message; }
      };
      const refusals = [{ rotateMs: 1 }, { rotateMs: NaN }, { ttlMs: -1 }, { ttlMs: Infinity }].map(refusalOf);
      export default { fetch: () => Response.json(refusals) };`;
    const worker = await startWorker({ entry: { source } });
    opened.push(() => worker.stop());
    expect(await (await fetch(worker.origin)).json()).toEqual([
      expect.stringMatching(/^options-invalid keys\(\): rotateMs /),
      expect.stringMatching(/^options-invalid keys\(\): rotateMs /),
      expect.stringMatching(/^options-invalid keys\(\): ttlMs /),
      expect.stringMatching(/^options-invalid keys\(\): ttlMs /),
    ]);
  });

  test("cause 503 with Retry-After, never 404, and reveal nothing", { tags: "long" }, async () => {
    const { worker, at } = await start();
    const known = await LegacyClient.open(await at("/mcp"));
    const url = `${worker.origin}/broken`;
    const headers = { "content-type": "application/json", "mcp-session-id": known.sessionId ?? "" };
    for (const method of ["initialize", "ping"]) {
      const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      const answer = await fetch(url, {
        method: "POST",
        headers: method === "ping" ? headers : { "content-type": "application/json" },
        body,
      });
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(await answer.text()).not.toMatch(/secret trouble|MCP_KEY/);
    }
    const errors = (await (await fetch(`${worker.origin}/errors`)).json()) as string[];
    expect(errors.at(-1)).toContain("secret trouble");
  });
});
