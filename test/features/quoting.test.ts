/**
 * Text of a peer in logs and error messages: on one line, and without control characters that a terminal interprets.
 */
import { PassThrough } from "node:stream";
import { afterEach, describe, expect, test, vi } from "vitest";
import { quote } from "../../src/core/basics/quote.ts";
import { CancelledError, IDEMPOTENCY_KEY, McpServer, type QuestionError } from "../../src/core/index.ts";
import { serveStdio } from "../../src/node/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { connectInMemory } from "../../src/testing/index.ts";
import { edge } from "../../src/worker/index.ts";
import { CONTENT, requestOf, standardHeaders } from "../http/messages.ts";

const HOSTILE =
  'x\n2026-11-22 admin logged in\r\u001b[2J\u001b]0;title\u0007\u0085\u009b31m\u2028\u2029\u202etxt.exe\u2066"';
/** Line breaks, terminal control characters and bidirectional overrides. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
const IDENTITY = { name: "quoting", version: "1.0.0" };

/** A server in which every hook and handler fails and that has no `onError`, so failures go to the runtime's log. */
function failing(): McpServer {
  const fail = () => {
    throw new Error("out of order");
  };
  const server = new McpServer({ ...IDENTITY, context: fail, onRequestEnd: fail });
  server.tool("plain", {}, () => "plain");
  return server;
}

afterEach(() => vi.restoreAllMocks());

function spyOnLog(): () => string[] {
  const spy = vi.spyOn(console, "error").mockImplementation(() => undefined);
  return () => spy.mock.calls.map(([line]) => String(line));
}

function expectPrintable(lines: readonly string[], count: number): void {
  expect(lines).toHaveLength(count);
  for (const line of lines) {
    expect(line).not.toMatch(UNPRINTABLE);
    expect(line).toContain("2026-11-22 admin");
  }
}

describe("log messages", () => {
  test("quote the names of methods and tools in a Worker", async () => {
    const lines = spyOnLog();
    const app = edge(failing());
    for (const era of ["modern", "legacy"] as const) {
      const message = requestOf(era, "tools/call", { name: HOSTILE });
      const named = era === "modern" ? { "mcp-name": `=?base64?${Buffer.from(HOSTILE).toString("base64")}?=` } : {};
      const headers = { ...CONTENT, ...(era === "modern" ? standardHeaders(message) : {}), ...named };
      const init = { method: "POST", headers: headers as Record<string, string>, body: JSON.stringify(message) };
      await app.request("http://localhost/mcp", init);
    }
    const legacy = { method: "POST", headers: CONTENT as Record<string, string> };
    await app.request("http://localhost/mcp", { ...legacy, body: JSON.stringify(requestOf("legacy", HOSTILE)) });
    const shown = lines();
    // For each request: the failure itself, and the failure of `onRequestEnd`.
    expect(shown).toHaveLength(6);
    for (const line of shown) expect(line).not.toMatch(UNPRINTABLE);
    expectPrintable(
      shown.filter((line) => line.includes("admin")),
      4,
    );
  });

  test("quote the names of methods and tools in a server on stdio", async () => {
    const lines = spyOnLog();
    const input = new PassThrough();
    const output = new PassThrough();
    output.resume();
    const served = serveStdio(failing(), { input, output });
    for (const message of [
      requestOf("legacy", HOSTILE, {}, 1),
      requestOf("legacy", "tools/call", { name: HOSTILE }, 2),
    ]) {
      input.write(`${JSON.stringify(message)}\n`);
    }
    input.end();
    await served;
    const shown = lines();
    for (const line of shown) expect(line).not.toMatch(UNPRINTABLE);
    expectPrintable(
      shown.filter((line) => line.includes("admin")),
      3,
    );
  });
});

