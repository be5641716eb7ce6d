/** `telemetry()` and tracers, meters and functions that fail: every call runs once, and its result does not change. */
import { describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import {
  type OpenTelemetry,
  type TelemetryOptions,
  telemetry,
  type WorkersTracing,
} from "../../src/telemetry/index.ts";
import { anonymous, edge } from "../../src/worker/index.ts";
import { expectLogs } from "../harness/logs.ts";
import { send } from "./in-process.ts";
import { openTelemetry } from "./recorded.ts";

expectLogs(/^mcp-edge: a (span could not be recorded|measurement was lost) .*away/);

const span = {
  spanContext: () => ({ traceId: "a".repeat(32), spanId: "b".repeat(16), traceFlags: 1 }),
  setAttributes: () => undefined,
  setStatus: () => undefined,
  recordException: () => undefined,
  end: () => undefined,
};

type Run = (span: unknown) => unknown;

/** Calls a tool that counts its runs. Returns the response and the number of runs. */
async function count(options: TelemetryOptions) {
  let runs = 0;
  const server = new McpServer({ name: "counted", version: "1.0.0" });
  server.tool("count", {}, () => `run ${++runs}`);
  const app = edge(server, { use: [telemetry(options), anonymous()] });
  const { result } = await send(app, "tools/call", { name: "count", arguments: {} });
  return { runs, result };
}

const once = { runs: 1, result: expect.objectContaining({ content: [{ type: "text", text: "run 1" }] }) };

describe("a call runs once, and has its result, if the tracer", () => {
  test.each<[string, (run: Run) => unknown]>([
    [
      "throws before the call",
      () => {
        throw new Error("away");
      },
    ],
    [
      "throws after the call",
      (run) => {
        run(span);
        throw new Error("away");
      },
    ],
    ["rejects before the call", () => Promise.reject(new Error("away"))],
    [
      "rejects after the call",
      async (run) => {
        await run(span);
        throw new Error("away");
      },
    ],
    ["returns undefined", (run) => void run(span)],
    ["never calls the function", () => undefined],
    [
      "calls the function twice",
      (run) => {
        run(span);
        return run(span);
      },
    ],
    [
      "returns a promise that does not settle",
      (run) => {
        run(span);
        return new Promise(() => undefined);
      },
    ],
  ])("%s", async (_, start) => {
    const api = {
      ...openTelemetry,
      trace: {
        ...openTelemetry.trace,
        getSpanContext: () => undefined,
        getTracer: () => ({
          startActiveSpan: (_name: string, _options: object, _context: object, run: Run) => start(run),
        }),
      },
    } as unknown as OpenTelemetry;
    expect(await count({ openTelemetry: api })).toEqual(once);
    const tracing = { startActiveSpan: (_name: string, run: Run) => start(run) } as WorkersTracing;
    expect(await count({ tracing })).toEqual(once);
  });
});

test("a call does not fail if the function for measurements rejects", async () => {
  expect(await count({ metrics: () => Promise.reject(new Error("away")) })).toEqual(once);
});

test("measurements are recorded as soon as there is a meter provider", async () => {
  const recorded: number[] = [];
  const meter = (record: (value: number) => void) => ({
    createHistogram: () => ({ record }),
    createCounter: () => ({ add: () => undefined }),
  });
  let current = meter(() => undefined);
  const api = { ...openTelemetry, trace: openTelemetry.trace, metrics: { getMeter: () => current } };
  const server = new McpServer({ name: "counted", version: "1.0.0" });
  server.tool("count", {}, () => "one");
  const app = edge(server, { use: [telemetry({ openTelemetry: api }), anonymous()] });
  await send(app, "tools/list");
  expect(recorded).toEqual([]);
  current = meter((value) => void recorded.push(value));
  await send(app, "tools/list");
  expect(recorded).toHaveLength(1);
});

test.each([[null], [{}], [{ analyticsEngine: 5 }]])("metrics: %j is refused", (metrics) => {
  expect(() => telemetry({ openTelemetry, metrics: metrics as never })).toThrow(/does not name a binding/);
});
