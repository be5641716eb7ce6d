/**
 * Authorization on workerd: with sessions, tasks, calls that run once and HTTP+SSE, whatever the author's hooks return.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { CAPABILITIES_KEY, CONTENT, initialize, type Members, request } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { LegacyClient, ModernClient, type ReadAnswer, Reading, readAnswer } from "./client.ts";
import { ABLE, TaskClient } from "./task-client.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/auth.ts",
    objects: ["McpObject", "KeyedObject"],
    bindings: { MCP_KEYS: newKeys(), NAME: "the binding" },
  });
});
afterAll(() => worker?.stop());

type Headers = Readonly<Record<string, string>>;
const read = async <T>(path: string) => (await (await fetch(worker.url(path))).json()) as T;
const principal = (who: object): Headers => ({ "x-auth": `principal ${encodeURIComponent(JSON.stringify(who))}` });
const ALICE = principal({ issuer: "https://issuer.example", subject: "alice" });

/** Opens a session and uses it. */
async function open(path: string, who: Headers): Promise<Headers> {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...who };
  const opened = await fetch(worker.url(path), { method: "POST", headers, body: JSON.stringify(initialize()) });
  if (opened.status !== 200) throw new Error(`initialize: ${opened.status} ${await opened.text()}`);
  return { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-11-25" };
}

/** Every kind of request that reaches a handler or an object, as a function of the caller's headers. */
function waysIn(session: Headers): readonly (readonly [string, (who: Headers) => Promise<Response>])[] {
  const stream = { accept: "text/event-stream" };
  const url = worker.url("/mcp");
  const message = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "run", arguments: {} },
  });
  const content = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const post = (headers: Headers, body = message, to = url) => {
    return fetch(to, { method: "POST", headers: { ...content, ...headers }, body });
  };
  return [
    ["a modern call", (who) => new ModernClient(url).call("run", {}, { headers: who })],
    ["a modern listen", (who) => new ModernClient(url).request("subscriptions/listen", {}, { headers: who })],
    ["initialize", (who) => post(who, JSON.stringify(initialize()))],
    ["a legacy call without a session", (who) => post(who)],
    ["a call of a session", (who) => post({ ...session, ...who })],
    ["GET of a session", (who) => fetch(url, { headers: { ...stream, ...session, ...who } })],
    ["DELETE of a session", (who) => fetch(url, { method: "DELETE", headers: { ...session, ...who } })],
    ["GET of HTTP+SSE at the one URL", (who) => fetch(url, { headers: { ...stream, ...who } })],
    ["GET of HTTP+SSE", (who) => fetch(worker.url("/sse"), { headers: { ...stream, ...who } })],
    ["POST of HTTP+SSE", (who) => post(who, message, worker.url(`/messages?sessionId=${session["mcp-session-id"]}`))],
  ];
}

describe("hooks with an invalid or special result", () => {
  test.each(["undefined", "true", "text", "empty", "nobody", "partly", "list"])(
    "%s as a result of auth is refused with 500 for every kind of request, runs no handler and creates no object",
    async (what) => {
      const session = await open("/mcp", {});
      const before = [await read("/runs"), await worker.objects("McpObject")];
      for (const [way, send] of waysIn(session)) {
        const response = await send({ "x-auth": `unfit ${what}` });
        const text = await response.text();
        expect([way, response.status, text]).toEqual([way, 500, expect.stringMatching(/Internal error\. Reference/)]);
      }
      expect([await read("/runs"), await worker.objects("McpObject")]).toEqual(before);
      const last = (await read<string[]>("/reports")).slice(-10);
      expect(last).toEqual(
        Array(10).fill(expect.stringMatching(/^\(auth\).*The function that authenticates callers, "auth", returned/)),
      );
    },
  );

  test.each([200, 403])(
    "a Response with status %i from auth is sent unchanged for every kind of request, and runs no handler",
    async (status) => {
      const session = await open("/mcp", {});
      const before = [await read("/runs"), await worker.objects("McpObject")];
      for (const [way, send] of waysIn(session)) {
        const response = await send({ "x-auth": `response ${status}` });
        expect([way, response.status, await response.text()]).toEqual([way, status, "the hook's own"]);
      }
      expect([await read("/runs"), await worker.objects("McpObject")]).toEqual(before);
    },
  );

  test.each(["null", "blank", "number", "true", "object", "list", "promise", "broken"])(
    "%s as a result of sessions({ key }) opens no session and is reported",
    async (subject) => {
      const before = await worker.objects("KeyedObject");
      await expect(open("/keyed", principal({ issuer: "https://issuer.example", subject }))).rejects.toThrow(/500/);
      expect(await worker.objects("KeyedObject")).toEqual(before);
      expect((await read<string[]>("/reports")).at(-1)).toMatch(/sessions\(\): key returned .*non-empty string/);
    },
  );

  test("a string as a result of sessions({ key }) shares the object, and undefined does not", async () => {
    const before = (await worker.objects("KeyedObject")).length;
    const counts: number[] = [];
    for (const [issuer, subject] of ["team", "team", "alone", "alone"].map((name, at) => [
      `https://${at}.example`,
      name,
    ])) {
      const who = principal({ issuer, subject });
      const session = await open("/keyed", who);
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
      await fetch(worker.url("/keyed"), { method: "POST", headers: { ...headers, ...session, ...who }, body });
      counts.push((await worker.objects("KeyedObject")).length - before);
    }
    expect(counts).toEqual([1, 1, 2, 3]);
  });
});

