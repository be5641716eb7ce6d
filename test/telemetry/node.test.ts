/** `telemetry()` and `clientTelemetry()` on Node, with OpenTelemetry's own SDK. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Client, type ClientOptions, connect } from "../../src/client/index.ts";
import { type HttpServing, serveHttp } from "../../src/node/index.ts";
import { clientTelemetry, type Measurement, telemetry } from "../../src/telemetry/index.ts";
import { until } from "../../src/testing/until.ts";
import { anonymous, definePlugin, edge } from "../../src/worker/index.ts";
import { expectLogs } from "../harness/logs.ts";
import { createServer } from "./fixtures/server.ts";
import { openTelemetry, type Recorded, readMetrics, takeSpans } from "./recorded.ts";

expectLogs(/^mcp-edge: a measurement was lost Error: away/);

const ERAS = [["2025-11-25"], ["2026-07-28"]] as const;
const ME = { name: "probe", version: "2.0.0", onEvent: () => undefined };

let waiting = () => {};
let serving: HttpServing;
beforeAll(async () => {
  const app = edge(
    createServer({}, () => waiting()),
    {
      use: [telemetry({ openTelemetry }), anonymous()],
    },
  );
  serving = await serveHttp(app, { port: 0, log: () => undefined });
});
afterAll(() => serving?.close());
beforeEach(() => void takeSpans());

const url = () => `${serving.origin}/mcp`;

async function connected(version: string, options: Partial<ClientOptions> = {}): Promise<Client> {
  const client = await connect(url(), { ...ME, protocolVersions: [version], ...options });
  takeSpans();
  return client;
}

/** Returns the spans of servers. */
async function serverSpans(count = 1): Promise<Recorded[]> {
  const found: Recorded[] = [];
  await until("the spans have ended", () => {
    found.push(...takeSpans().filter(({ kind }) => kind === "server"));
    return found.length >= count;
  });
  return found;
}

describe.each(ERAS)("a server that a client of %s calls over HTTP", (version) => {
  test("records a span for a tool call, with the attributes of the conventions", async () => {
    const client = await connected(version);
    await client.callTool("echo", { text: "private" });
    const [span] = await serverSpans();
    expect(span).toMatchObject({
      name: "tools/call echo",
      kind: "server",
      isError: false,
      attributes: {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo",
        "mcp.protocol.version": version,
        "jsonrpc.request.id": expect.stringMatching(/^\d+$/),
        "network.transport": "tcp",
        "network.protocol.name": "http",
      },
    });
    expect(JSON.stringify(span)).not.toContain("private");
    expect(span?.attributes).not.toHaveProperty("error.type");
    await client.close();
  });

  test.each<[string, (client: Client) => Promise<unknown>, object]>([
    [
      "of a prompt has its name",
      (client) => client.getPrompt("greet"),
      { name: "prompts/get greet", attributes: { "gen_ai.prompt.name": "greet" } },
    ],
    [
      "of a resource has the URI as an attribute, and not in its name",
      (client) => client.readResource("test://one"),
      { name: "resources/read", attributes: { "mcp.resource.uri": "test://one" } },
    ],
    ["of a list has the method", (client) => client.listTools(), { name: "tools/list", isError: false }],
    [
      "of a tool that reports an error says tool_error",
      (client) => client.callTool("wrong"),
      { name: "tools/call wrong", isError: true, attributes: { "error.type": "tool_error" } },
    ],
    [
      "of a JSON-RPC error has its code and its message",
      (client) => client.callTool("refuses").catch(() => undefined),
      {
        name: "tools/call refuses",
        isError: true,
        message: "No.",
        attributes: { "error.type": "-32050", "rpc.response.status_code": "-32050" },
      },
    ],
    [
      "of a tool that does not exist does not have its name",
      (client) => client.callTool("made-up").catch(() => undefined),
      { name: "tools/call", isError: true, attributes: { "error.type": "-32602" } },
    ],
    [
      "of a method that does not exist does not have its name",
      (client) => client.request("made/up").catch(() => undefined),
      { name: "_OTHER", isError: true, attributes: { "error.type": "-32601" } },
    ],
  ])("the span %s", async (_, act, expected) => {
    const client = await connected(version);
    await act(client);
    expect(await serverSpans()).toMatchObject([expected]);
    await client.close();
  });

  test("a custom notification has a span without a request id", async () => {
    const client = await connected(version);
    await client.notify("example.com/seen", {});
    const [span] = await serverSpans();
    expect(span).toMatchObject({ name: "example.com/seen", attributes: { "mcp.method.name": "example.com/seen" } });
    expect(span?.attributes).not.toHaveProperty("jsonrpc.request.id");
    await client.close();
  });

  test("the spans of a client and the server are in one trace, with the parent in _meta", async () => {
    const client = await connected(version, { use: [clientTelemetry({ openTelemetry, server: url() })] });
    await openTelemetry.trace.getTracer("test").startActiveSpan("agent", async (agent) => {
      await client.callTool("echo", { text: "a" });
      agent.end();
    });
    const spans = takeSpans();
    const [server, sent, agent] = ["server", "client", "internal"].map((kind) =>
      spans.find((each) => each.kind === kind),
    );
    expect(sent).toMatchObject({
      name: "tools/call echo",
      traceId: agent?.traceId,
      parentId: agent?.spanId,
      attributes: {
        "gen_ai.tool.name": "echo",
        "mcp.protocol.version": version,
        "network.transport": "tcp",
        "server.address": "127.0.0.1",
        "server.port": Number(new URL(url()).port),
      },
    });
    expect(server).toMatchObject({ traceId: agent?.traceId, parentId: sent?.spanId, links: [] });
    expect(server?.attributes["jsonrpc.request.id"]).toBe(sent?.attributes["jsonrpc.request.id"]);
    await client.close();
  });

  test("the span of a client has the code of the error, or why there is no response", async () => {
    const client = await connected(version, { use: [clientTelemetry({ openTelemetry })] });
    await client.callTool("refuses").catch(() => undefined);
    await client.callTool("wrong");
    const controller = new AbortController();
    waiting = () => controller.abort();
    await client.callTool("wait", {}, { signal: controller.signal }).catch(() => undefined);
    waiting = () => undefined;
    await client.callTool("wait", {}, { timeoutMs: 50 }).catch(() => undefined);
    const sent = takeSpans().filter(({ kind }) => kind === "client");
    expect(sent.map(({ attributes }) => attributes["error.type"])).toEqual([
      "-32050",
      "tool_error",
      "cancelled",
      "timeout",
    ]);
    expect(sent.map(({ isError }) => isError)).toEqual([true, true, true, true]);
    await client.close();
  });
});

