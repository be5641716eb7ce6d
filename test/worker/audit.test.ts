/** `audit()` on workerd: one record for each call and each refusal. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { audit } from "../../src/worker/access/audit/index.ts";
import { expectLogs } from "../harness/logs.ts";
import type { Members } from "../http/messages.ts";
import { CLIENT_INFO_KEY, initialize } from "../http/messages.ts";
import { ModernClient, readAnswer } from "./client.ts";

expectLogs(
  /^mcp-edge: a record of the audit was lost Error: away/,
  /^\{"audit":\{"kind":"call"/,
  /^mcp-edge: unusual use could not be reported Error: /,
);

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: "test/worker/fixtures/audit.ts", objects: ["McpObject"] });
});
afterAll(() => worker?.stop());

const read = async (path: string) => (await (await fetch(worker.url(path))).json()) as Members[];
beforeEach(async () => {
  await read("/records");
});

const ALICE = { "x-user": "alice" };
const request = (method: string, params: Members, headers: Record<string, string> = ALICE, path = "/mcp") =>
  readAnswer(new ModernClient(worker.url(path)).request(method, params, { headers }));
const call = (name: string, path = "/mcp", headers: Record<string, string> = ALICE) =>
  request("tools/call", { name, arguments: { text: "a" } }, headers, path);

const AT = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
const who = { issuer: "https://login.example.com", subject: "alice", clientId: "app" };

describe("records of calls", () => {
  test.each<[string, string, Members, Members]>([
    [
      "that succeeds",
      "tools/call",
      { name: "echo", arguments: { text: "a" } },
      { tool: "echo", outcome: "ok", requestSize: 12 },
    ],
    [
      "whose tool reports an error",
      "tools/call",
      { name: "wrong", arguments: {} },
      { tool: "wrong", outcome: "error" },
    ],
    [
      "that is refused by the handler",
      "tools/call",
      { name: "refuses", arguments: {} },
      { errorCode: -32_050, outcome: "error" },
    ],
    ["of a prompt", "prompts/get", { name: "greet" }, { prompt: "greet", outcome: "ok" }],
    ["that reads a resource", "resources/read", { uri: "test://one" }, { uri: "test://one", outcome: "ok" }],
    ["that lists", "tools/list", {}, { outcome: "ok" }],
  ])("a call %s is recorded with caller, tool, outcome, duration and sizes", async (_, method, params, expected) => {
    await request(method, params);
    const records = await read("/records");
    expect(records).toEqual([expect.objectContaining({ kind: "call", at: AT, method, ...who, ...expected })]);
    expect(records[0]?.durationMs).toEqual(expect.any(Number));
    expect(JSON.stringify(records)).not.toContain("secret");
    expect(records[0]).not.toHaveProperty("arguments");
  });

  test("the record of a call contains the size of the result", async () => {
    await call("echo");
    expect((await read("/records"))[0]?.resultSize).toEqual(expect.toSatisfy((size) => size > 30 && size < 200));
  });

  test("calls of a session are recorded too", async () => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...ALICE };
    const init = { method: "POST", headers, body: JSON.stringify(initialize()) };
    const opened = await fetch(worker.url("/mcp"), init);
    await opened.body?.cancel();
    const session = { ...headers, "mcp-session-id": opened.headers.get("Mcp-Session-Id") ?? "" };
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "echo", arguments: {} },
    });
    await (await fetch(worker.url("/mcp"), { ...init, headers: session, body })).text();
    expect(await read("/records")).toMatchObject([{ method: "initialize" }, { tool: "echo", outcome: "ok", ...who }]);
  });

  test("a record contains arguments and result only on request", async () => {
    await call("echo", "/full");
    expect(await read("/records")).toMatchObject([
      { arguments: { text: "a" }, result: { content: [{ type: "text", text: "secret a" }] } },
    ]);
  });

  test("the record of a handler that throws contains no detail of the exception, and neither does the response", async () => {
    const { raw } = await call("fails", "/full");
    expect(raw + JSON.stringify(await read("/records"))).not.toContain("secret of the author");
  });
});

describe("the record of a refusal", () => {
  const refusal = { kind: "refusal", outcome: "refused", at: AT };

  test("names the caller if rates() refused the request of an identified caller", async () => {
    expect((await call("echo", "/limited")).status).toBe(429);
    expect(await read("/records")).toMatchObject([{ ...refusal, ...who, status: 429, reason: "too-many" }]);
  });

  test("names the caller if bearer() refused the request because its token lacks a scope", async () => {
    const headers = { authorization: "Bearer of_alice" };
    expect((await call("echo", "/scoped", headers)).status).toBe(403);
    expect(await read("/records")).toMatchObject([{ ...refusal, ...who, status: 403 }]);
  });

  test("does not name a caller if the token is not accepted", async () => {
    expect((await call("echo", "/scoped", { authorization: "Bearer other" })).status).toBe(401);
    const [record] = await read("/records");
    expect(record).toMatchObject({ ...refusal, status: 401 });
    expect(record).not.toHaveProperty("subject");
  });

  test("contains status, reason, address and size, and no token", async () => {
    await call("echo", "/mcp", { authorization: "Bearer very-secret", "cf-connecting-ip": "192.0.2.1" });
    const records = await read("/records");
    expect(records).toMatchObject([{ ...refusal, status: 401, reason: "unauthorized", ip: "192.0.2.1" }]);
    expect(records[0]?.requestSize).toEqual(expect.any(Number));
    expect(JSON.stringify(records)).not.toContain("very-secret");
  });

  test.each<[string, Record<string, string>, number, string]>([
    ["a foreign origin", { origin: "https://evil.example" }, 403, "origin-not-allowed"],
    [
      "an unknown session",
      { "mcp-session-id": "unknown", "mcp-protocol-version": "2025-11-25" },
      404,
      "session-unknown",
    ],
    ["another content type", { "content-type": "text/plain" }, 415, "content-type"],
  ])("is written for %s", async (_, headers, status, reason) => {
    const content = { "content-type": "application/json", accept: "application/json, text/event-stream", ...ALICE };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo" } });
    await (await fetch(worker.url("/mcp"), { method: "POST", headers: { ...content, ...headers }, body })).text();
    expect(await read("/records")).toMatchObject([{ ...refusal, status, reason }]);
  });
});

describe("input of a client in a record", () => {
  const hostile = `\u009b2J\u001b]0;\u0007\u2028\u202e\n{"audit":{"subject":"root"}}`;

  test("is on one line of the log, without control characters for a terminal", async () => {
    const meta = { [CLIENT_INFO_KEY]: { name: hostile, version: hostile } };
    await read("/lines");
    const client = new ModernClient(worker.url("/logged"));
    const params = { name: "echo", arguments: {} };
    expect((await readAnswer(client.request("tools/call", params, { headers: ALICE, meta }))).status).toBe(200);
    const [line, ...more] = (await (await fetch(worker.url("/lines"))).json()) as string[];
    expect([line, more]).toEqual([expect.stringMatching(/^[\x20-\x7e]+$/), []]);
    expect(JSON.parse(line ?? "")).toMatchObject({ audit: { subject: "alice", client: `${hostile} ${hostile}` } });
  });

  test("cannot make a record so long that the platform drops it", async () => {
    const long = "x".repeat(10_000);
    await request("resources/read", { uri: `test://${long}` }, ALICE, "/mcp");
    const meta = { [CLIENT_INFO_KEY]: { name: long, version: long } };
    const client = new ModernClient(worker.url("/mcp"));
    await readAnswer(client.request("tools/list", {}, { headers: ALICE, meta }));
    const records = await read("/records");
    expect(records).toMatchObject([
      { uri: expect.stringMatching(/^test:\/\/x+\.\.\.$/) },
      { client: expect.stringMatching(/^x+\.\.\.$/) },
    ]);
    for (const record of records) expect(JSON.stringify(record).length).toBeLessThan(2_000);
  });
});

test("records can go to Analytics Engine", async () => {
  await call("echo", "/engine");
  expect(await read("/points")).toEqual([
    {
      indexes: ["alice"],
      blobs: ["call", "ok", who.issuer, "alice", "app", expect.any(String), "tools/call", "echo", "", "", "", "", ""],
      doubles: [expect.any(Number), 0, 0, 12, expect.any(Number)],
    },
  ]);
});

describe("unusual use by a caller", () => {
  const reports = () => read("/reports");
  const times = async (count: number, name: string, headers: Record<string, string>) => {
    for (let time = 0; time < count; time += 1) await call(name, "/watched", headers);
  };

  test("is reported once for each caller, and again in the next period", async () => {
    const [ann, bob] = [{ "x-user": "ann" }, { "x-user": "bob" }];
    await times(5, "echo", ann);
    await times(2, "wrong", ann);
    await times(2, "fails", bob);
    expect(await reports()).toEqual([]);
    await times(4, "fails", ann);
    expect(await reports()).toEqual([{ who: "ann", last: "error", count: 3, withinMs: 60_000 }]);
    await worker.advance(61_000);
    await times(1, "fails", bob);
    await times(3, "wrong", ann);
    expect(await reports()).toEqual([{ who: "ann", last: "error", count: 3, withinMs: 60_000 }]);
  });

  test("is counted by the caller's network if there is no principal", async () => {
    await times(2, "echo", { "cf-connecting-ip": "2001:db8:7:7::1" });
    await times(2, "echo", { "cf-connecting-ip": "2001:db8:7:8::1" });
    expect(await reports()).toEqual([]);
    await times(1, "echo", { "cf-connecting-ip": "2001:db8:7:7::2" });
    expect(await reports()).toMatchObject([{ who: "2001:db8:7:7::2", last: "unauthorized", count: 3 }]);
  });

  test("does not affect the client if it cannot be reported", async () => {
    const unlucky = { "x-user": "unlucky" };
    await times(2, "wrong", unlucky);
    expect((await call("wrong", "/watched", unlucky)).status).toBe(200);
    expect(await reports()).toHaveLength(1);
  });
});

test("a record that is lost does not affect the client", async () => {
  expect((await call("echo", "/broken")).text).toBe("secret a");
  expect((await call("echo", "/broken", {})).status).toBe(401);
});

test.each([
  { to: "log" },
  { to: 7 },
  { unknown: 1 },
  { unusual: {} },
  { unusual: { report: () => undefined, max: 0 } },
])("an invalid option is refused: %j", (options) => {
  expect(() => audit(options as never)).toThrow(/audit\(\)/);
});
