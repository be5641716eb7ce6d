/** Answers of a hostile API on workerd: what a model reads is bounded, can be seen, and has none of the credentials. */
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";

const FILE = join(import.meta.dirname, "../../packages/openapi/files/api.ts");
/** A server whose tools pass their arguments to the functions of api.ts. The API repeats the secrets that are in the query. */
const SOURCE = `
import { McpServer } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import * as z from "zod";
import { api, secret, userToken } from ${JSON.stringify(FILE)};

const server = new McpServer({ name: "answers", version: "1.0.0" });
const given = z.object({ request: z.any(), pages: z.any().optional() });
const output = z.looseObject({});
server.tool("call", { input: given }, ({ request }, ctx) => api.call(ctx, request));
server.tool("data", { input: given, output }, ({ request }, ctx) => api.data(ctx, request));
server.tool("pages", { input: given, output: undefined }, ({ request, pages }, ctx) => api.pages(ctx, request, pages));
server.tool("path", { input: z.object({ id: z.any() }) }, ({ id }) => api.path\`/items/\${id}/parts\`);
server.tool("members", { input: given }, ({ request }, ctx) => api.call(ctx, { path: "/a", query: api.members(request) }));
server.tool("broken", {}, (_, ctx) => secret(ctx, "BROKEN"));
server.tool("repeat", { input: given }, async ({ request }, ctx) => {
  const auth = { upstream: () => Promise.resolve({ accessToken: "the token of the user" }) };
  const caller = { env: ctx.env, signal: ctx.signal, auth };
  const [key, token] = [secret(caller, "KEY"), await userToken(caller)];
  return api.call(caller, { ...request, query: { key, basic: btoa(key), token } });
});
export default edge(server);
`;

let answer: (url: URL) => Response;
let worker: TestWorker;
beforeAll(async () => {
  const outbound = (request: Request) => answer(new URL(request.url));
  const bindings = { KEY: "a secret+key", BROKEN: "abc\n" };
  worker = await startWorker({ entry: { source: SOURCE }, bindings, outbound });
});
beforeEach(() => {
  answer = () => Response.json({ ok: true });
});
afterAll(() => worker?.stop());

async function call(tool: string, args: Readonly<Record<string, unknown>>) {
  const client = await connect(worker.url("/mcp"), { name: "test", version: "1.0.0" });
  const { isError = false, content, structuredContent } = await client.callTool(tool, args);
  await client.close();
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
  return { isError, text, structuredContent };
}

const request = { path: "/a" };

describe("the size of results", () => {
  test("structured data above the limit is an error that says so", async () => {
    answer = () => Response.json({ a: "x".repeat(1_000_000) });
    expect(await call("data", { request })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^The result of the API is too large: it has 1000008 characters\. Ask for less\./),
    });
  });

  test("a page with very many items is cut", { tags: "long" }, async () => {
    const many = `[${"1,".repeat(2_000_000)}1]`;
    answer = () => new Response(many, { headers: { "Content-Type": "application/json" } });
    const pages = { by: "number", parameter: "page", items: [] };
    const { isError, text } = await call("pages", { request, pages });
    expect([isError, text.length < 81_000, text.includes("[Cut: the result has")]).toEqual([false, true, true]);
  });

  test.each([
    [{ by: "cursor", parameter: "cursor", items: ["items"], next: ["next"] }],
    [{ by: "last", parameter: "after", items: ["items"], next: ["more"] }],
  ])("a cursor that is very long is not repeated: %j", async (pages) => {
    answer = () => {
      const long = Math.random() + "c".repeat(200_000);
      return Response.json({ items: [{ id: long }], next: long, more: true });
    };
    const { isError, text } = await call("pages", { request, pages });
    expect([isError, text.length < 81_000, text.includes("call again")]).toEqual([false, true, false]);
  });
});

test.each([
  [() => new Response(null, { status: 204 }), {}],
  [() => Response.json([1, 2]), { result: [1, 2] }],
  [() => Response.json("ok"), { result: "ok" }],
])("a success without an object is no error of a tool with structured data: %#", async (respond, expected) => {
  answer = respond;
  expect(await call("data", { request })).toMatchObject({ isError: false, structuredContent: expected });
});

describe("what cannot be seen", () => {
  const hidden = "\u202e\u{e0041}\u200b\u001b[31m";
  beforeEach(() => {
    answer = () => Response.json({ [`a${hidden}`]: `b${hidden}c`, list: [`d${hidden}`], next: `e${hidden}` });
  });

  test.each(["call", "data"])("is in no answer of %s", async (tool) => {
    const { isError, text, structuredContent } = await call(tool, { request });
    expect(isError).toBe(false);
    expect(JSON.parse(text)).toEqual({ a: "bc", list: ["d"], next: "e" });
    expect(JSON.stringify(structuredContent ?? "")).not.toMatch(/[\u202e\u200b]|u001b|\udb40/);
  });
});

describe("credentials", () => {
  test.each([400, 500])("that the API repeats with the status %i are removed", async (status) => {
    answer = ({ href, searchParams }) => new Response(`${href} ${[...searchParams.values()]}`, { status });
    const { isError, text } = await call("repeat", { request });
    expect([isError, text]).toEqual([true, expect.stringContaining("[removed]")]);
    for (const part of ["a secret+key", "secret%2Bkey", "a+secret", btoa("a secret+key"), "the token of the user"])
      expect(text).not.toContain(part);
  });

  test("with a line break are refused with what the operator has to do", async () => {
    expect(await call("broken", {})).toMatchObject({
      isError: true,
      text: expect.stringContaining("The secret BROKEN has a line break or another character that cannot be sent."),
    });
  });
});

test("an object in the query has a parameter for each member", async () => {
  answer = ({ search }) => new Response(search, { headers: { "Content-Type": "text/plain" } });
  const query = { a: "x y", list: [1, 2], deep: { b: true }, none: null };
  expect((await call("members", { request: query })).text).toBe("?a=x+y&list=1&list=2&deep=%7B%22b%22%3Atrue%7D");
});

test("half of a pair of surrogates in an argument is replaced", async () => {
  expect(await call("path", { id: "\ud800" })).toMatchObject({ isError: false, text: "/items/%EF%BF%BD/parts" });
});