/** Pairs of principals that some way of joining issuer and subject would confuse. */
const ALIKE: readonly (readonly [string, object, object])[] = [
  ["a separator", { issuer: "a", subject: "b|c" }, { issuer: "a|b", subject: "c" }],
  ["a colon", { issuer: "https://a", subject: "b:c" }, { issuer: "https://a:b", subject: "c" }],
  ["nothing in between", { issuer: "ab", subject: "c" }, { issuer: "a", subject: "bc" }],
  ["quotes of JSON", { issuer: 'a","b', subject: "c" }, { issuer: "a", subject: 'b","c' }],
  ["escapes of JSON", { issuer: "a\\", subject: '"b' }, { issuer: 'a\\","', subject: "b" }],
  ["line breaks and NUL", { issuer: "a\n", subject: "b" }, { issuer: "a", subject: "\nb" }],
  ["a lone surrogate", { issuer: "a", subject: "\ud800" }, { issuer: "a", subject: "\ufffd" }],
  ["two lone surrogates", { issuer: "a", subject: "\ud800" }, { issuer: "a", subject: "\udc00" }],
  ["Unicode forms", { issuer: "a", subject: "\u00e9" }, { issuer: "a", subject: "e\u0301" }],
  ["case", { issuer: "a", subject: "Bob" }, { issuer: "a", subject: "bob" }],
  ["spaces", { issuer: "a", subject: "bob" }, { issuer: "a", subject: "bob " }],
  ["a name for anonymous callers", { issuer: "anonymous", subject: "anonymous" }, { issuer: "null", subject: "null" }],
];

describe("similar principals", () => {
  test.each(ALIKE)("are different if they differ in %s, and share nothing", async (_, one, other) => {
    const [mine, theirs] = [principal(one), principal(other)];
    const session = await open("/mcp", mine);
    const client = new ModernClient(worker.url("/mcp"));
    const call = (who: Headers, name: string, more: Members): Promise<ReadAnswer> => {
      const meta = { [CAPABILITIES_KEY]: ABLE, ...more };
      return readAnswer(client.call(name, { key: "same" }, { headers: who, meta }));
    };
    const key = { "mcp-edge/idempotencyKey": crypto.randomUUID() };
    const first = await call(mine, "run_once", key);
    const task = (await call(mine, "run_long", {})).messages.at(-1)?.result as { taskId: string };
    const get = (who: Headers) => {
      return readAnswer(
        client.request("tasks/get", { taskId: task.taskId }, { headers: who, meta: { [CAPABILITIES_KEY]: ABLE } }),
      );
    };
    expect((await call(mine, "run_once", key)).text).toBe(first.text);
    expect((await get(mine)).messages.at(-1)).toHaveProperty("result");
    for (const who of [theirs, {}]) {
      const stream = { accept: "text/event-stream" };
      const url = worker.url("/mcp");
      expect((await fetch(url, { headers: { ...stream, ...session, ...who } })).status).toBe(404);
      expect((await fetch(url, { method: "DELETE", headers: { ...session, ...who } })).status).toBe(404);
      expect((await call(who, "run_once", key)).text).not.toBe(first.text);
      expect((await get(who)).messages.at(-1)).toHaveProperty("error");
    }
  });

  test("a session opened anonymously belongs to the first principal that uses it, and not to a similar one", async () => {
    const opened = await LegacyClient.open(worker.url("/mcp"));
    const as = (who: Headers) => opened.request("ping", undefined, { headers: who });
    expect((await as(ALICE)).status).toBe(200);
    const others = [
      {},
      principal({ issuer: "https://issuer.example", subject: "alice " }),
      principal({ issuer: "https://issuer.example/", subject: "alice" }),
      { "x-auth": "unfit empty" },
      { "x-auth": "unfit partly" },
    ];
    const statuses: number[] = [];
    for (const who of others) statuses.push((await as(who)).status);
    expect(statuses).toEqual([404, 404, 404, 500, 500]);
    expect((await as(ALICE)).status).toBe(200);
  });
});

