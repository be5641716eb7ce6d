/** `debug()` on workerd, and the option of the same name of `serveStdio()`. */
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { serveStdio } from "../../src/node/index.ts";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { until } from "../../src/testing/until.ts";
import { debug, edge, health } from "../../src/worker/index.ts";
import type { Members } from "../http/messages.ts";
import { LegacyClient, ModernClient, readAnswer } from "./client.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: "test/worker/fixtures/debug.ts", objects: ["McpObject"] });
});
afterAll(() => worker?.stop());
beforeEach(async () => {
  await read();
});

const read = async () => (await (await fetch(worker.url("/lines"))).json()) as { readonly mcp: Members }[];

/** Returns the lines once there are `count`. */
async function linesOf(count: number): Promise<Members[]> {
  const found: Members[] = [];
  await until(`there are ${count} lines`, async () => {
    found.push(...(await read()).map(({ mcp }) => mcp));
    return found.length >= count;
  });
  expect(JSON.stringify(found)).not.toContain("secret");
  return found;
}

const size = expect.any(Number);
const ms = expect.any(Number);

describe("debug()", () => {
  test("logs a modern call and its result, without contents", async () => {
    await readAnswer(new ModernClient(worker.url("/mcp")).call("wrong", { text: "secret" }, { id: "a" }));
    expect(await linesOf(2)).toEqual([
      { direction: "in", kind: "request", era: "modern", method: "tools/call", name: "wrong", id: "a", size },
      { direction: "out", kind: "result", era: "modern", method: "tools/call", isError: true, id: "a", size, ms },
    ]);
  });

  test("logs each message of a stream, in a session too", async () => {
    const client = await LegacyClient.open(worker.url("/mcp"), { version: "2025-11-25" });
    expect((await linesOf(3)).map(({ direction, kind, method }) => [direction, kind, method])).toEqual([
      ["in", "request", "initialize"],
      ["out", "result", "initialize"],
      ["in", "notification", "notifications/initialized"],
    ]);
    const { text } = await readAnswer(client.call("echo", { text: "secret" }, { id: 7, progressToken: "p" }));
    expect(text).toBe("secret secret");
    expect(await linesOf(3)).toEqual([
      { direction: "in", kind: "request", era: "legacy", method: "tools/call", name: "echo", id: 7, size },
      { direction: "out", kind: "notification", method: "notifications/progress", size },
      { direction: "out", kind: "result", era: "legacy", method: "tools/call", id: 7, size, ms },
    ]);
  });

  test("logs the code of an error, and text that is not JSON as invalid", async () => {
    const client = new ModernClient(worker.url("/mcp"));
    await readAnswer(client.call("missing", {}, { id: 1 }));
    expect((await linesOf(2)).at(-1)).toMatchObject({ direction: "out", kind: "error", code: -32_602, id: 1 });
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    await (await fetch(worker.url("/mcp"), { method: "POST", headers, body: "secret{" })).text();
    expect(await linesOf(2)).toMatchObject([
      { direction: "in", kind: "invalid", size: 7 },
      { direction: "out", kind: "error", code: -32_700 },
    ]);
  });

  test("does not delay a refusal until the body has arrived", async () => {
    const response = await new ModernClient(worker.url("/closed")).call("echo");
    expect(response.status).toBe(401);
    await response.text();
  });

  test("does not log the responses of other routes", async () => {
    const lines: string[] = [];
    const log = debug({ to: (line) => void lines.push(line) });
    const app = edge(new McpServer({ name: "logged", version: "1.0.0" }), { use: [log, health()] });
    expect(await (await app.fetch(new Request("http://localhost/healthz"))).json()).toEqual({ status: "ok" });
    expect(lines).toEqual([]);
  });

  test("refuses an unknown option", () => {
    expect(() => debug({ too: 1 } as never)).toThrow(/Did you mean "to"/);
  });
});

test("serveStdio() with debug writes a line to standard error for each message", async () => {
  const server = new McpServer({ name: "logged", version: "1.0.0" });
  server.tool("echo", {}, () => "secret");
  const [input, output] = [new PassThrough(), new PassThrough()];
  const lines: string[] = [];
  const { error } = console;
  console.error = (line: string) => void lines.push(line);
  try {
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: { a: "secret" } } };
    input.end(`${JSON.stringify(call)}\n{"jsonrpc":"2.0","method":"notifications/\u009b2J"}\n`);
    await serveStdio(server, { input, output, debug: true });
  } finally {
    console.error = error;
  }
  expect(lines.map((line) => JSON.parse(line).mcp)).toEqual([
    { direction: "in", kind: "request", era: "legacy", method: "tools/call", name: "echo", id: 1, size },
    { direction: "in", kind: "notification", method: "notifications/\u009b2J", size },
    { direction: "out", kind: "result", era: "legacy", method: "tools/call", id: 1, size, ms },
  ]);
  expect(lines.join("")).not.toContain("secret");
  expect(lines.join("")).not.toContain("\u009b");
  expect(JSON.parse(String(output.read())).id).toBe(1);
});
