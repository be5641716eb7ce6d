/** Validation errors as a peer sees them: limited for every schema library, and handled if a validator throws. */
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type AnySchema, definePrompt, defineTool, McpError, McpServer, ToolError } from "../../src/core/index.ts";
import { describeIssues } from "../../src/core/protocol/schema.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { ALL_VERSIONS, closePeers, errorOf, type Json, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

const bytesOf = (text: string) => Buffer.byteLength(JSON.stringify(text));

/** A schema of another library: lists whose entries are all invalid. */
function strict(validate: (value: unknown) => unknown): AnySchema {
  const standard = { version: 1, vendor: "another", validate } as never;
  return { schema: { "~standard": standard }, jsonSchema: { type: "object", properties: { list: {} } } };
}

const another = strict((value) => {
  const { list } = value as { list: unknown[] };
  return { issues: list.map((_, index) => ({ message: "is not a string", path: ["list", { key: index }] })) };
});

const LIBRARIES: readonly (readonly [string, AnySchema])[] = [
  ["zod", z.object({ list: z.array(z.string()) })],
  [
    "raw JSON Schema",
    jsonSchema({ type: "object", properties: { list: { type: "array", items: { type: "string" } } } }),
  ],
  ["another library", another],
];

async function call(server: McpServer, args: Json, version: string = "2025-11-25") {
  const reports: unknown[] = [];
  const peer = await openPeer(server, version, { onError: (error) => void reports.push(error) });
  const result = resultOf(await peer.request("tools/call", { name: "t", arguments: args }));
  const [block] = result.content as { text: string }[];
  return { text: block?.text ?? "", isError: result.isError, reports };
}

const serverOf = (input: AnySchema) =>
  new McpServer({ name: "s", version: "1.0.0" }).add(defineTool("t", { input }, () => "ran"));

describe("an error message about invalid arguments", () => {
  test.each(LIBRARIES)("names 20 issues, then the number of the remaining ones: %s", async (_, input) => {
    const { text, isError } = await call(serverOf(input), { list: Array(5000).fill(7) });
    expect(isError).toBe(true);
    expect(text.split("; ")).toHaveLength(21);
    expect(text).toMatch(/^Invalid arguments for tool "t": list.*; and 4980 more$/s);
    expect(bytesOf(text)).toBeLessThanOrEqual(4096);
  });

  test.each(LIBRARIES)("names exactly 20 issues without a count: %s", async (_, input) => {
    const { text } = await call(serverOf(input), { list: Array(20).fill(7) });
    expect(text.split("; ")).toHaveLength(20);
    expect(text).not.toContain("more");
  });

  test.each(ALL_VERSIONS)("is at most 4 KiB long in the text of %s", async (version) => {
    const { text } = await call(serverOf(another), { list: Array(100_000).fill(1) }, version);
    expect(bytesOf(text)).toBeLessThanOrEqual(4096);
  });

  test("names only the first of 190,000 invalid entries with raw JSON Schema, and no validator overflows the stack", async () => {
    const any = { anyOf: [{ properties: { list: { items: { type: "string" } } } }, { required: ["other"] }] };
    for (const more of [{}, any]) {
      const input = jsonSchema({ type: "object", properties: { list: { items: { type: "string" } } }, ...more });
      const { text } = await call(serverOf(input), { list: Array(190_000).fill(7) });
      expect(text).toMatch(/list\.0: .*"string".*too large to report further issues/s);
      expect(bytesOf(text)).toBeLessThanOrEqual(4096);
    }
  });

  test.each([
    ["a key of 100 KB", { ["k".repeat(100_000)]: 1 }],
    ["5000 keys", Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`key-${index}`, 1]))],
    ["a key that is six times as long in JSON", { ["\u0000".repeat(100_000)]: 1 }],
    ["a key of four-byte characters", { ["😀".repeat(50_000)]: 1 }],
  ])("truncates %s, from zod and raw JSON Schema", async (_, args) => {
    const inputs = [z.strictObject({}), jsonSchema({ type: "object", additionalProperties: false })];
    for (const input of [...inputs, jsonSchema({ type: "object", propertyNames: { maxLength: 3 } })]) {
      const { text, isError } = await call(serverOf(input), args);
      expect(isError).toBe(true);
      expect(bytesOf(text)).toBeGreaterThan(60);
      expect(bytesOf(text)).toBeLessThanOrEqual(4096);
    }
  });

  test("leaves room for further issues after a long path and a long message", () => {
    const issue = (length: number) => ({ message: "m".repeat(length), path: ["p".repeat(length)] });
    const text = describeIssues([issue(100_000), { message: "short", path: ["next"] }]);
    expect(text).toContain("next: short");
    expect(bytesOf(text)).toBeLessThan(4096);
    expect(describeIssues([{ message: "plain" }])).toBe("value: plain");
  });

  test("has the same size with every library for prompt arguments", async () => {
    const properties = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`a${index}`, { maxLength: 1 }]));
    const server = new McpServer({ name: "s", version: "1.0.0" });
    server.prompt("raw", { arguments: jsonSchema({ type: "object", properties }) }, () => "x");
    server.prompt("zod", { arguments: z.object({}).catchall(z.string().max(1)) }, () => "x");
    const peer = await openPeer(server, "2025-11-25");
    const args = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`a${index}`, "long"]));
    for (const name of ["raw", "zod"]) {
      const { message } = errorOf(await peer.request("prompts/get", { name, arguments: args }));
      expect(message).toMatch(/and 480 more$/);
      expect(bytesOf(message)).toBeLessThanOrEqual(4096);
    }
  });

  test("is as short for form answers in the handler and for results in onError", async () => {
    const server = new McpServer({ name: "s", version: "1.0.0" });
    const said: string[] = [];
    server.tool("asks", {}, async (_, ctx) => {
      await ctx.elicit("Who?", z.object({ a: z.string() }).catchall(z.never()) as never).catch((error: Error) => {
        said.push(error.message);
      });
      return "asked";
    });
    const output = z.object({ list: z.array(z.string()) });
    server.tool("gives", { output }, () => ({ list: Array(5000).fill(7) }));
    const content = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`b${index}`, 1]));
    const peer = await openPeer(server, "2025-11-25", {
      capabilities: { elicitation: {} },
      judgeClient: false,
      onRequest: () => ({ action: "accept", content }),
    });
    expect(resultOf(await peer.request("tools/call", { name: "asks" }))).toMatchObject({
      content: [{ text: "asked" }],
    });
    await peer.request("tools/call", { name: "gives" });
    const texts = [...said, ...peer.reports.map((error) => (error as Error).message)];
    expect(texts).toEqual([expect.stringContaining("Unrecognized keys"), expect.stringContaining("and 4980 more")]);
    for (const text of texts) expect(bytesOf(text)).toBeLessThanOrEqual(4096);
  });
});

