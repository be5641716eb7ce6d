/** `debug()` and bodies that a hostile client sends, or a function `to` that fails. */
import { describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { MessageLog } from "../../src/core/serve/message-log.ts";
import { until } from "../../src/testing/until.ts";
import { anonymous, debug, edge } from "../../src/worker/index.ts";
import { expectLogs } from "../harness/logs.ts";

expectLogs(/^mcp-edge: a line of the debug log was lost Error: away/);

const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const fail = (error: unknown) => {
  throw error;
};
const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

/** Sends a body to an endpoint with `debug()`, and returns the status of the response and the lines. */
async function post(body: string, to: (line: string) => unknown = () => undefined) {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => {
    lines.push(JSON.parse(line).mcp);
    return to(line);
  };
  const server = new McpServer({ name: "logged", version: "1.0.0" });
  const app = edge(server, { use: [debug({ to: write }), anonymous()] });
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2025-03-26",
  };
  const request = new Request("http://127.0.0.1/mcp", { method: "POST", headers, body });
  const context = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };
  const response = await app.fetch(request, {}, context as unknown as ExecutionContext);
  const text = await response.text();
  const received = () => lines.filter(({ direction }) => direction === "in");
  return { status: response.status, text, lines, received };
}

describe("debug()", () => {
  test.each([
    ["a batch in batches", nested(200_000), { kind: "invalid", count: 1, size: 400_000 }],
    ["an id that is nested", `{"jsonrpc":"2.0","method":"ping","id":${nested(200_000)}}`, { kind: "request" }],
    ["params that are nested", `{"jsonrpc":"2.0","method":"ping","id":1,"params":${nested(200_000)}}`, { id: 1 }],
  ])("logs %s on one line, and the endpoint still refuses the request", async (_, body, expected) => {
    const { status, received } = await post(body);
    expect(status).toBe(400);
    await until("there is a line", () => received().length > 0);
    expect(received()).toEqual([expect.objectContaining(expected)]);
  });

  test("counts the members of a batch that are not messages, and those without a line", () => {
    const lines: unknown[] = [];
    const log = new MessageLog((line) => lines.push(JSON.parse(line).mcp), fail);
    log.add("in", [ping, ...new Array(500_000).fill(1)], 1_000_000);
    log.add("in", new Array(60).fill([ping]), 9);
    log.add("in", [], 2);
    expect(lines).toEqual([
      { direction: "in", kind: "request", era: "legacy", method: "ping", id: 1 },
      { direction: "in", kind: "invalid", count: 49, size: 1_000_000 },
      { direction: "in", kind: "omitted", count: 499_951 },
      { direction: "in", kind: "invalid", count: 50, size: 9 },
      { direction: "in", kind: "omitted", count: 10 },
      { direction: "in", kind: "invalid", count: 0, size: 2 },
    ]);
  });

  test("does not keep a request with a long id, whose response then has no time", () => {
    const lines: Record<string, unknown>[] = [];
    const log = new MessageLog((line) => lines.push(JSON.parse(line).mcp), fail);
    const id = "x".repeat(1_000);
    log.add("in", { ...ping, id });
    log.add("out", { jsonrpc: "2.0", id, result: {} });
    expect(lines).toMatchObject([{ id: "x".repeat(128) }, { kind: "result", id: "x".repeat(128) }]);
    expect(lines[1]).not.toHaveProperty("ms");
  });

  test.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("away");
      },
    ],
    ["rejects", () => Promise.reject(new Error("away"))],
  ])("does not change a response when the function %s", async (_, to) => {
    const { status, text, lines } = await post(JSON.stringify(ping), to);
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
    expect(lines.map(({ kind }) => kind)).toEqual(["request", "result"]);
  });
});
