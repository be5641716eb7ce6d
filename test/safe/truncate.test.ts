/** Results that are cut or refused because of their size, for a client in memory. */
import { describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { truncateResults } from "../../src/safe/index.ts";
import { connectInMemory } from "../../src/testing/index.ts";

const PNG = "iVBORw0KGgo=";
const long = "x".repeat(1_000);
type Members = Record<string, unknown>;

function createServer(charsMax = 500): McpServer {
  const server = new McpServer({ name: "bounded", version: "1.0.0", around: [truncateResults({ charsMax })] });
  server.tool("short", {}, () => "short");
  server.tool("long", {}, () => long);
  server.tool("several", {}, () => ({
    content: [
      { type: "text", text: "first" },
      { type: "image", data: PNG, mimeType: "image/png" },
      { type: "text", text: long },
      { type: "resource", resource: { uri: "test://log", text: long } },
    ],
  }));
  server.tool("structured", {}, () => ({ content: [{ type: "text", text: "ok" }], structuredContent: { long } }));
  server.tool("mirrored", {}, () => ({ content: [{ type: "text", text: long }], structuredContent: { ok: true } }));
  server.tool("image", {}, () => ({ content: [{ type: "image", data: btoa(long), mimeType: "image/png" }] }));
  server.tool("blocks", {}, () => ({
    content: Array.from({ length: 10 }, () => ({ type: "text" as const, text: long })),
  }));
  server.tool("families", {}, () => "👨‍👩‍👧‍👦".repeat(100));
  server.prompt("ask", {}, () => long);
  server.resource("test://text", { mimeType: "text/markdown" }, () => long);
  server.resource("test://json", { mimeType: "application/json" }, () => JSON.stringify({ long }));
  server.resource("test://bytes", { mimeType: "image/png" }, () => new TextEncoder().encode(long));
  return server;
}

async function answer(method: string, params: Members, charsMax?: number): Promise<Members> {
  await using client = await connectInMemory(createServer(charsMax));
  return await client.request(method, params);
}
const call = (name: string, charsMax?: number) => answer("tools/call", { name }, charsMax);
const textsOf = ({ content }: Members) =>
  (content as { text?: string; resource?: { text: string } }[]).map(({ text, resource }) => text ?? resource?.text);

describe("a result within the limit", () => {
  test("is not changed", async () => {
    expect(textsOf(await call("short"))).toEqual(["short"]);
    expect(textsOf(await call("long", 1_100))).toEqual([long]);
  });

  test("can be as long as the limit, which counts text and everything else as JSON", async () => {
    const { content } = await call("long", 2_000);
    const chars = JSON.stringify({ content }).length;
    expect(textsOf(await call("long", chars + 1))).toEqual([long]);
    expect(textsOf(await call("long", 1_000))[0]).toContain("[Truncated: ");
  });
});

describe("text over the limit", () => {
  test("is cut, with the number of missing characters, and the result is within the limit", async () => {
    const result = await call("long");
    const [text = ""] = textsOf(result);
    const [, kept = "", missing] =
      /^(x*)\n\[Truncated: (\d+) of 1,000 characters are missing here\.\]$/.exec(text) ?? [];
    expect(kept.length).toBeGreaterThan(300);
    expect(Number(missing)).toBe(1_000 - kept.length);
    expect(JSON.stringify({ content: result.content }).length).toBeLessThanOrEqual(501);
  });

  test("is cut at the limit; earlier text and binary content stay complete, and later text is marked as cut", async () => {
    const { content } = (await call("several", 800)) as { content: Members[] };
    expect(content[0]).toEqual({ type: "text", text: "first" });
    expect(content[1]).toEqual({ type: "image", data: PNG, mimeType: "image/png" });
    expect(content[2]).toMatchObject({ type: "text", text: expect.stringMatching(/^x+\n\[Truncated: \d+ of 1,000 /) });
    expect(content[3]).toMatchObject({ resource: { text: expect.stringMatching(/^\n\[Truncated: 1,000 of 1,000 /) } });
  });

  test("is cut between two characters, never within a character", async () => {
    for (let charsMax = 300; charsMax < 330; charsMax += 1) {
      const [text = ""] = textsOf(await call("families", charsMax));
      expect(text).toMatch(/^(👨‍👩‍👧‍👦)*\n\[Truncated: /u);
    }
  });

  test("is cut in prompts and in text resources", async () => {
    expect(await answer("prompts/get", { name: "ask" })).toMatchObject({
      messages: [{ role: "user", content: { text: expect.stringMatching(/^x+\n\[Truncated: /) } }],
    });
    expect(await answer("resources/read", { uri: "test://text" })).toMatchObject({
      contents: [{ uri: "test://text", text: expect.stringMatching(/^x+\n\[Truncated: /) }],
    });
  });

  test("is cut beside structured content that is within the limit, which stays complete", async () => {
    const { content, structuredContent } = await call("mirrored");
    expect(structuredContent).toEqual({ ok: true });
    expect(textsOf({ content })).toEqual([expect.stringContaining("[Truncated: ")]);
  });
});

describe("a result that would be useless in part", () => {
  test.each(["structured", "image", "blocks"])("makes the tool %s return an error", async (name) => {
    const { content, isError, structuredContent } = await call(name);
    expect([isError, structuredContent]).toEqual([true, undefined]);
    expect(textsOf({ content })).toEqual([
      expect.stringMatching(
        /^The result of the tool is too large: it has [\d,]+ characters of at most 500, and cannot be cut\. Ask for less\.$/,
      ),
    ]);
  });

  test.each(["test://json", "test://bytes"])("makes reading %s fail with the sizes", async (uri) => {
    await expect(answer("resources/read", { uri })).rejects.toMatchObject({
      code: -32603,
      data: { reason: "result-too-large", charsMax: 500, chars: expect.toSatisfy((chars) => chars > 1_000) },
    });
  });
});

test("other results are not limited", async () => {
  const { tools } = await answer("tools/list", {}, 1);
  expect(tools).toHaveLength(8);
});

test("the limit is required and must be a number", () => {
  for (const options of [{}, { charsMax: 0 }, { charsMax: "500" }]) {
    expect(() => truncateResults(options as { charsMax: number })).toThrow(/^truncateResults\(\): charsMax is /);
  }
});
