/** The bounds of sessions and unfinished tasks of `rates()`, on workerd. */
import { createHash } from "node:crypto";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";
import { initialize, type Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { LegacyClient, ModernClient, Reading } from "./client.ts";
import { OwnTaskClient } from "./legacy-task-client.ts";
import { TaskClient } from "./task-client.ts";

expectLogs(
  /^mcp-edge: "tools\/call" "(fails|asks)" failed /,
  /^mcp-edge: "\(sessions\)" failed .* SessionsUnavailable: A limit is reached/,
  /^mcp-edge: This server is not configured correctly\./,
  /^mcp-edge: the slots of a caller could not be given back Error: The storage is broken\./,
  /^mcp-edge: "\(sessions\)" failed .* SessionsUnavailable: The sessions of this caller cannot be counted/,
  /^mcp-edge: the unfinished tasks of a caller could not be counted Error: The storage is broken\./,
);

let worker: TestWorker;
// Each group has its own Worker: where the clock is ahead, alarms no longer run by themselves.
beforeEach(async ({ task }) => {
  if (task.suite === current) return;
  current = task.suite;
  await worker?.stop();
  worker = await startWorker({
    entry: "test/worker/fixtures/slots.ts",
    objects: { MCP: "McpObject", STATELESS: "StatelessObject" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
/** The `describe` group that `worker` was started for: null at first, and undefined for tests outside of a group. */
let current: unknown = null;
afterAll(() => worker?.stop());

let users = 0;
/** The token of a caller that no other test has used. */
const newUser = (): string => {
  users += 1;
  return `user-${users}`;
};

const url = (path = "/mcp") => worker.url(path);
const open = (token: string, more = {}) => LegacyClient.open(url(), { token, ...more });
const statusOf = async (response: Promise<Response>) => {
  const answer = await response;
  await answer.body?.cancel();
  return answer.status;
};
const ping = (client: LegacyClient) => statusOf(client.request("ping"));

/** Sends `initialize`. */
async function refusal(headers: Record<string, string>, path = "/mcp") {
  const content = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const init = { method: "POST", headers: { ...content, ...headers }, body: JSON.stringify(initialize()) };
  const response = await fetch(url(path), init);
  const { error } = (await response.json()) as { error?: { code: number; message: string; data: Members } };
  return { status: response.status, retryAfterS: Number(response.headers.get("Retry-After")), error };
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const opening = async (token: string) => (await refusal(bearer(token))).status;

/** Waits until the slots of a caller are stored. */
async function storeSlotsOf(subject: string, count: number): Promise<void> {
  const who = JSON.stringify(["https://login.example.com", subject]);
  const name = `rates:${createHash("sha256").update(who).digest("hex")}`;
  const stored = async () => JSON.stringify(await worker.storage("McpObject", name)).match(/place of /g) ?? [];
  await worker.advance(1_000);
  await until("the slots are stored", async () => (await stored()).length === count);
}

/** Waits until the slots of a caller are stored, and evicts its object. */
async function evictSlotsOf(subject: string, count: number): Promise<void> {
  await storeSlotsOf(subject, count);
  await worker.evict("McpObject");
}

/** Opens a stream of HTTP+SSE. */
async function openStream(token: string, path = "/mcp", more = {}) {
  const stop = new AbortController();
  const headers = { accept: "text/event-stream", ...bearer(token), ...more };
  const response = await fetch(url(path), { headers, signal: stop.signal });
  const { status } = response;
  const stream = new Reading(response);
  if (status !== 200) return { status, stop };
  await stream.has("an endpoint", ({ raw }) => /data: (\S+)\n\n/.test(raw));
  const [, endpoint = ""] = /data: (\S+)\n\n/.exec(stream.raw) ?? [];
  const post = () => {
    const content = { "content-type": "application/json", ...bearer(token) };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    return statusOf(fetch(url(endpoint), { method: "POST", headers: content, body }));
  };
  return { status, stop, post };
}

describe("a caller with the maximum number of sessions", () => {
  test("gets 429 for another session, with the limit and the time, and no other caller does", {
    tags: "long",
  }, async () => {
    const user = newUser();
    const [one, two] = [await open(user), await open(user)];
    const { status, retryAfterS, error } = await refusal(bearer(user));
    expect([status, error?.code, error?.message]).toEqual([
      429,
      -32600,
      "A limit is reached: too many sessions of this caller are open (rates(): liveSessions, at most 2).",
    ]);
    expect(retryAfterS).toSatisfy((seconds: number) => seconds > 500 && seconds <= 600);
    expect(error?.data).toEqual({ reason: "too-many", retryAfterMs: retryAfterS * 1_000 });
    expect(await opening(newUser())).toBe(200);
    expect([await ping(one), await ping(two)]).toEqual([200, 200]);
  });

  test("can still use the modern era, and requests without a session", { tags: "long" }, async () => {
    const user = newUser();
    await open(user);
    await open(user);
    const headers = bearer(user);
    expect(await statusOf(new ModernClient(url()).call("plain", {}, { headers }))).toBe(200);
    const legacy = await LegacyClient.open(url("/stateless"), { token: user });
    expect(legacy.sessionId).toBeUndefined();
    for (let time = 0; time < 3; time += 1) expect((await refusal(headers, "/stateless")).status).toBe(200);
  });

  test("can open another session at once after DELETE", async () => {
    const user = newUser();
    const [one] = [await open(user), await open(user)];
    expect(await opening(user)).toBe(429);
    expect(await statusOf(one.delete())).toBe(204);
    expect(await opening(user)).toBe(200);
    expect(await opening(user)).toBe(429);
  });

  test("cannot open another session after a DELETE that does not end a session", async () => {
    const [user, other] = [newUser(), newUser()];
    const [one] = [await open(user), await open(user)];
    // Of another principal, and with a version that is refused.
    expect(await statusOf(one.as(other).delete())).toBe(404);
    const headers = { ...bearer(user), "mcp-session-id": one.sessionId ?? "", "mcp-protocol-version": "1999-01-01" };
    expect(await statusOf(fetch(url(), { method: "DELETE", headers }))).toBe(400);
    expect(await opening(user)).toBe(429);
  });

  test("can open another session when one is idle, which counts again when it is used", { tags: "long" }, async () => {
    const user = newUser();
    const [one, two] = [await open(user), await open(user)];
    await worker.advance(6 * 60_000);
    expect(await ping(one)).toBe(200);
    await worker.advance(6 * 60_000);
    // Only the second session was idle for ten minutes.
    const three = await open(user);
    expect(await opening(user)).toBe(429);
    expect(await ping(two)).toBe(429);
    expect(await statusOf(three.delete())).toBe(204);
    expect(await ping(two)).toBe(200);
    expect(await opening(user)).toBe(429);
  });

  test("can open another session when one turns out to have expired", async () => {
    const user = newUser();
    const one = await open(user);
    await worker.advance(61 * 60_000);
    expect(await ping(one)).toBe(404);
    await open(user);
    await open(user);
  });

  test("cannot exceed the number with concurrent requests", async () => {
    const user = newUser();
    const all = await Promise.all(Array.from({ length: 8 }, () => opening(user)));
    expect(all.filter((status) => status === 200)).toHaveLength(2);
  });

  test("can use a session that it has not used yet, and an initialize that opened no session counts for a minute", async () => {
    const user = newUser();
    const one = await open(user, { silent: true });
    const invalid = { jsonrpc: "2.0", id: 1, method: "initialize", params: {} };
    const headers = { "mcp-session-id": undefined, "mcp-protocol-version": undefined };
    expect(await statusOf(one.send(invalid, headers))).toBe(400);
    expect(await opening(user)).toBe(429);
    // Wait for the write: stored slots are deleted only when the last one has expired.
    await storeSlotsOf(user, 2);
    await worker.advance(61_000);
    expect(await opening(user)).toBe(200);
    expect(await opening(user)).toBe(429);
    expect(await ping(one)).toBe(200);
    expect(await opening(user)).toBe(429);
  });

  test("has the same number of sessions after its object was evicted", async () => {
    const user = newUser();
    const [one] = [await open(user), await open(user)];
    await evictSlotsOf(user, 2);
    expect(await opening(user)).toBe(429);
    expect(await ping(one)).toBe(200);
  });

  test.each([
    ["a call", "POST", "tools/call"],
    ["a ping", "POST", "ping"],
    ["a stream", "GET", undefined],
    ["DELETE", "DELETE", undefined],
  ])("is not charged for %s of an ended or invented session", async (_, method, rpc) => {
    const user = newUser();
    const one = await open(user);
    expect(await statusOf(one.delete())).toBe(204);
    const message = { jsonrpc: "2.0", id: 1, method: rpc, params: { name: "plain", arguments: {} } };
    const body = rpc === undefined ? null : JSON.stringify(message);
    for (const id of [one.sessionId ?? "", "a", "b", "c"]) {
      const content = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const session = { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
      const headers = { ...content, ...session, ...bearer(user) };
      expect(await statusOf(fetch(url(), { method, headers, body }))).toBe(404);
    }
    await open(user);
    await open(user);
  });

  test("is charged for each session that a request names", async () => {
    const user = newUser();
    const [one, two] = [await open(user), await open(user)];
    expect(await statusOf(two.delete())).toBe(204);
    await open(user);
    // The session in the header has a slot, the one in the query needs one.
    const headers = { ...one.headers, "content-type": "application/json" } as Record<string, string>;
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    expect(await statusOf(fetch(url("/mcp?sessionId=other"), { method: "POST", headers, body }))).toBe(429);
  });

  test("is refused over HTTP+SSE too, until one of its streams is closed", async () => {
    const user = newUser();
    const one = await openStream(user);
    expect(await one.post?.()).toBe(202);
    const two = await openStream(user);
    expect(await two.post?.()).toBe(202);
    expect((await openStream(user)).status).toBe(429);
    expect(await opening(user)).toBe(429);
    one.stop.abort();
    // The runtime notices that the client has left at the next heartbeat.
    await until("the slot is free", async () => (await opening(user)) === 200);
    two.stop.abort();
  });

  test("is refused whatever session the GET of an HTTP+SSE stream names", async () => {
    const [user, other] = [newUser(), newUser()];
    const streams = [await openStream(user, "/mcp?sessionId=a"), await openStream(user, "/mcp?sessionId=a")];
    expect((await openStream(user, "/mcp?sessionId=a")).status).toBe(429);
    // The path of HTTP+SSE takes no session from the header.
    const { sessionId = "" } = await open(other);
    const named = { "mcp-session-id": sessionId };
    streams.push(await openStream(other, "/sse", named));
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await openStream(other, "/sse", named)).status).toBe(503);
    for (const { stop } of streams) stop.abort();
  });

  test("is not charged for the session that a modern request names", async () => {
    const user = newUser();
    for (const id of ["a", "b", "c"]) {
      const headers = { ...bearer(user), "mcp-session-id": id };
      expect(await statusOf(new ModernClient(url()).call("plain", {}, { headers }))).toBe(200);
    }
    await open(user);
    await open(user);
  });

  test("is counted by its address if it has no principal", async () => {
    const from = (ip: string) => ({ "cf-connecting-ip": ip });
    const statuses = async (ip: string) => [
      (await refusal(from(ip))).status,
      (await refusal(from(ip))).status,
      (await refusal(from(ip))).status,
    ];
    expect(await statuses("192.0.2.1")).toEqual([200, 200, 429]);
    expect(await statuses("192.0.2.2")).toEqual([200, 200, 429]);
  });

  test("is not charged on its rates for a request without a slot, or on its slots for a request above a rate", async () => {
    const user = newUser();
    const [one, two] = [await open(user), await open(user)];
    const list = (client: LegacyClient) => statusOf(client.request("resources/list"));
    const unknown = (id: string) => {
      const headers = { ...bearer(user), "mcp-session-id": id };
      return statusOf(one.send({ jsonrpc: "2.0", id: 1, method: "resources/list" }, headers));
    };
    expect(await unknown("three")).toBe(429);
    expect([await list(one), await list(one)]).toEqual([200, 429]);
    expect(await statusOf(two.delete())).toBe(204);
    expect(await unknown("three")).toBe(429);
    expect(await opening(user)).toBe(200);
  });
});

describe("while the object that counts cannot be reached", () => {
  const breakIt = (methods = "none") => fetch(worker.url(`/broken/${methods}`), { method: "POST" });

  test("no session is opened, and an open session can still be ended", { tags: "long" }, async () => {
    const user = newUser();
    const session = await open(user);
    await breakIt("take,give");
    expect(await opening(user)).toBe(503);
    expect([await ping(session), await statusOf(session.delete())]).toEqual([200, 204]);
    await breakIt();
    expect(await opening(newUser())).toBe(200);
  });

  test("no task is started, and the error says that the call can be retried", { tags: "long" }, async () => {
    const token = newUser();
    const tasks = new TaskClient(url(), { token });
    await breakIt("take");
    expect(await tasks.error("tools/call", { name: "long", arguments: {} })).toEqual({
      code: -32603,
      message: "The unfinished tasks of this caller cannot be counted at the moment. Try again.",
      data: { reason: "uncounted", retryAfterMs: 5_000 },
    });
    await breakIt();
    expect(await tasks.start("long")).toEqual(expect.any(String));
    await fetch(worker.url(`/release/${token}`), { method: "POST" });
  });
});

describe("a principal with the maximum number of unfinished tasks", () => {
  const clientOf = (token: string) => new TaskClient(url(), { token });
  const release = (subject: string) => fetch(url(`/release/${subject}`), { method: "POST" });
  const MESSAGE =
    "A limit is reached: too many tasks of this caller are unfinished (rates(): unfinishedTasks, at most 2).";

  test("gets an error for another task, in both eras, and 429 in the modern era; no other principal does", {
    tags: "long",
  }, async () => {
    const user = newUser();
    const client = clientOf(user);
    const own = await OwnTaskClient.open(url(), { token: user });
    await client.start("long");
    await own.start("long");
    const error = { code: -32600, message: MESSAGE, data: { reason: "too-many", retryAfterMs: 5_000 } };
    const { status, messages } = await client.request("tools/call", { name: "long", arguments: {} });
    expect([status, messages.at(-1)?.error]).toEqual([429, error]);
    const refused = await own.error("tools/call", { name: "quick", arguments: {}, task: {} });
    expect(refused).toEqual(error);
    // Calls that begin no task are served.
    expect((await client.call("plain")).content).toEqual([{ type: "text", text: "plain" }]);
    expect((await own.result("tools/call", { name: "quick", arguments: {} })).content).toBeDefined();
    const other = newUser();
    await clientOf(other).start("long");
    await release(user);
    await release(other);
  });

  test("can start another task when one has ended, however it ended", { tags: "long" }, async () => {
    const user = newUser();
    const client = clientOf(user);
    const own = await OwnTaskClient.open(url(), { token: user });
    const [one, two] = [await client.start("long"), await own.start("long")];
    const call = () => client.request("tools/call", { name: "long", arguments: {} });
    expect((await call()).status).toBe(429);
    await client.cancel(one);
    // The tasks that have the slots are asked again after a second.
    await until("there is a slot", async () => (await call()).status === 200);
    expect((await call()).status).toBe(429);
    await release(user);
    await own.reaches(two, "completed");
    await until("there is a slot", async () => (await client.request("tools/call", { name: "fails" })).status === 200);
    expect(await statusOf(new ModernClient(url()).call("plain", {}, { headers: bearer(user) }))).toBe(200);
  });

  test("is never refused for tasks that end one after the other", async () => {
    const client = clientOf(newUser());
    for (let time = 0; time < 9; time += 1) {
      const task = await client.start(time % 2 === 0 ? "quick" : "fails");
      await until("the task has ended", async () => /completed|failed/.test(String((await client.get(task)).status)));
    }
  });

  test("cannot exceed the number with concurrent requests", async () => {
    const user = newUser();
    const client = clientOf(user);
    const call = () => client.request("tools/call", { name: "long", arguments: {} });
    const all = await Promise.all(Array.from({ length: 8 }, call));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(2);
    await release(user);
  });

  test("is counted for a task that waits for an answer", async () => {
    const client = clientOf(newUser());
    const tasks = [await client.start("asks"), await client.start("asks")];
    for (const task of tasks) await client.reaches(task, "input_required");
    expect(await client.error("tools/call", { name: "asks", arguments: {} })).toMatchObject({ message: MESSAGE });
  });

  test("does not cause requests to its tasks for each additional one", async () => {
    const user = newUser();
    const client = clientOf(user);
    await client.start("asks");
    await client.start("asks");
    const reads = async () => (await (await fetch(url("/reads"))).json()) as number;
    const before = await reads();
    const call = () => client.request("tools/call", { name: "asks", arguments: {} });
    const all = await Promise.all(Array.from({ length: 20 }, call));
    expect(all.map(({ status }) => status)).toEqual(Array(20).fill(429));
    // Two for each second.
    expect((await reads()) - before).toSatisfy((count: number) => count >= 2 && count < 20);
  });

  test("is not counted for a task that could not be created", async () => {
    const client = clientOf(newUser());
    await client.start("asks");
    const call = { name: "asks", arguments: { text: "cannot be created" } };
    for (let time = 0; time < 3; time += 1) {
      expect(await client.result("tools/call", call)).toMatchObject({ isError: true });
    }
    await client.start("asks");
    expect(await client.error("tools/call", { name: "asks", arguments: {} })).toMatchObject({ message: MESSAGE });
  });

  test("must have a principal: other callers are not counted", async () => {
    const client = new TaskClient(url());
    for (let time = 0; time < 3; time += 1) await client.start("asks");
  });
});

test("tasks stay counted when the object of their caller is evicted, until they are deleted", {
  tags: "long",
}, async () => {
  const user = newUser();
  const client = new TaskClient(url(), { token: user });
  await client.start("asks");
  await client.start("asks");
  await evictSlotsOf(user, 2);
  await client.error("tools/call", { name: "asks", arguments: {} });
  await worker.advance(23 * 60 * 60_000);
  await client.error("tools/call", { name: "asks", arguments: {} });
  await worker.advance(60 * 60_000);
  await client.start("asks");
  await client.start("asks");
  await client.error("tools/call", { name: "asks", arguments: {} });
});

test("the sessions and tasks of a caller are counted over all isolates", { tags: "long" }, async () => {
  await using both = await startWorker({
    entry: "test/worker/fixtures/slots.ts",
    objects: { MCP: "McpObject" },
    bindings: { MCP_KEYS: newKeys() },
    twin: true,
  });
  const at = both.url("/mcp");
  const user = newUser();
  const content = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const body = JSON.stringify(initialize());
  const initialized = (more = {}) =>
    statusOf(fetch(at, { method: "POST", headers: { ...content, ...bearer(user), ...more }, body }));
  const other = { "X-Twin": "yes" };
  expect([await initialized(), await initialized(other)]).toEqual([200, 200]);
  expect([await initialized(), await initialized(other)]).toEqual([429, 429]);
  const [here, there] = [{}, other].map((headers) => new TaskClient(at, { token: user, headers }));
  await here?.start("asks");
  await there?.start("asks");
  for (const client of [here, there]) {
    expect((await client?.request("tools/call", { name: "asks", arguments: {} }))?.status).toBe(429);
  }
});

test("a limit on the tasks of principals is reported as a mistake at an endpoint that does not authenticate", {
  tags: "long",
}, async () => {
  const { status, error } = await refusal({}, "/nobody");
  expect(status).toBe(500);
  expect(JSON.stringify(error)).toContain("and no plugin of the endpoint authenticates callers.");
});

test("an endpoint that needs objects only for rates() reports the class that is not exported", async () => {
  const { status, error } = await refusal(bearer(newUser()), "/bare");
  expect(status).toBe(500);
  expect(JSON.stringify(error)).toContain("[export-missing] The Worker does not export the class NoObject.");
});

test.each<[string, Members, RegExp]>([
  ["an invalid number of sessions", { liveSessions: { max: 0 } }, /rates\(\): liveSessions\.max .*1 to 1,000/],
  ["no number of sessions", { liveSessions: {} }, /rates\(\): liveSessions needs max\./],
  ["an invalid time", { liveSessions: { max: 1, idleMs: -1 } }, /rates\(\): liveSessions\.idleMs/],
  ["another option of sessions", { liveSessions: { max: 1, idle: 1 } }, /liveSessions has no option "idle"/],
  ["too many tasks", { unfinishedTasks: { max: 101 } }, /rates\(\): unfinishedTasks\.max .*1 to 100/],
  ["no number of tasks", { unfinishedTasks: {} }, /rates\(\): unfinishedTasks needs max\./],
  [
    "the largest allowed values",
    { liveSessions: { max: 1_000, idleMs: 1 }, unfinishedTasks: { max: 100 } },
    /^accepted$/,
  ],
])("options are checked: %s", async (_, options, text) => {
  const response = await fetch(url("/check"), { method: "POST", body: JSON.stringify(options) });
  expect(await response.text()).toMatch(text);
});
