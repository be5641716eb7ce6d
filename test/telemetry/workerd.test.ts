// @module-tag long
/** `telemetry()` on workerd: the spans that a tail Worker receives. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../src/testing/until.ts";
import type { Members } from "../http/messages.ts";
import { LegacyClient, ModernClient, readAnswer } from "../worker/client.ts";
import { TaskClient } from "../worker/task-client.ts";
import { startTailed, type TailedWorker } from "./tailed-worker.ts";

let tailed: TailedWorker;
beforeAll(async () => {
  tailed = await startTailed({ entry: "test/telemetry/fixtures/worker.ts", objects: ["McpObject"] });
});
afterAll(() => tailed?.worker.stop());

const url = (path = "/mcp") => tailed.worker.url(path);
const read = async (path: string) => (await (await fetch(url(path))).json()) as Members[];
beforeEach(async () => {
  await read("/measured");
});

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("a modern client", () => {
  const client = () => new ModernClient(url());

  test("whose call succeeds gets a span in the Worker, with the trace context of _meta as attributes", async () => {
    const meta = { traceparent: TRACEPARENT, tracestate: "a=b" };
    await readAnswer(client().call("echo", { text: "private" }, { id: "call-1", meta }));
    const [span] = await tailed.take(1);
    expect(span).toMatchObject({
      name: "tools/call echo",
      isInObject: false,
      attributes: {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo",
        "jsonrpc.request.id": "call-1",
        "mcp.protocol.version": "2026-07-28",
        "network.transport": "tcp",
        "span.kind": "server",
        "mcp_edge.caller.trace_id": "0af7651916cd43dd8448eb211c80319c",
        "mcp_edge.caller.traceparent": TRACEPARENT,
        "mcp_edge.caller.tracestate": "a=b",
      },
    });
    expect(JSON.stringify(span)).not.toContain("private");
    expect(await read("/measured")).toMatchObject([
      { name: "mcp.server.operation.duration", unit: "s", attributes: { "gen_ai.tool.name": "echo" } },
    ]);
  });

  test.each([
    ["wrong", "tool_error"],
    ["refuses", "-32050"],
  ])("whose call of the tool %s fails gets a span with the error", async (tool, type) => {
    await readAnswer(client().call(tool));
    expect(await tailed.take(1)).toMatchObject([{ name: `tools/call ${tool}`, attributes: { "error.type": type } }]);
  });

  test("that disconnects gets a span of a cancelled call", async () => {
    const controller = new AbortController();
    const call = client().call("wait", {}, { signal: controller.signal });
    call.catch(() => undefined);
    await until("the tool runs", async () => (await (await fetch(url("/started"))).json()) === true);
    controller.abort();
    expect(await tailed.take(1)).toMatchObject([
      { name: "tools/call wait", attributes: { "error.type": "cancelled" } },
    ]);
  });

  test("that calls a task gets a span for the request, and one for each run of the task, in its object", async () => {
    const tasks = new TaskClient(url());
    const taskId = await tasks.start("later");
    await tasks.reaches(taskId, "completed");
    const spans = (await tailed.take(3)).filter(({ name }) => name === "tools/call later");
    expect(spans.map(({ isInObject }) => isInObject).toSorted()).toEqual([false, true]);
    const id = spans.find(({ isInObject }) => isInObject)?.attributes["mcp_edge.task.id"];
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(JSON.stringify(spans)).not.toContain(taskId);
    expect(await read("/measured")).toContainEqual(expect.objectContaining({ name: "mcp_edge.server.task.duration" }));
  });

  test("that is refused gets no span if its messages are not known, and is counted", async () => {
    expect((await new ModernClient(url("/closed")).call("echo")).status).toBe(401);
    expect(await read("/measured")).toMatchObject([
      {
        name: "mcp_edge.server.refusals",
        kind: "counter",
        value: 1,
        attributes: { "mcp_edge.reason": "unauthorized", "http.response.status_code": 401 },
      },
    ]);
  });

  test("is measured in Analytics Engine", async () => {
    await readAnswer(new ModernClient(url("/counted")).call("wrong"));
    expect(await read("/points")).toEqual([
      {
        indexes: ["wrong"],
        blobs: ["mcp.server.operation.duration", "tools/call", "wrong", "", "tool_error", "2026-07-28", "tcp", ""],
        doubles: [expect.any(Number)],
      },
    ]);
  });
});

describe("a client with a session", () => {
  test("gets its spans in the object of the session, in the trace of the Worker, with a hash of the session", async () => {
    const client = await LegacyClient.open(url(), { version: "2025-11-25" });
    await tailed.take(1);
    await readAnswer(client.call("echo", { text: "a" }));
    await readAnswer(client.call("wrong"));
    const spans = await tailed.take(2);
    expect(spans.map(({ name, isInObject }) => [name, isInObject])).toEqual([
      ["tools/call echo", true],
      ["tools/call wrong", true],
    ]);
    const ids = spans.map(({ attributes }) => attributes["mcp.session.id"]);
    expect(new Set(ids).size).toBe(1);
    expect(ids[0]).toMatch(/^[0-9a-f]{16}$/);
    expect(JSON.stringify(spans)).not.toContain(client.sessionId);
    expect(spans[0]?.attributes).toMatchObject({ "mcp.protocol.version": "2025-11-25" });

    const other = await LegacyClient.open(url(), { version: "2025-11-25" });
    await readAnswer(other.call("echo", { text: "a" }));
    const [, span] = await tailed.take(2);
    expect(span?.attributes["mcp.session.id"]).not.toBe(ids[0]);
  });

  // workerd drops what a span of an object records after the request to the object has returned, as it does once a call streams.
  test.each<[string, object]>([
    ["sends progress", { progressToken: "p" }],
    ["takes longer than jsonWaitMs", {}],
  ])("that cancels a call that streams because it %s is measured, but its span is lost", async (_, options) => {
    const client = await LegacyClient.open(url(), { version: "2025-11-25" });
    await tailed.take(1);
    const call = client.call("wait", {}, { id: 77, ...options });
    await (await call).body?.getReader().read();
    await client.notify("notifications/cancelled", { requestId: 77 });
    const ends: Members[] = [];
    await until("the end is measured", async () => ends.push(...(await read("/measured"))) > 1);
    expect(ends.at(-1)).toMatchObject({ attributes: { "gen_ai.tool.name": "wait", "error.type": "cancelled" } });
    await readAnswer(client.call("echo", {}));
    expect((await tailed.take(1)).map(({ name }) => name)).toEqual(["tools/call echo"]);
  });

  test("that sends a custom notification gets a span for it", async () => {
    const client = await LegacyClient.open(url(), { version: "2025-11-25" });
    await tailed.take(1);
    await client.notify("example.com/seen");
    expect(await tailed.take(1)).toMatchObject([{ name: "example.com/seen", isInObject: true }]);
  });
});
