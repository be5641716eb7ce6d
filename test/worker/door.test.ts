/** Who is let in, on workerd: with sessions, tasks, calls that run once and HTTP+SSE, whatever the author's hooks return. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { CAPABILITIES_KEY, initialize, type Members } from "../http/messages.ts";
import { LegacyClient, ModernClient, type Told, told } from "./client.ts";
import { ABLE } from "./task-client.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/door.ts",
    objects: { MCP_SESSION: "McpSession", KEYED_SESSION: "KeyedSession", MCP_ONCE: "McpOnce", MCP_TASK: "McpTask" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

type Headers = Readonly<Record<string, string>>;
const read = async <T>(path: string) => (await (await fetch(worker.url(path))).json()) as T;
const principal = (who: object): Headers => ({ "x-auth": `principal ${encodeURIComponent(JSON.stringify(who))}` });
const ALICE = principal({ issuer: "https://issuer.example", subject: "alice" });

/** A session of somebody, opened and used. */
async function open(path: string, who: Headers): Promise<Headers> {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...who };
  const opened = await fetch(worker.url(path), { method: "POST", headers, body: JSON.stringify(initialize()) });
  if (opened.status !== 200) throw new Error(`initialize: ${opened.status} ${await opened.text()}`);
  return { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-11-25" };
}

/** Every way in, each with the headers of a caller. */
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
    ["GET of HTTP+SSE", (who) => fetch(worker.url("/sse"), { headers: { ...stream, ...who } })],
    ["POST of HTTP+SSE", (who) => post(who, message, worker.url(`/messages?sessionId=${session["mcp-session-id"]}`))],
  ];
}

describe("A0: a hook that fails to decide", () => {
  test.each(["undefined", "true", "text", "empty", "nobody", "partly", "list"])(
    "%s is refused with 500 on every way in, runs no handler and makes no object",
    async (what) => {
      const session = await open("/mcp", {});
      const before = [await read("/runs"), await worker.objects("MCP_SESSION")];
      for (const [way, send] of waysIn(session)) {
        const response = await send({ "x-auth": `unfit ${what}` });
        const text = await response.text();
        expect([way, response.status, text]).toEqual([way, 500, expect.stringMatching(/Internal error\. Reference/)]);
      }
      expect([await read("/runs"), await worker.objects("MCP_SESSION")]).toEqual(before);
      const last = (await read<string[]>("/reports")).slice(-9);
      expect(last).toEqual(Array(9).fill(expect.stringMatching(/^\(auth\).*The auth hook "auth" returned/)));
    },
  );

  test.each([200, 403])(
    "a Response with status %i is sent as it is on every way in, and runs no handler",
    async (status) => {
      const session = await open("/mcp", {});
      const before = [await read("/runs"), await worker.objects("MCP_SESSION")];
      for (const [way, send] of waysIn(session)) {
        const response = await send({ "x-auth": `response ${status}` });
        expect([way, response.status, await response.text()]).toEqual([way, status, "the hook's own"]);
      }
      expect([await read("/runs"), await worker.objects("MCP_SESSION")]).toEqual(before);
    },
  );

  test.each(["null", "blank", "number", "true", "object", "list", "promise", "broken"])(
    "durable({ key }) that returns %s opens no session, and is reported",
    async (subject) => {
      const before = await worker.objects("KEYED_SESSION");
      await expect(open("/keyed", principal({ issuer: "https://issuer.example", subject }))).rejects.toThrow(/500/);
      expect(await worker.objects("KEYED_SESSION")).toEqual(before);
      expect((await read<string[]>("/reports")).at(-1)).toMatch(/durable\(\): key returned .*non-empty string/);
    },
  );

  test("durable({ key }) that returns a text shares the object; undefined does not", async () => {
    const before = (await worker.objects("KEYED_SESSION")).length;
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
      counts.push((await worker.objects("KEYED_SESSION")).length - before);
    }
    expect(counts).toEqual([1, 1, 2, 3]);
  });
});

/** Principals that some way of joining issuer and subject takes for one another. */
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
  ["nobody", { issuer: "anonymous", subject: "anonymous" }, { issuer: "null", subject: "null" }],
];

describe("A0: principals who look alike", () => {
  test.each(ALIKE)("%s: neither uses the session, the task or the outcome of the other", async (_, one, other) => {
    const [mine, theirs] = [principal(one), principal(other)];
    const session = await open("/mcp", mine);
    const client = new ModernClient(worker.url("/mcp"));
    const call = (who: Headers, name: string, more: Members): Promise<Told> => {
      const meta = { [CAPABILITIES_KEY]: ABLE, ...more };
      return told(client.call(name, { key: "same" }, { headers: who, meta }));
    };
    const key = { "mcp-edge/idempotencyKey": crypto.randomUUID() };
    const first = await call(mine, "run_once", key);
    const task = (await call(mine, "run_long", {})).messages.at(-1)?.result as { taskId: string };
    const get = (who: Headers) => {
      return told(
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

  test("a session opened anonymously belongs to the first principal that uses it, and to nobody who is almost the same", async () => {
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