test("the span of a cancelled call ends when the call is cancelled, and not when its handler returns", async () => {
  const client = await connected("2026-07-28");
  const controller = new AbortController();
  waiting = () => controller.abort();
  await client.callTool("wait", {}, { signal: controller.signal }).catch(() => undefined);
  expect(await serverSpans()).toMatchObject([
    { name: "tools/call wait", isError: true, attributes: { "error.type": "cancelled" } },
  ]);
  await client.close();
});

describe("the trace context of a request", () => {
  const TRACE = "0af7651916cd43dd8448eb211c80319c";
  const SPAN = "b7ad6b7169203331";
  const call = async (meta: object, headers: Record<string, string> = {}) => {
    const client = await connected("2026-07-28", { headers });
    await client.callTool("echo", {}, { meta: { ...meta } });
    await client.close();
    return (await serverSpans()).find(({ name }) => name === "tools/call echo");
  };

  test("in _meta is the parent, with its tracestate", async () => {
    const span = await call({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "rojo=00f067aa0ba902b7,congo=t61" });
    expect(span).toMatchObject({ traceId: TRACE, parentId: SPAN, tracestate: "rojo=00f067aa0ba902b7,congo=t61" });
  });

  test("in an HTTP header is a link, and not the parent", async () => {
    const span = await call({}, { traceparent: `00-${TRACE}-${SPAN}-01` });
    expect(span).toMatchObject({ parentId: undefined, links: [SPAN] });
    expect(span?.traceId).not.toBe(TRACE);
  });

  test.each([
    ["of the version ff", `ff-${TRACE}-${SPAN}-01`],
    ["with a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["with a span of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["in upper case", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ["of version 00 with more members", `00-${TRACE}-${SPAN}-01-more`],
    ["that is very long", `01-${TRACE}-${SPAN}-01-${"x".repeat(1000)}`],
    ["that is not a string", 7],
  ])("%s is ignored", async (_, traceparent) => {
    expect(await call({ traceparent })).toMatchObject({ parentId: undefined });
  });

  test.each([
    ["longer than 512 characters", `a=${"x".repeat(600)}`],
    ["with control characters", "a=b\nc"],
    ["with more than 32 members", Array.from({ length: 33 }, (_, at) => `k${at}=v`).join(",")],
  ])("a tracestate %s is ignored, and its traceparent is used", async (_, tracestate) => {
    const span = await call({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate });
    expect(span).toMatchObject({ traceId: TRACE, tracestate: undefined });
  });

  test("is only linked with callers: link", async () => {
    await using linking = await serveHttp(
      edge(createServer(), { use: [telemetry({ openTelemetry, callers: "link" }), anonymous()] }),
      { port: 0, log: () => undefined },
    );
    const client = await connect(`${linking.origin}/mcp`, { ...ME, protocolVersions: ["2026-07-28"] });
    takeSpans();
    await client.callTool("echo", {}, { meta: { traceparent: `00-${TRACE}-${SPAN}-01` } });
    await client.close();
    expect(await serverSpans()).toMatchObject([{ parentId: undefined, links: [SPAN] }]);
  });
});

test("a refused request has a span with the reason, without names that the caller may have made up", async () => {
  const app = edge(createServer(), {
    use: [
      telemetry({ openTelemetry }),
      anonymous(),
      definePlugin({
        name: "closed()",
        attach: () => ({
          authorize: ({ messages }) =>
            messages.some((each) => each.kind === "request" && each.message.method === "tools/call")
              ? { reason: "too-many", form: { status: 429, code: -32_600, message: "Later." } }
              : undefined,
        }),
      }),
    ],
  });
  await using closed = await serveHttp(app, { port: 0, log: () => undefined });
  const client = await connect(`${closed.origin}/mcp`, { ...ME, protocolVersions: ["2026-07-28"] });
  takeSpans();
  await client.callTool("echo").catch(() => undefined);
  await client.close();
  expect(await serverSpans()).toMatchObject([
    {
      name: "tools/call",
      isError: true,
      attributes: { "error.type": "-32600", "mcp_edge.reason": "too-many", "http.response.status_code": 429 },
    },
  ]);
  const refusals = (await readMetrics()).filter(({ name }) => name === "mcp_edge.server.refusals");
  expect(refusals).toMatchObject([{ attributes: { "mcp_edge.reason": "too-many" } }]);
});

test("a span contains arguments and result only with contents: true, cut off at 4,096 characters", async () => {
  const app = edge(createServer(), { use: [telemetry({ openTelemetry, contents: true }), anonymous()] });
  await using open = await serveHttp(app, { port: 0, log: () => undefined });
  const client = await connect(`${open.origin}/mcp`, {
    ...ME,
    use: [clientTelemetry({ openTelemetry, contents: true })],
  });
  takeSpans();
  await client.callTool("echo", { text: "x".repeat(10_000) });
  await client.close();
  for (const span of takeSpans().filter(({ name }) => name === "tools/call echo")) {
    expect(span.attributes["gen_ai.tool.call.arguments"]).toMatch(/^\{"text":"x{4084}\.\.\.$/);
    expect(span.attributes["gen_ai.tool.call.result"]).toMatch(/^\{.*echo xxx.*\.\.\.$/);
  }
});

test("durations are histograms with the buckets of the conventions, and with few different attributes", async () => {
  const client = await connected("2026-07-28", { use: [clientTelemetry({ openTelemetry })] });
  await client.callTool("echo", { text: "a" });
  await client.callTool("made-up-tool").catch(() => undefined);
  await client.request("made/up").catch(() => undefined);
  await client.close();
  const series = await readMetrics();
  const buckets = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
  for (const name of ["mcp.server.operation.duration", "mcp.client.operation.duration"]) {
    const own = series.filter((each) => each.name === name);
    expect(own).toContainEqual(
      expect.objectContaining({
        unit: "s",
        bounds: buckets,
        attributes: expect.objectContaining({ "mcp.method.name": "tools/call", "gen_ai.tool.name": "echo" }),
      }),
    );
    expect(JSON.stringify(own)).not.toMatch(/made|jsonrpc\.request\.id|probe/);
  }
  expect(series.filter(({ name }) => name === "mcp.client.session.duration").length).toBeGreaterThan(0);
});

describe("options", () => {
  test.each<[string, () => unknown, RegExp]>([
    ["telemetry() without anything to write to", () => telemetry({}), /has nothing to write to/],
    ["clientTelemetry() without anything to write to", () => clientTelemetry({}), /has nothing to write to/],
    [
      "two places for spans",
      () => telemetry({ openTelemetry, tracing: { startActiveSpan: () => undefined as never } }),
      /pass one of them/,
    ],
    ["a server that is not a URL", () => clientTelemetry({ openTelemetry, server: "here" }), /is not a URL/],
    ["an unknown option", () => telemetry({ openTelemetry, content: true } as never), /Did you mean "contents"/],
  ])("%s is refused", (_, create, message) => expect(create).toThrow(message));

  test("a function receives the measurements instead of OpenTelemetry, and its failure does not fail a call", async () => {
    const names: string[] = [];
    const metrics = (measurement: Measurement) => {
      names.push(measurement.name);
      throw new Error("away");
    };
    const app = edge(createServer(), { use: [telemetry({ metrics }), anonymous()] });
    await using counted = await serveHttp(app, { port: 0, log: () => undefined });
    const client = await connect(`${counted.origin}/mcp`, ME);
    expect(await client.callTool("echo", { text: "a" })).toMatchObject({ content: [{ text: "echo a" }] });
    await client.close();
    expect(names).toContain("mcp.server.operation.duration");
    expect(takeSpans()).toEqual([]);
  });
});
