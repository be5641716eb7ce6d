import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { serveStdio } from "../../src/node/index.ts";
import { type Child, runChild } from "./child.ts";

const FIXTURE = join(import.meta.dirname, "fixtures/server.ts");
/** Runs the server of the fixture. */
const serve = (talk: (child: Child) => void | Promise<void>, tapped?: string) =>
  runChild(FIXTURE, talk, tapped === undefined ? {} : { tapped });

const call = (id: unknown, name: string, args: object = {}) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });
const ping = (id: unknown) => JSON.stringify({ jsonrpc: "2.0", id, method: "ping" });
const write = (text: string | Buffer) => (child: Child) => void child.stdin.write(text);

/** A server whose handlers use a Durable Object cannot be served without one; variables come from the process. */
const _typesOfEnv = async () => {
  const named = { name: "typed", version: "1.0.0" };
  const bound = new McpServer<{ readonly SHELF: { getByName(name: string): unknown } }>(named);
  // @ts-expect-error The option env is missing.
  await serveStdio(bound);
  await serveStdio(bound, { env: { SHELF: new Map() as never } });
  await serveStdio(new McpServer<{ readonly CITY: string; readonly TOKEN?: string }>(named));
  await serveStdio(new McpServer(named));
};

describe("serveStdio", () => {
  test("serves ping, tools/list and tools/call from a pipe without initialize, and exits with 0", {
    tags: "long",
  }, async () => {
    const list = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" });
    const { code, messages } = await serve(write(`${ping(1)}\n${list}\n${call(3, "echo", { text: "hi" })}\n`));
    expect(messages.map(({ id }) => id).toSorted()).toEqual([1, 2, 3]);
    expect(messages.find(({ id }) => id === 3)).toMatchObject({ result: { content: [{ text: "hi" }] } });
    expect(code).toBe(0);
  });

  test("serves modern requests independently of each other", { tags: "long" }, async () => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const discover = JSON.stringify({ jsonrpc: "2.0", id: "d", method: "server/discover", params: { _meta } });
    const { messages } = await serve(write(`${discover}\n`));
    expect(messages).toMatchObject([
      { id: "d", result: { resultType: "complete", supportedVersions: ["2026-07-28"] } },
    ]);
  });

  test("serves a last line without a line break, and calls that still run when the input ends", {
    tags: "long",
  }, async () => {
    const { code, messages } = await serve(write(`${call("slow", "slow")}\n${ping("last")}`));
    expect(messages.map(({ id }) => id)).toEqual(["last", "slow"]);
    expect(code).toBe(0);
  });

  test("writes only messages to standard output, and output of handlers to standard error", {
    tags: "long",
  }, async () => {
    const { lines, stderr } = await serve(write(`${call(1, "noisy")}\n`));
    expect(lines).toHaveLength(1);
    expect(stderr).toContain("a line that is not a message");
    expect(stderr).toContain("nor is this");
  });

  test("joins characters that arrive in pieces, and breaks lines only at \\n", async () => {
    const text = "Zürich 東京 🌧 \u2028 end";
    const bytes = Buffer.from(`${call(1, "echo", { text })}\n`);
    const { messages } = await serve(async (child) => {
      for (const byte of bytes) {
        await new Promise<void>((resolve) => child.stdin.write(Buffer.of(byte), () => resolve()));
      }
    });
    expect(messages).toMatchObject([{ id: 1, result: { content: [{ text }] } }]);
  });

  test("accepts CRLF and blank lines", { tags: "long" }, async () => {
    const { messages } = await serve(write(`\r\n\n${ping(1)}\r\n\n${ping(2)}\r\n`));
    expect(messages.map(({ id }) => id)).toEqual([1, 2]);
  });

  test("responds to a line that is not JSON with -32700, and serves the next line", { tags: "long" }, async () => {
    const { messages } = await serve(write(`{"jsonrpc": oops\n${ping(2)}\n`));
    expect(messages).toMatchObject([{ error: { code: -32700 } }, { id: 2, result: {} }]);
    expect(messages[0]).not.toHaveProperty("id");
  });

  test("responds to a line over the limit with -32600, and serves the next line", { tags: "long" }, async () => {
    const { messages } = await serve(write(`${call(1, "echo", { text: "x".repeat(5_000) })}\n${ping(2)}\n`));
    expect(messages).toMatchObject([{ error: { code: -32600, data: { reason: "too-large" } } }, { id: 2 }]);
  });

  test("ends at once when its input is empty", async () => {
    const { code, lines } = await serve(() => undefined);
    expect([code, lines]).toEqual([0, []]);
  });

  test("ends without an error when the reader of its output disconnects", async () => {
    const { stderr } = await serve(async (child) => {
      child.stdout.destroy();
      for (let id = 0; id < 50; id++) child.stdin.write(`${ping(id)}\n`, () => undefined);
      child.stdin.on("error", () => undefined);
      await new Promise((resolve) => child.once("exit", resolve));
    });
    expect(stderr).not.toMatch(/Unhandled|throw er;|at .*\(/);
  });

  test("writes only messages that the oracle accepts for its version", { tags: "long" }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "mcp-edge-stdio-"));
    const report = join(folder, "report.json");
    const clientInfo = { name: "tapped", version: "1.0.0" };
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    const initialize = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params });
    const initialized = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
    const { messages } = await serve(write(`${initialize}\n${initialized}\n${call(1, "noisy")}\n`), report);
    expect(messages).toHaveLength(2);
    const { messages: judged, problems } = JSON.parse(readFileSync(report, "utf8"));
    expect(problems).toEqual([]);
    expect(judged).toBe(5);
    rmSync(folder, { recursive: true });
  });
});

test("standard output is restored: a second serveStdio() can write to it, and so can the program after both", {
  tags: "long",
}, async () => {
  const { code, messages } = await runChild(join(import.meta.dirname, "fixtures/twice.ts"), () => undefined);
  expect(messages).toMatchObject([
    { id: 1, result: {} },
    { id: 2, result: {} },
    { id: 3, result: { left: 0 } },
  ]);
  expect(code).toBe(0);
});

test("a line nested deeper than the limit gets an error, and the next line is served", async () => {
  const deep = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${"[".repeat(70)}${"]".repeat(70)}}}`;
  const { messages } = await serve(write(`${deep}\n${ping(2)}\n`));
  expect(messages).toMatchObject([{ error: { code: -32600, data: { reason: "too-deep" } } }, { id: 2, result: {} }]);
});

test.each([
  ["too-deep", { bodyDepthMax: 4 }, { deep: [[[]]] }],
  ["too-many-values", { bodyValuesMax: 10 }, { many: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }],
] as const)("the limits of serveStdio() apply to each line: %s", async (reason, limits, params) => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const said = output.toArray();
  const served = serveStdio(new McpServer({ name: "limited", version: "1.0.0" }), { input, output, limits });
  const large = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params });
  input.end(`${large}\n${ping(2)}\n`);
  await served;
  output.end();
  const lines = Buffer.concat(await said)
    .toString()
    .trim()
    .split("\n");
  expect(lines.map((line: string) => JSON.parse(line))).toMatchObject([
    { error: { code: -32600, data: { reason } } },
    { id: 2, result: {} },
  ]);
});
