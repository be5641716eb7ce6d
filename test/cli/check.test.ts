// @module-tag long
/** `mcp-edge check`: against servers that follow the protocol, and against some that do not. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker } from "../../src/testing/index.ts";
import { Workerd } from "../harness/workerd.ts";
import { NODE } from "../oracle/node.ts";
import { cli, withServer } from "./run.ts";

interface Row {
  readonly version: string;
  readonly name: string;
  readonly source: string;
  readonly status: string;
  readonly detail?: string;
}

/** Runs `check --json` and returns its rows. */
async function check(...args: readonly string[]): Promise<{ code: number | null; rows: Row[]; stderr: string }> {
  const { code, stdout, stderr } = await cli(["check", "--json", ...args]);
  return { code, rows: stdout === "" ? [] : ((JSON.parse(stdout) as { rows?: Row[] }).rows ?? []), stderr };
}

describe("check with the reference server", () => {
  let worker: Workerd;
  beforeAll(async () => {
    worker = await Workerd.start({ entry: "src/reference/index.ts", objects: ["McpObject"] });
  });
  afterAll(() => worker?.stop());

  test("passes every check and every scenario that applies, in each version", { timeout: 300_000 }, async () => {
    const { code, rows } = await check(`${worker.origin}/mcp`);
    const limits = rows.filter(({ name }) => name === "host-limits");
    // A tool for the official suite has anyOf at the top level of its schema.
    for (const { status, detail } of limits) {
      expect(status).toBe("warning");
      expect(detail).toMatch(
        /^Claude Code: .* dropped without a message: json_schema_2020_12_tool\. tools\/list has \d+ bytes, roughly \d+ tokens$/,
      );
    }
    expect(limits).toHaveLength(5);
    const other = rows.filter((row) => !limits.includes(row));
    expect(other.filter(({ status }) => status === "failed" || status === "warning")).toEqual([]);
    expect(code).toBe(0);
    const passed = rows.filter(({ status }) => status === "passed");
    expect(new Set(passed.map(({ version }) => version)).size).toBe(5);
    const official = passed
      .filter(({ source }) => source === "official")
      .map(({ name, version }) => `${version} ${name}`);
    expect(official).toEqual(
      expect.arrayContaining([
        "2025-06-18 ping",
        "2025-11-25 server-initialize",
        "2025-11-25 tools-list",
        "2025-11-25 dns-rebinding-protection",
        "2026-07-28 server-stateless",
        "2026-07-28 http-header-validation",
        "2026-07-28 sep-2164-resource-not-found",
      ]),
    );
    const image = rows.find(({ name }) => name === "tools-call-image");
    expect(image).toMatchObject({ status: "not-applicable", detail: expect.stringContaining("own test server") });
  });
});