describe("a validator that throws", () => {
  const secret = (): never => {
    throw new Error("no database at 10.0.0.7");
  };
  const raw = jsonSchema({ type: "object", properties: { a: { type: "string" } }, additionalProperties: false });
  const nested = jsonSchema({
    type: "object",
    properties: { a: { type: "array", items: { type: "object", additionalProperties: { type: "string" } } } },
  });
  const THROWING: readonly (readonly [string, AnySchema, Json])[] = [
    ["raw JSON Schema at a lone surrogate in a name", raw, { "\ud800": 1 }],
    ["raw JSON Schema at a lone surrogate in a nested name", nested, { a: [{ "\udc00x": "1" }] }],
    ["zod in a refinement", z.object({}).refine(secret), {}],
    ["another library", strict(secret), {}],
    ["another library, asynchronously", strict(() => Promise.reject(new Error("no database at 10.0.0.7"))), {}],
    ["another library, a rejection without an error", strict(() => Promise.reject(undefined)), {}],
  ];

  test.each(THROWING)(
    "causes an error about the arguments without details, and no call of onError: %s",
    async (_, input, args) => {
      for (const version of ALL_VERSIONS) {
        const { text, isError, reports } = await call(serverOf(input), args, version);
        expect([isError, reports]).toEqual([true, []]);
        expect(text).toBe('Invalid arguments for tool "t": arguments: it could not be checked');
      }
    },
  );

  test("can throw an error for the client, which is sent", async () => {
    const said = (error: Error) => strict(() => Promise.reject(error));
    const { text } = await call(serverOf(said(new ToolError("closed on Sundays"))), {});
    expect(text).toBe("closed on Sundays");
    const peer = await openPeer(serverOf(said(new McpError(4711, "not yours"))), "2025-11-25");
    expect(errorOf(await peer.request("tools/call", { name: "t" }))).toMatchObject({ code: 4711 });
  });

  test("causes -32602 for prompt arguments", async () => {
    const reports: unknown[] = [];
    const server = new McpServer({ name: "s", version: "1.0.0" }).add(
      definePrompt("p", { arguments: z.object({}).refine(secret) }, () => "x"),
    );
    const peer = await openPeer(server, "2025-11-25", { onError: (error) => void reports.push(error) });
    const error = errorOf(await peer.request("prompts/get", { name: "p" }));
    expect([error.code, error.message, reports]).toEqual([-32602, expect.not.stringContaining("database"), []]);
  });

  test("makes an answer to a form invalid", async () => {
    const server = new McpServer({ name: "s", version: "1.0.0" });
    server.tool("t", {}, async (_, ctx) => {
      const failed = (error: { reason?: string; message: string }) => `${error.reason}: ${error.message}`;
      return ctx.elicit("Who?", z.object({ a: z.string().refine(secret) })).then(() => "none", failed);
    });
    const peer = await openPeer(server, "2025-11-25", {
      capabilities: { elicitation: {} },
      onRequest: () => ({ action: "accept", content: { a: "b" } }),
    });
    const { content } = resultOf(await peer.request("tools/call", { name: "t" }));
    expect(content).toMatchObject([{ text: expect.stringMatching(/^invalid-answer: (?!.*database)/) }]);
  });

  test("makes a tool fail if it validates the result, and onError gets the exception", async () => {
    const server = new McpServer({ name: "s", version: "1.0.0" });
    server.tool("t", { output: z.object({}).refine(secret) }, () => ({}));
    const { text, reports } = await call(server, {});
    expect(text).toMatch(/failed/);
    expect(reports).toMatchObject([{ message: expect.stringContaining("database") }]);
  });
});

test("a long path is truncated, and the message after it is still included", () => {
  const text = describeIssues([{ message: "is not a string", path: ["p".repeat(100_000)] }]);
  expect(text).toMatch(/^p{200}\.\.\.: is not a string$/);
});