describe("work of hooks, with the bindings,", () => {
  const newKey = (name = "key") => `${name}-${crypto.randomUUID()}`;
  const keepersOf = (key: string) => read<string[]>(`/keepers/${key}`);
  const notesOf = (key: string) => read<string[]>(`/notes/${key}`);

  /** Called after the response: releases the work of the hooks and waits for it. */
  async function done(key: string, expected: readonly string[]): Promise<void> {
    const begun = expected.map(() => "begun");
    await until("the work has begun", async () => (await notesOf(key)).length >= begun.length);
    expect(await notesOf(key)).toEqual(begun);
    await read(`/release/${key}`);
    await until("the work is done", async () => (await notesOf(key)).length >= 2 * begun.length);
    expect((await notesOf(key)).slice(begun.length).sort()).toEqual(expected);
  }

  const onRequest = ["around request the binding", "end request the binding", "promise request the binding"];

  test("continues after the response to a modern call", async () => {
    const key = newKey();
    expect((await readAnswer(new ModernClient(worker.url("/mcp")).call("watched", { key }))).text).toBe("watched");
    await done(key, onRequest);
  });

  test("continues after the response of an app that is mounted in another app", async () => {
    const key = newKey();
    expect((await readAnswer(new ModernClient(worker.url("/keyed")).call("watched", { key }))).text).toBe("watched");
    await done(key, onRequest);
  });

  test("continues after the response to a legacy call without a session", async () => {
    const key = newKey();
    const message = request("tools/call", { name: "watched", arguments: { key } });
    const init = { method: "POST", headers: CONTENT as Headers, body: JSON.stringify(message) };
    expect((await readAnswer(fetch(worker.url("/plain"), init))).text).toBe("watched");
    await done(key, onRequest);
  });

  test("continues after the response to a call in a session, in its object", async () => {
    const key = newKey();
    const client = await LegacyClient.open(worker.url("/mcp"));
    expect((await readAnswer(client.call("watched", { key }))).text).toBe("watched");
    await done(key, onRequest);
    expect(await keepersOf(key)).toEqual(["session", "session"]);
  });

  test("continues after the response to a list in a session, in its object", async () => {
    await read("/release/lists");
    const before = await keepersOf("lists");
    const client = await LegacyClient.open(worker.url("/mcp"));
    expect((await readAnswer(client.request("tools/list"))).status).toBe(200);
    expect(await keepersOf("lists")).toEqual([...before, "session"]);
  });

  test("continues after the response to a call over HTTP+SSE, in its object", async () => {
    const key = newKey();
    const stop = new AbortController();
    const headers = { accept: "text/event-stream" };
    const stream = new Reading(await fetch(worker.url("/mcp"), { headers, signal: stop.signal }));
    await stream.has("an endpoint", ({ raw }) => /data: (\S+)\n\n/.test(raw));
    const [, endpoint = ""] = /data: (\S+)\n\n/.exec(stream.raw) ?? [];
    const message = request("tools/call", { name: "watched", arguments: { key } });
    const init = { method: "POST", headers: CONTENT as Headers, body: JSON.stringify(message) };
    expect((await fetch(worker.url(endpoint), init)).status).toBe(202);
    await stream.has("the answer", ({ raw }) => raw.includes("watched"));
    stop.abort();
    await done(key, onRequest);
  });

  test("continues after the end of the request that creates a task, of its run, and of the task", async () => {
    const key = newKey();
    const client = new TaskClient(worker.url("/mcp"));
    await client.reaches(await client.start("watched_task", { key }), "completed");
    await done(
      key,
      ["request", "task"].flatMap((place) => onRequest.map((line) => line.replace("request", place))).sort(),
    );
    // The request that creates it is served by the Worker.
    expect(await keepersOf(key)).toEqual(["task", "task"]);
  });

  test("continues after auth, which gets the Worker's execution context including the additions of a wrapper", async () => {
    for (const path of ["/mcp", "/keyed"]) {
      const key = newKey();
      const headers = { "x-auth": `props ${key}` };
      const answer = await readAnswer(new ModernClient(worker.url(path)).call("whoami", {}, { headers }));
      expect(answer.text).toBe("https://props.example alice");
      await done(key, ["auth the binding"]);
    }
  });

  test("is reported to onError if it fails, wherever the hook runs", async () => {
    const keys = [newKey("failing"), newKey("failing")];
    const session = await LegacyClient.open(worker.url("/mcp"));
    const clients = [new ModernClient(worker.url("/mcp")), session];
    for (const [at, client] of clients.entries()) {
      const key = keys[at] ?? "";
      expect((await readAnswer(client.call("watched", { key }))).text).toBe("watched");
      await read(`/release/${key}`);
      const failures = async () => (await read<string[]>("/reports")).filter((line) => line.includes(key)).sort();
      await until("all three are reported", async () => (await failures()).length === 3);
      expect(await failures()).toEqual([
        expect.stringContaining('(onRequestEnd of "tools/call")'),
        expect.stringContaining('(waitUntil of "tools/call")'),
        expect.stringContaining('(waitUntil of "tools/call")'),
      ]);
    }
  });
});
