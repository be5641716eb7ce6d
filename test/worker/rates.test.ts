/** `rates()` on workerd: counted in an object, and by Cloudflare's rate-limit binding. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";
import { initialize } from "../http/messages.ts";
import { ModernClient, Reading } from "./client.ts";

expectLogs(
  /^mcp-edge: \[flag-missing\] ctx\.signal aborts late/,
  /^mcp-edge: "\(authorize\)" failed .* the binding "NONE" is missing/,
  /^mcp-edge: a request was refused because it could not be counted Error: The (storage|limiter) is broken\./,
);

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ wrangler: "test/worker/fixtures/rates.toml" });
});
afterAll(() => worker?.stop());

let users = 0;
/** A caller that no other test has used. */
const newUser = (): Record<string, string> => {
  users += 1;
  return { "x-user": `user ${users}` };
};

async function answerOf(response: Promise<Response>) {
  const { status, headers } = await response;
  const text = await (await response).text();
  return { status, retryAfter: headers.get("Retry-After"), text };
}

const call = (headers: Record<string, string>, tool = "cheap", path = "/mcp") =>
  answerOf(new ModernClient(worker.url(path)).call(tool, {}, { headers }));

async function statuses(count: number, send: () => Promise<{ readonly status: number }>): Promise<number[]> {
  const found: number[] = [];
  for (let time = 0; time < count; time += 1) found.push((await send()).status);
  return found;
}

const CONTENT = { "content-type": "application/json", accept: "application/json, text/event-stream" };

async function post(body: unknown, headers: Record<string, string>, path = "/mcp") {
  const init = { method: "POST", headers: { ...CONTENT, ...headers }, body: JSON.stringify(body) };
  return answerOf(fetch(worker.url(path), init));
}

async function openSession(headers: Record<string, string>, path: string): Promise<Record<string, string>> {
  const init = { method: "POST", headers: { ...CONTENT, ...headers }, body: JSON.stringify(initialize()) };
  const response = await fetch(worker.url(path), init);
  await response.body?.cancel();
  return {
    ...headers,
    "mcp-session-id": response.headers.get("Mcp-Session-Id") ?? "",
    "mcp-protocol-version": "2025-11-25",
  };
}

const legacyCall = (name: string) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name } });

describe("the rate of a principal", () => {
  test("refuses a modern call that exceeds it with 429 and Retry-After, before its handler runs", async () => {
    const user = newUser();
    expect(await statuses(5, () => call(user))).toEqual([200, 200, 200, 200, 200]);
    const before = await (await fetch(worker.url("/runs"))).text();
    const { status, retryAfter, text } = await call(user);
    expect([status, Number(retryAfter)]).toEqual([429, expect.toSatisfy((seconds) => seconds > 8 && seconds <= 12)]);
    const data = { reason: "too-many", retryAfterMs: Number(retryAfter) * 1_000 };
    expect(JSON.parse(text)).toMatchObject({ error: { code: -32600, data } });
    expect(await (await fetch(worker.url("/runs"))).text()).toBe(before);
  });

  test("is counted for each principal separately, and starts again in the next period", { tags: "long" }, async () => {
    const [one, two] = [newUser(), newUser()];
    expect(await statuses(6, () => call(one))).toEqual([200, 200, 200, 200, 200, 429]);
    expect((await call(two)).status).toBe(200);
    await worker.advance(13_000);
    expect(await statuses(2, () => call(one))).toEqual([200, 429]);
    await worker.advance(60_000);
    expect(await statuses(6, () => call(one))).toEqual([200, 200, 200, 200, 200, 429]);
  });

  test("holds for concurrent requests, and after the object was evicted", async () => {
    const user = newUser();
    const all = await Promise.all(Array.from({ length: 12 }, () => call(user)));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(5);
    // The counters are stored within a second.
    await worker.advance(1_000);
    await expect.poll(async () => (await storedCounters()) > 0, { timeout: 10_000 }).toBe(true);
    await worker.evict("McpObject");
    expect((await call(user)).status).toBe(429);
  });

  async function storedCounters(): Promise<number> {
    const ids = await worker.objects("McpObject", "rates");
    return ids.length;
  }

  test("counts requests of a session, of HTTP+SSE, and each message of a batch", async () => {
    const user = newUser();
    const session = await openSession(user, "/mcp");
    expect((await post(legacyCall("cheap"), session)).status).toBe(200);
    const stop = new AbortController();
    const headers = { accept: "text/event-stream", ...user };
    const stream = new Reading(await fetch(worker.url("/mcp"), { headers, signal: stop.signal }));
    await stream.has("an endpoint", ({ raw }) => /data: (\S+)\n\n/.test(raw));
    const [, endpoint = ""] = /data: (\S+)\n\n/.exec(stream.raw) ?? [];
    expect((await post(legacyCall("cheap"), user, endpoint)).status).toBe(202);
    // Four of five were counted: a batch of two is beyond the rate, and one message is not.
    const batch = [legacyCall("cheap"), legacyCall("cheap")];
    expect((await post(batch, { ...user, "mcp-protocol-version": "2025-03-26" })).status).toBe(429);
    expect((await post(legacyCall("cheap"), session)).status).toBe(200);
    const { status, retryAfter } = await post(legacyCall("cheap"), session);
    expect([status, retryAfter]).toEqual([429, expect.stringMatching(/^\d+$/)]);
    expect((await fetch(worker.url("/mcp"), { headers: session })).status).toBe(429);
    // A client may always end its session.
    expect((await fetch(worker.url("/mcp"), { method: "DELETE", headers: session })).status).toBe(204);
    stop.abort();
  });

  test("does not count a request that is refused before", async () => {
    for (let time = 0; time < 7; time += 1) expect((await call({})).status).toBe(401);
  });
});