test("a server without the tools of the suite's test server gets no warning about them", {
  timeout: 300_000,
}, async () => {
  const source = `
    import { McpServer } from "./src/core/index.ts";
    import { edge } from "./src/worker/index.ts";
    import { durable } from "./src/worker/durable/index.ts";
    const server = new McpServer({ name: "small", version: "1.0.0" });
    server.tool("roll", { description: "Rolls dice" }, () => "4");
    const app = edge(server, { use: [durable()] });
    export default app;
    export class McpObject extends app.McpObject {}`;
  await using worker = await startWorker({ entry: { source }, objects: ["McpObject"] });
  const { code, rows } = await check(worker.url("/mcp"));
  expect(rows.filter(({ status }) => status === "failed" || status === "warning")).toEqual([]);
  expect(code).toBe(0);
  const stateless = rows.find(({ name }) => name === "server-stateless");
  expect(stateless?.detail).toMatch(/^\d+ checks; \d+ more require tools of the suite's own test server$/);
});

test("a server over stdio gets the checks of mcp-edge, as a table", async () => {
  const { code, stdout, stderr } = await withServer(["check"]);
  expect(code).toBe(0);
  expect(stderr).toBe("The official suite tests only servers over HTTP, so only the checks of mcp-edge are run.\n");
  expect(stdout).toMatch(/^2024-11-05\n {2}✓ connect +client-lab 1\.2\.3\n/);
  expect(stdout).toMatch(/\n\d+ passed, 0 failed, \d+ warning, 0 not applicable\n$/);
});

/** A stdio server of 2025-11-25 with these results, in place of correct ones. */
function faulty(results: Readonly<Record<string, unknown>>): string[] {
  const program = `
    const results = ${JSON.stringify(results)};
    const lines = require("node:readline").createInterface({ input: process.stdin });
    lines.on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      const info = { capabilities: { tools: {} }, serverInfo: { name: "faulty", version: "1" } };
      const known = { initialize: { protocolVersion: "2025-11-25", ...info }, "tools/list": { tools: [] }, ...results };
      const answer = known[method] ?? { error: { code: -32601, message: "no" } };
      console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(answer.error ? answer : { result: answer }) }));
    });`;
  return ["--", NODE, "-e", program];
}

const GOOD_CALL = { "tools/call": { error: { code: -32602, message: "unknown tool" } } };
const tool = (more: object) => ({
  "tools/list": { tools: [{ name: "a", description: "b", inputSchema: { type: "object" }, ...more }] },
});

test.each<[string, Record<string, unknown>, string, string, string]>([
  [
    "names a tool twice",
    { "tools/list": { tools: [...tool({})["tools/list"].tools, ...tool({})["tools/list"].tools] } },
    "lists",
    "failed",
    '"a" twice',
  ],
  ["names a tool with spaces", tool({ name: "a b" }), "tool-definitions", "failed", '"a b"'],
  [
    "has no object as input schema",
    tool({ inputSchema: { type: "string" } }),
    "tool-definitions",
    "failed",
    'type "object"',
  ],
  [
    "requires an undefined property",
    tool({ inputSchema: { type: "object", required: ["x"] } }),
    "tool-definitions",
    "failed",
    'lists "x" as required but does not define it',
  ],
  [
    "has tools without descriptions",
    tool({ description: "" }),
    "tool-definitions",
    "warning",
    "so models do not know what they do: a",
  ],
  ["returns results for unknown methods", { "mcp-edge/no-such-method": {} }, "unknown-method", "failed", "-32601"],
  ["runs unknown tools", { "tools/call": { content: [] } }, "unknown-tool", "failed", "succeeds"],
  [
    "reports an unknown tool as failed",
    { "tools/call": { content: [], isError: true } },
    "unknown-tool",
    "warning",
    "-32602",
  ],
  ["sends a list that is not an array", { "tools/list": { tools: {} } }, "lists", "failed", "tools/list"],
])("check finds that a server %s", async (_, results, name, status, detail) => {
  const { code, rows } = await check("--no-suite", ...faulty({ ...GOOD_CALL, ...results }));
  const found = rows.find((row) => row.name === name && row.version === "2025-11-25");
  expect(found).toMatchObject({ source: "mcp-edge", status, detail: expect.stringContaining(detail) });
  expect(code).toBe(status === "failed" ? 3 : 0);
  // Versions that the server does not have are not failures.
  expect(rows).toContainEqual(
    expect.objectContaining({ version: "2026-07-28", name: "connect", status: "not-applicable" }),
  );
});

/** Starts a server that offers tools. @param listChanged Returns the value of its capability `listChanged` for a client's name. */
async function serverThatSays(listChanged: (client: string) => unknown) {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (data) => {
      body += data;
    });
    request.on("end", () => {
      const { id, method, params } = JSON.parse(body || "{}");
      if (id === undefined) return response.writeHead(request.method === "POST" ? 202 : 405).end();
      const opened = () => ({
        protocolVersion: "2025-11-25",
        capabilities: { tools: { listChanged: listChanged(params?.clientInfo?.name) } },
        serverInfo: { name: "x", version: "1" },
      });
      const results: Record<string, () => unknown> = {
        initialize: opened,
        "tools/list": () => ({ tools: [] }),
        ping: () => ({}),
      };
      const answer = results[method]
        ? { result: results[method]() }
        : { error: { code: method === "tools/call" ? -32602 : -32601, message: "no" } };
      response
        .writeHead(200, { "Content-Type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, [Symbol.dispose]: close };
}

test("the suite finds an invalid message that the client would accept", { timeout: 300_000 }, async () => {
  using server = await serverThatSays(() => "yes");
  const { code, rows } = await check(server.url);
  expect(code).toBe(3);
  const initialize = rows.find(({ name, version }) => name === "server-initialize" && version === "2025-11-25");
  expect(initialize).toMatchObject({ status: "failed", detail: expect.stringContaining("wire-schema-valid") });
});

test("a scenario that fails runs once more, alone, and its second outcome is reported", {
  timeout: 120_000,
}, async () => {
  let wrong = 0;
  using server = await serverThatSays((client) => {
    // The scenarios that use the official client, which checks what it gets.
    if (client !== "conformance-test-client" || wrong > 0) return true;
    wrong += 1;
    return "yes";
  });
  const { code, rows } = await check(server.url);
  expect(wrong).toBe(1);
  // This server responds under every host name.
  const failed = rows.filter(({ status }) => status === "failed").map(({ name }) => name);
  expect([code, failed]).toEqual([3, ["dns-rebinding-protection"]]);
});

test("a server that cannot be reached, or has no version in common with check, does not pass", async () => {
  expect(await cli(["check", "http://127.0.0.1:9/mcp", "--no-suite"])).toMatchObject({ code: 4, stdout: "" });
  const none = await check(
    "--no-suite",
    ...faulty({ initialize: { error: { code: -32602, message: "Unsupported protocol version" } } }),
  );
  expect(none.code).not.toBe(0);
  expect(none.rows).toEqual([]);
});