describe("an error message", () => {
  test("quotes the reason of a cancellation, which is available unchanged beside it", () => {
    const error = new CancelledError(HOSTILE);
    expectPrintable([error.message], 1);
    expect(error.reason).toBe(HOSTILE);
  });

  test("quotes a client's answer to a question", async () => {
    const failures: QuestionError[] = [];
    const server = new McpServer(IDENTITY);
    const form = { type: "object", properties: { name: { type: "string" } } } as const;
    const validated = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: () => ({ issues: [{ message: `bad ${HOSTILE}`, path: [HOSTILE] }] }),
        jsonSchema: { input: () => form, output: () => form },
      },
    } as const;
    server.tool("refused", {}, async (_, ctx) => {
      failures.push(
        await ctx.elicit("Who?", form).then(
          () => expect.unreachable(),
          (error) => error,
        ),
      );
    });
    server.tool("invalid", {}, async (_, ctx) => {
      failures.push(
        await ctx.elicit("Who?", validated).then(
          () => expect.unreachable(),
          (error) => error,
        ),
      );
    });
    await using client = await connectInMemory(server, {
      version: "2025-11-25",
      capabilities: { elicitation: {} },
      onRequest: () => {
        if (failures.length === 0) throw new Error(HOSTILE);
        return { action: "accept", content: { name: "Ada" } };
      },
    });
    await client.request("tools/call", { name: "refused" });
    await client.request("tools/call", { name: "invalid" });
    expect(failures.map(({ reason }) => reason)).toEqual(["refused", "invalid-answer"]);
    expectPrintable(
      failures.map(({ message }) => message),
      2,
    );
  });

  test.each(["2025-11-25", "2026-07-28"])(
    "quotes the names, URIs, arguments and versions that a client sent (%s)",
    async (version) => {
      const server = new McpServer({ ...IDENTITY, onError: (error) => void reports.push(String(error)) });
      const reports: string[] = [];
      const input = jsonSchema({ type: "object", properties: { n: { type: "integer" } }, additionalProperties: false });
      server.tool("strict", { input }, () => "never");
      server.prompt("prompt", { arguments: [{ name: "n" }] }, () => "never");
      server.resourceProvider({ read: () => [Symbol("no content")] as never });
      await using client = await connectInMemory(server, { version });
      const texts: string[] = [];
      const ask = async (method: string, params: Readonly<Record<string, unknown>>) => {
        const answer = await client.ask(method, params);
        if ("error" in answer) texts.push(answer.error.message);
        else for (const { text } of answer.result.content as { text: string }[]) texts.push(text);
      };
      await ask(HOSTILE, {});
      await ask("tools/call", { name: HOSTILE });
      await ask("tools/call", { name: "strict", arguments: { [HOSTILE]: 1 } });
      await ask("prompts/get", { name: HOSTILE });
      await ask("prompts/get", { name: "prompt", arguments: { [HOSTILE]: 1 } });
      await ask("completion/complete", {
        ref: { type: "ref/prompt", name: HOSTILE },
        argument: { name: "a", value: "" },
      });
      await ask("completion/complete", {
        ref: { type: "ref/resource", uri: HOSTILE },
        argument: { name: "a", value: "" },
      });
      expectPrintable(texts, 7);
      await client.ask("resources/read", { uri: `test://${HOSTILE}` });
      expectPrintable(reports, 1);
    },
  );

  test("quotes a request id that is in use", async () => {
    const server = new McpServer(IDENTITY);
    const { promise, resolve } = Promise.withResolvers<string>();
    server.tool("wait", {}, () => promise);
    await using client = await connectInMemory(server, { version: "2025-11-25" });
    const message = requestOf("legacy", "tools/call", { name: "wait" }, HOSTILE);
    client.send(message);
    client.send(message);
    await vi.waitFor(() => expect(client.received.some((each) => "error" in each)).toBe(true));
    resolve("done");
    const refused = client.received.find((each) => "error" in each) as { readonly error: { readonly message: string } };
    expectPrintable([refused.error.message], 1);
  });

  test("is sent for an idempotency key that is not a string of 1 to 256 characters, and no failure is reported", async () => {
    const server = new McpServer(IDENTITY);
    server.tool("plain", {}, () => "plain");
    await using client = await connectInMemory(server);
    for (const key of [{ toString: 1, valueOf: 1 }, null, 7, ["x"], ""]) {
      const answer = await client.ask("tools/call", { name: "plain", _meta: { [IDEMPOTENCY_KEY]: key } });
      expect(answer).toMatchObject({
        error: { code: -32602, message: expect.stringContaining("1 to 256 characters") },
      });
    }
    expect(client.reports).toEqual([]);
  });

  test("quotes a string as valid JSON, and truncates it", () => {
    expect(JSON.parse(quote(HOSTILE))).toBe(HOSTILE);
    expect(quote("x".repeat(1_000_000)).length).toBeLessThan(200);
    expect(quote("\ud800")).toBe('"\\ud800"');
  });
});