describe("the rates of tools, methods and sessions", () => {
  test("count each tool separately, with its own rate or the rate of all tools", async () => {
    const user = newUser();
    const of = (tool: string) => statuses(4, () => call(user, tool, "/fine"));
    expect(await of("expensive")).toEqual([200, 429, 429, 429]);
    expect(await of("cheap")).toEqual([200, 200, 200, 429]);
    expect(await of("other")).toEqual([200, 200, 200, 429]);
  });

  test("count the requests of a method", async () => {
    const user = newUser();
    const read = () =>
      answerOf(
        new ModernClient(worker.url("/fine")).request("resources/read", { uri: "test://one" }, { headers: user }),
      );
    expect(await statuses(3, read)).toEqual([200, 200, 429]);
  });

  test("count each session of a principal separately", async () => {
    const user = newUser();
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    for (let session = 0; session < 2; session += 1) {
      const headers = await openSession(user, "/fine");
      expect(await statuses(5, () => post(ping, headers, "/fine"))).toEqual([200, 200, 200, 200, 429]);
    }
  });
});

test("callers without a principal are counted by IP address", async () => {
  const from = (ip: string) => ({ "cf-connecting-ip": ip });
  expect(await statuses(3, () => call(from("192.0.2.1"), "cheap", "/open"))).toEqual([200, 200, 429]);
  expect((await call(from("192.0.2.2"), "cheap", "/open")).status).toBe(200);
});

test("all addresses of an IPv6 network of 64 bits are counted together", async () => {
  const from = async (ip: string) => (await call({ "cf-connecting-ip": ip }, "cheap", "/open")).status;
  expect([await from("2001:db8:1:2::1"), await from("2001:DB8:1:2:ffff:0:0:9")]).toEqual([200, 200]);
  expect(await from("2001:db8:1:2:0:0:0:3")).toBe(429);
  expect(await from("2001:db8:1:3::1")).toBe(200);
  // All zeros are left out.
  expect([await from("2001:db8::1"), await from("2001:db8:0:0:5::"), await from("2001:db8::2")]).toEqual([
    200, 200, 429,
  ]);
  // IPv4 addresses that are mapped to IPv6 are in one network of 64 bits.
  expect([await from("::ffff:198.51.100.1"), await from("198.51.100.1")]).toEqual([200, 200]);
  expect([await from("::ffff:198.51.100.1"), await from("::ffff:198.51.100.2")]).toEqual([429, 200]);
});

