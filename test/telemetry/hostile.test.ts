/** `telemetry()` and callers that make up names, send long or secret values, or choose traces. */
import { beforeEach, describe, expect, test } from "vitest";
import { defineTool, McpError, McpServer } from "../../src/core/index.ts";
import { type Measurement, type TelemetryOptions, telemetry } from "../../src/telemetry/index.ts";
import { until } from "../../src/testing/until.ts";
import { anonymous, definePlugin, edge } from "../../src/worker/index.ts";
import { createServer } from "./fixtures/server.ts";
import { send } from "./in-process.ts";
import { openTelemetry, takeSpans } from "./recorded.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const measured: Measurement[] = [];
beforeEach(() => {
  measured.length = 0;
  takeSpans();
});

type Around = NonNullable<ReturnType<Parameters<typeof definePlugin>[0]["attach"]>["around"]>;

/** Returns an endpoint of the server, with another hook within the hook of `telemetry()`. */
function traced(server: McpServer, around?: Around, options: Partial<TelemetryOptions> = {}) {
  const metrics = (measurement: Measurement) => void measured.push(measurement);
  const hook = definePlugin({ name: "hook()", attach: () => ({ around }) });
  return edge(server, { use: [telemetry({ openTelemetry, metrics, ...options }), hook, anonymous()] });
}

const named = () => JSON.stringify([measured.map(({ attributes }) => attributes), takeSpans().map(({ name }) => name)]);

describe("names that the server does not have are not in metrics and names of spans", () => {
  const refuses: Around = () => Promise.reject(new McpError(-32_003, "No."));
  const replies: Around = async () => ({ content: [], messages: [], resultType: "complete" });
  const failing = () => {
    throw new McpError(-32_001, "No database.");
  };

  test.each<[string, McpServer, Around | undefined]>([
    ["serves the request", createServer(), undefined],
    ["has a hook that refuses", createServer(), refuses],
    ["has a hook that returns a result", createServer(), replies],
    ["has a context function that throws", createServer({ context: failing }), undefined],
  ])("if the server %s", async (_, server, around) => {
    const app = traced(server, around);
    await send(app, "tools/call", { name: "made-up" });
    await send(app, "prompts/get", { name: "made-up" });
    await send(app, "made/up");
    expect(measured.map(({ attributes }) => attributes["mcp.method.name"])).toEqual([
      "tools/call",
      "prompts/get",
      "_OTHER",
    ]);
    expect(named()).not.toContain("made");
  });

  test("if the client disconnects before the server has looked for the tool", async () => {
    const controller = new AbortController();
    const app = traced(createServer(), async (_, next) => {
      controller.abort();
      return next();
    });
    await send(app, "tools/call", { name: "made-up" }, { signal: controller.signal }).catch(() => undefined);
    await until("the call is measured", () => measured.length > 0);
    expect(measured).toMatchObject([{ attributes: { "error.type": "cancelled" } }]);
    expect(named()).not.toContain("made");
  });
});

describe("names that the server has are in metrics and names of spans", () => {
  test.each<[string, McpServer, string]>([
    [
      "of a tool that refuses its arguments with -32602",
      createServer({ tools: [defineTool("exists", {}, () => Promise.reject(new McpError(-32_602, "Not these.")))] }),
      "exists",
    ],
    [
      "of a tool that only the caller has",
      new McpServer({
        name: "dynamic",
        version: "1.0.0",
        definitions: () => [defineTool("own", {}, () => "mine")],
      }),
      "own",
    ],
  ])("%s", async (_, server, name) => {
    await send(traced(server), "tools/call", { name, arguments: {} });
    expect(measured).toMatchObject([{ attributes: { "gen_ai.tool.name": name } }]);
    expect(takeSpans()).toMatchObject([{ name: `tools/call ${name}` }]);
  });
});

describe("the exception of a handler", () => {
  const throwing = (thrown: unknown) => {
    const server = createServer();
    server.prompt("throws", {}, () => {
      throw thrown;
    });
    return traced(server);
  };

  test("is recorded with at most 256 characters of its message", async () => {
    await send(throwing(new Error("x".repeat(1_000_000))), "prompts/get", { name: "throws" });
    expect(takeSpans()).toMatchObject([{ isError: true, exceptions: [`${"x".repeat(253)}...`] }]);
  });

  test("marks the span as failed even if it cannot be converted to a string", async () => {
    await send(throwing(Object.create(null)), "prompts/get", { name: "throws" });
    expect(takeSpans()).toMatchObject([{ isError: true, exceptions: ["The exception cannot be described."] }]);
  });
});

describe("attributes", () => {
  test("do not contain the user name, password and query of a URI", async () => {
    await send(traced(createServer()), "resources/read", { uri: "postgres://admin:hunter2@db/customers?token=abc" });
    const spans = takeSpans();
    expect(spans).toMatchObject([{ attributes: { "mcp.resource.uri": "postgres://db/customers" } }]);
    expect(JSON.stringify(spans)).not.toMatch(/hunter2|abc/);
  });

  test("have at most 256 characters, and contents 4,096, after control characters are escaped", async () => {
    const app = traced(createServer(), undefined, { contents: true });
    await send(app, "tools/call", { name: "echo", arguments: { text: "\u202e".repeat(9_000) } });
    await send(app, "prompts/get", { name: "\u0080".repeat(300) });
    const [tool, prompt] = takeSpans();
    expect(String(tool?.attributes["gen_ai.tool.call.arguments"])).toHaveLength(4_096);
    expect(String(tool?.attributes["gen_ai.tool.call.result"])).toHaveLength(4_096);
    expect(String(prompt?.attributes["gen_ai.prompt.name"])).toHaveLength(256);
  });
});

test("with callers: link, a span begins a trace even if the active span has adopted the trace of the caller", async () => {
  const app = traced(createServer(), undefined, { callers: "link" });
  const { context, trace } = openTelemetry;
  const caller = { traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true };
  await context.with(trace.setSpanContext(context.active(), caller), () =>
    send(app, "tools/call", { name: "echo", arguments: {} }),
  );
  const [span] = takeSpans();
  expect(span).toMatchObject({ parentId: undefined, links: [SPAN] });
  expect(span?.traceId).not.toBe(TRACE);
});
