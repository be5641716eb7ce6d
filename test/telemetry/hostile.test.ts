/** `telemetry()` and callers that make up names, send long or secret values, or choose traces. */
import { beforeEach, describe, expect, test } from "vitest";
import { defineTool, McpError, McpServer } from "../../src/core/index.ts";
import type { JsonObject } from "../../src/core/protocol/jsonrpc.ts";
import { jsonSchema } from "../../src/schema/index.ts";
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

describe("the exception of a tool", () => {
  class BrokenError extends Error {
    override readonly name = "BrokenError";
  }
  const throwing = (server: McpServer, thrown: unknown) => {
    server.tool("throws", {}, () => {
      throw thrown;
    });
    return server;
  };
  const call = (app: Pick<ReturnType<typeof traced>, "fetch">) =>
    send(app, "tools/call", { name: "throws", arguments: {} });

  test("is an event of the span with its type and message, and the client gets only a reference", async () => {
    const seen: unknown[] = [];
    const server = createServer({ onError: (error, { correlationId }) => void seen.push(error, correlationId) });
    const broken = new BrokenError("The disk is full.");
    const { result } = await call(traced(throwing(server, broken)));
    expect(JSON.stringify(result)).toContain(`Reference: ${seen[1]}`);
    expect(JSON.stringify(result)).not.toContain("disk");
    expect(seen[0]).toBe(broken);
    expect(takeSpans()).toMatchObject([
      {
        isError: true,
        message: undefined,
        attributes: { "error.type": "tool_error" },
        events: [["exception", { "exception.type": "BrokenError", "exception.message": "The disk is full." }]],
      },
    ]);
  });

  test("has its stack only with stacks: true, as has the exception of a prompt", async () => {
    const broken = new BrokenError("away");
    const server = throwing(createServer(), broken);
    server.prompt("throws", {}, () => {
      throw broken;
    });
    for (const stacks of [false, true]) {
      const app = traced(server, undefined, { stacks });
      await call(app);
      await send(app, "prompts/get", { name: "throws" });
      const stack = stacks ? expect.stringContaining("BrokenError: away\n") : undefined;
      expect(takeSpans().map(({ events }) => events.map(([, about]) => about?.["exception.stacktrace"]))).toEqual([
        [stack],
        [stack],
      ]);
    }
  });

  test("is recorded for a server that returns different definitions to each caller, and if it is undefined", async () => {
    const throws = defineTool("throws", {}, () => Promise.reject(undefined));
    const server = new McpServer({
      name: "dynamic",
      version: "1.0.0",
      definitions: () => [throws],
      onError: () => undefined,
    });
    await call(traced(server));
    expect(takeSpans()).toMatchObject([{ exceptions: ["undefined"] }]);
  });

  test("is recorded in the span of its own call if many calls fail at the same time", async () => {
    const server = createServer();
    const input = jsonSchema<{ text: string }>({ type: "object" });
    server.tool("says", { input }, ({ text }) => {
      throw new Error(text);
    });
    const app = traced(server, undefined, { contents: true });
    const texts = Array.from({ length: 150 }, (_, at) => `<${at}>`);
    await Promise.all(texts.map((text) => send(app, "tools/call", { name: "says", arguments: { text } })));
    const spans = takeSpans();
    expect(spans).toHaveLength(texts.length);
    for (const { attributes, exceptions } of spans)
      expect(attributes["gen_ai.tool.call.arguments"]).toBe(`{"text":"${exceptions[0]}"}`);
  });

  test("is not recorded for a result that repeats the reference of an earlier one, or a ToolError", async () => {
    const app = traced(throwing(createServer(), new BrokenError("away")));
    const { result } = await call(app);
    takeSpans();
    const repeating = traced(createServer(), async () => result as JsonObject);
    await call(repeating);
    await send(repeating, "tools/call", { name: "wrong", arguments: {} });
    expect(takeSpans().map(({ exceptions }) => exceptions)).toEqual([[], []]);
  });
});

describe("a refused request", () => {
  const refusing = definePlugin({
    name: "closed()",
    attach: () => ({
      authorize: () => ({ reason: "too-many", form: { status: 429, code: -32_600, message: "Later." } }),
    }),
  });
  const closed = (options: Partial<TelemetryOptions> = {}) =>
    edge(createServer(), { use: [telemetry({ openTelemetry, ...options }), refusing, anonymous()] });
  const meta = { traceparent: `00-${TRACE}-${SPAN}-01` };

  test("continues the trace of the caller in _meta", async () => {
    await send(closed(), "tools/call", { name: "echo", arguments: {} }, { meta });
    expect(takeSpans()).toMatchObject([
      { traceId: TRACE, parentId: SPAN, attributes: { "mcp_edge.reason": "too-many" } },
    ]);
  });

  test("continues it if the endpoint itself refuses, and ignores a trace context that is not valid", async () => {
    const app = traced(createServer());
    const version = { "io.modelcontextprotocol/protocolVersion": "2099-01-01" };
    await send(app, "tools/list", {}, { meta: { ...meta, ...version } });
    await send(app, "tools/list", {}, { meta: { traceparent: "made up", ...version } });
    expect(takeSpans()).toMatchObject([{ parentId: SPAN }, { parentId: undefined }]);
  });

  test("only links the span of the caller with callers: link, and begins a trace", async () => {
    const { context, trace } = openTelemetry;
    const ambient = { traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1, isRemote: true };
    await context.with(trace.setSpanContext(context.active(), ambient), () =>
      send(closed({ callers: "link" }), "tools/call", { name: "echo", arguments: {} }, { meta }),
    );
    const [span] = takeSpans();
    expect(span).toMatchObject({ parentId: undefined, links: [SPAN, ambient.spanId] });
    expect([TRACE, ambient.traceId]).not.toContain(span?.traceId);
  });
});

describe("attributes", () => {
  test("do not contain the user name, password and query of a URI", async () => {
    await send(traced(createServer()), "resources/read", {
      uri: "postgres://admin:hunter2@db/customers?token=tr0ub4dor",
    });
    const spans = takeSpans();
    expect(spans).toMatchObject([{ attributes: { "mcp.resource.uri": "postgres://db/customers" } }]);
    expect(JSON.stringify(spans)).not.toMatch(/admin|hunter2|tr0ub4dor/);
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
