/** The contents of entries for calls to a Worker, in both eras. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Entry } from "../../src/recorder/entry.ts";
import { newKeys } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";
import { LegacyClient, ModernClient } from "../worker/client.ts";
import { TaskClient } from "../worker/task-client.ts";
import { type RecordedWorker, startRecorded } from "./recorded-worker.ts";

const SOURCE = `
import * as z from "zod";
import { McpServer } from "./src/core/index.ts";
import { durable } from "./src/worker/durable/index.ts";
import { edge } from "./src/worker/index.ts";

const server = new McpServer({ name: "entries", version: "1.0.0" });
server.tool("plain", { input: z.object({ city: z.string().optional() }) }, () => "done");
server.tool("boom", {}, () => { throw new TypeError("the secret reason"); });
server.tool("steps", {}, (_, ctx) => { for (let at = 1; at <= 3; at += 1) ctx.progress(at, { total: 3 }); return "done"; });
server.tool("ask", {}, async (_, ctx) => (await ctx.elicit("Go on?", z.object({ yes: z.boolean() }))).action);
server.tool("background", { task: "required" }, async () => "done");
const app = edge(server, { use: [durable({ binding: "MCP" })] });
export default app;
export class McpObject extends app.McpObject {}
`;

expectLogs(/"boom" failed/);

let recorded: RecordedWorker;

beforeAll(async () => {
  const bindings = { MCP_KEYS: newKeys() };
  recorded = await startRecorded({ entry: { source: SOURCE }, objects: { MCP: "McpObject" }, bindings });
});
afterAll(() => recorded[Symbol.asyncDispose]());

const calls = (tool: string) => (entry: Entry) => entry.target === tool;

describe("a modern call", () => {
  test("records client, version, tool and outcome, and invokes no object", async () => {
    await (await new ModernClient(recorded.url("/mcp")).call("plain", { city: "Oslo" })).text();
    const entry = await recorded.entry("the call", calls("plain"));
    expect(entry).toMatchObject({
      kind: "request",
      http: { method: "POST", path: "/mcp", status: 200 },
      client: { name: "ladder", version: "1.0.0" },
      version: "2026-07-28",
      era: "modern",
      method: "tools/call",
      outcome: "ok",
      counts: { objectRequests: 0, rowsRead: 0, rowsWritten: 0, alarmsSet: 0, alarmsRun: 0, wakeUps: 0 },
      dollarsPerMillion: expect.closeTo(0.3),
      marks: [],
    });
    expect(entry.ms).toBeGreaterThanOrEqual(0);
    expect(entry.invocations).toHaveLength(1);
    expect(entry.invocations[0]).toMatchObject({ place: "worker", cause: "fetch", status: 200, outcome: "ok" });
    const [asked, answered] = entry.messages;
    expect(asked).toMatchObject({
      from: "client",
      message: { params: { arguments: { city: "<text, 4 characters>" } } },
    });
    expect(answered).toMatchObject({
      from: "server",
      message: { result: { content: [{ type: "text", text: "<text, 4 characters>" }] } },
    });
  });

  test("records the exception whose reference the client received", async () => {
    const response = await new ModernClient(recorded.url("/mcp")).call("boom");
    const [reference = ""] = /[\da-f]{8}-[\da-f-]{27}/.exec(await response.text()) ?? [];
    const entry = await recorded.entry("the call", calls("boom"));
    expect(entry.outcome).toBe("tool-error");
    expect(entry.marks).toContain("exception");
    const [exception] = entry.invocations.flatMap(({ exceptions }) => exceptions);
    expect(exception).toMatchObject({ name: "TypeError", message: "<text, 17 characters>", reference });
    expect(exception?.stack).toContain("at ");
    expect(JSON.stringify(entry)).not.toContain("secret reason");
  });

  test("a question ends the first call, and the rounds are linked", async () => {
    const client = new ModernClient(recorded.url("/mcp"));
    const capabilities = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
    const asked = (await (await client.call("ask", {}, { meta: capabilities })).json()) as {
      result: { inputRequests: object; requestState?: string };
    };
    const [id = ""] = Object.keys(asked.result.inputRequests);
    const { requestState } = asked.result;
    const inputResponses = { [id]: { action: "accept", content: { yes: true } } };
    const params = { name: "ask", arguments: {}, inputResponses, requestState };
    await (await client.request("tools/call", params, { meta: capabilities })).text();
    const last = await recorded.entry("the last round", (entry) => calls("ask")(entry) && entry.outcome === "ok");
    const first = await recorded.entry("the first round", (entry) => entry.outcome === "input-required");
    expect([first.outcomeText, first.marks]).toEqual(["1 question", ["question"]]);
    expect(last.related).toEqual([{ id: first.id, why: "round" }]);
    expect(first.related).toEqual([{ id: last.id, why: "round" }]);
    expect(last.marks).toContain("replay");
    expect(JSON.stringify([first, last])).not.toContain(requestState);
  });
});

describe("a legacy session", () => {
  test("records objects with their roles, progress, rows and the messages of the stream", async () => {
    const client = await LegacyClient.open(recorded.url("/mcp"));
    await (await client.call("steps", {}, { progressToken: "token" })).text();
    const entry = await recorded.entry("the call", calls("steps"));
    expect(entry).toMatchObject({ era: "legacy", version: "2025-11-25", outcome: "ok", client: { name: "ladder" } });
    expect(entry.marks).toEqual(["progress"]);
    expect(entry.session).toMatch(/^[\da-f]{8}$/);
    expect(JSON.stringify(entry)).not.toContain(client.sessionId);
    const methods = entry.messages.map(({ message }) => (message as { method?: string }).method ?? "result");
    expect(methods.filter((method) => method === "notifications/progress")).toHaveLength(3);
    const { message } =
      entry.messages.find((each) => /notifications.progress/.test(JSON.stringify(each.message))) ?? {};
    expect(message).toMatchObject({ params: { progressToken: "token" } });
    const object = entry.invocations.find(({ place }) => place === "object");
    expect(object).toMatchObject({ className: "McpObject", role: "session", woken: true });
    expect(entry.counts.rowsWritten).toBeGreaterThan(0);
    const tables = entry.invocations.flatMap(({ spans }) => spans.flatMap(({ table }) => table ?? []));
    expect(tables).toContain("event");
    const shown = entry.invocations.flatMap(({ spans }) => spans.flatMap(({ rowsWritten }) => rowsWritten ?? 0));
    expect(shown.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(entry.counts.rowsWritten);
  });

  test("links the client's answer to the question", async () => {
    const client = await LegacyClient.open(recorded.url("/mcp"), { capabilities: { elicitation: {} } });
    const response = await client.call("ask");
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    let id: string | undefined;
    while (id === undefined) {
      text += (await reader?.read())?.value ?? "";
      id = /"id":"([^"]+)","method":"elicitation\/create"/.exec(text)?.[1];
    }
    await client.send({ jsonrpc: "2.0", id, result: { action: "accept", content: { yes: true } } });
    while (!(await reader?.read())?.done);
    const call = await recorded.entry(
      "the call",
      (each) => calls("ask")(each) && each.era === "legacy" && each.outcome === "ok",
    );
    const answer = await recorded.entry("the answer", ({ kind }) => kind === "answer");
    expect(call.marks).toContain("question");
    expect(answer.target).toBe("elicitation/create");
    expect(call.related).toEqual([{ id: answer.id, why: "answer" }]);
    const order = call.messages.map(({ from }) => from);
    expect(order).toEqual(["client", "server", "client", "server"]);
  });

  test("records the reason of refused requests", async () => {
    const client = await LegacyClient.open(recorded.url("/mcp"));
    const { sessionId, ...rest } = client;
    expect(sessionId).toBeDefined();
    const headers = { ...rest.headers, "mcp-session-id": "unknown" };
    await (await client.request("tools/list", {}, { headers })).text();
    const entry = await recorded.entry("the refusal", ({ outcome }) => outcome === "refused");
    expect(entry).toMatchObject({ outcomeText: "404 session-unknown", http: { status: 404 } });
  });
});

test("an alarm is a separate entry with its object, and is linked to the call that created the task", async () => {
  const client = new TaskClient(recorded.url("/mcp"));
  await client.finish(await client.start("background"));
  const call = await recorded.entry("the call", calls("background"));
  const created = call.invocations.find(({ role }) => role === "task");
  expect(created).toMatchObject({ place: "object", className: "McpObject" });
  const alarm = await recorded.entry("the alarm", ({ kind }) => kind === "alarm");
  expect(alarm.invocations[0]).toMatchObject({ cause: "alarm", role: "task", object: created?.object });
  expect(alarm.counts.alarmsRun).toBe(1);
  expect(alarm.related).toContainEqual({ id: call.id, why: "task" });
  const poll = await recorded.entry("a poll", ({ method }) => method === "tasks/get");
  expect(poll.related).toContainEqual({ id: call.id, why: "task" });
});