describe("a caller that tries to avoid its rates", () => {
  const BATCH = { "mcp-protocol-version": "2025-03-26" };
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

  /** Calls 1,050 tools that do not exist. Returns the statuses of the batches. */
  async function inventTools(user: Record<string, string>): Promise<number[]> {
    const found: number[] = [];
    for (let batch = 0; batch < 21; batch += 1) {
      const calls = Array.from({ length: 50 }, (_, id) => ({ ...legacyCall(`invented ${batch} ${id}`), id }));
      found.push((await post(calls, { ...user, ...BATCH }, "/long")).status);
    }
    return found;
  }

  test("is counted for bodies as large as the endpoint allows", { tags: "long" }, async () => {
    const user = newUser();
    const pad = "x".repeat(5 * 1024 * 1024);
    const large = () => answerOf(new ModernClient(worker.url("/long")).call("expensive", { pad }, { headers: user }));
    expect(await statuses(3, large)).toEqual([200, 429, 429]);
  });

  test("does not restart the counter of a tool by inventing names of tools", async () => {
    const user = newUser();
    expect(await statuses(2, () => call(user, "expensive", "/long"))).toEqual([200, 429]);
    const found = await inventTools(user);
    // After 1,000 counters, all other names share one.
    expect(found.slice(0, 19)).not.toContain(429);
    expect(found.at(-1)).toBe(429);
    expect((await call(user, "expensive", "/long")).status).toBe(429);
  });

  test("does not restart the counter of a session by inventing session ids", async () => {
    const user = newUser();
    const of = async (id: string) => (await post(ping, { ...user, "mcp-session-id": id }, "/long")).status;
    const one = [await of("one"), await of("one"), await of("one"), await of("one"), await of("one")];
    expect(one.map((status) => status === 429)).toEqual([false, false, false, false, true]);
    await inventTools(user);
    expect(await of("one")).toBe(429);
    const invented = [await of("a"), await of("b"), await of("c"), await of("d"), await of("e")];
    expect(invented.map((status) => status === 429)).toEqual([false, false, false, false, true]);
    // Tools that the options name keep their own counters.
    expect(await statuses(2, () => call(user, "expensive", "/long"))).toEqual([200, 429]);
    expect(await statuses(2, () => call(user, "other", "/long"))).toEqual([200, 429]);
  });

  test("is counted for its HTTP+SSE session, whatever session its header names", async () => {
    const user = newUser();
    const stop = new AbortController();
    const headers = { accept: "text/event-stream", ...user };
    const stream = new Reading(await fetch(worker.url("/fine"), { headers, signal: stop.signal }));
    await stream.has("an endpoint", ({ raw }) => /data: (\S+)\n\n/.test(raw));
    const [, endpoint = ""] = /data: (\S+)\n\n/.exec(stream.raw) ?? [];
    const found: number[] = [];
    for (const id of ["a", "b", "c", "d", "e"]) {
      found.push((await post(ping, { ...user, "mcp-session-id": id }, endpoint)).status);
    }
    expect(found).toEqual([202, 202, 202, 202, 429]);
    stop.abort();
  });

  test("does not prevent its counters from being stored by a long name", async () => {
    const user = newUser();
    expect((await call(user, "expensive", "/long")).status).toBe(200);
    await post(legacyCall("N".repeat(3_500_000)), user, "/long");
    const who = JSON.stringify(["https://login.example.com", user["x-user"]]);
    const name = `rates:${createHash("sha256").update(who).digest("hex")}`;
    // The counters are stored within a second.
    const stored = async () => JSON.stringify(await worker.storage("LongObject", name));
    await expect.poll(stored, { timeout: 10_000 }).toMatch(/tool #/);
    expect(await stored()).toContain("tool expensive");
    expect((await stored()).length).toBeLessThan(1_000);
    await worker.evict("LongObject");
    expect((await call(user, "expensive", "/long")).status).toBe(429);
  });
});

describe("a request that cannot be counted", () => {
  const UNCOUNTED = { reason: "uncounted", retryAfterMs: 5_000 };

  test("is refused with 503 and Retry-After before its handler runs, and served as soon as it can be counted", async () => {
    const user = newUser();
    const session = await openSession(user, "/mcp");
    await fetch(worker.url("/broken/yes"), { method: "POST" });
    const before = await (await fetch(worker.url("/runs"))).text();
    for (const answer of [await call(user), await post(legacyCall("cheap"), session), await post(initialize(), user)]) {
      expect([answer.status, answer.retryAfter]).toEqual([503, "5"]);
      expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32603, data: UNCOUNTED } });
      expect(answer.text).not.toContain("storage");
    }
    expect(await (await fetch(worker.url("/runs"))).text()).toBe(before);
    await fetch(worker.url("/broken/no"), { method: "POST" });
    expect((await call(user)).status).toBe(200);
  });

  test("is refused too if Cloudflare's own counter fails", async () => {
    const { status, retryAfter, text } = await call(newUser(), "cheap", "/unlimited");
    expect([status, retryAfter]).toEqual([503, "5"]);
    expect(JSON.parse(text)).toMatchObject({ error: { data: UNCOUNTED } });
  });
});

describe("a rate-limit binding", () => {
  test("counts approximately, with the Retry-After of the option", async () => {
    const user = newUser();
    expect(await statuses(3, () => call(user, "cheap", "/bound"))).toEqual([200, 200, 200]);
    expect(await call(user, "cheap", "/bound")).toMatchObject({ status: 429, retryAfter: "10" });
    expect((await call(newUser(), "cheap", "/bound")).status).toBe(200);
  });

  test("makes requests fail with 500 if it is missing, and its name is not sent to the client", async () => {
    const { status, text } = await call(newUser(), "cheap", "/unbound");
    expect([status, text]).toEqual([500, expect.not.stringContaining("NONE")]);
  });
});

test.each([
  ["principal", { principal: { max: 1 } }],
  ["principal", { principal: 5 }],
  ["max", { session: { max: 0, perMs: 1_000 } }],
  ["tools.write", { tools: { write: { perMs: 1_000 } } }],
  ["binding", { methods: { ping: { binding: 7 } } }],
  ["unknown", { unknown: 1 }],
])("an invalid option %s is refused: %j", async (name, options) => {
  const response = await fetch(worker.url("/check"), { method: "POST", body: JSON.stringify(options) });
  expect(await response.text()).toContain(name);
});
