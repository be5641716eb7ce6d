// @module-tag long
/** Results whose content is not what the protocol says: it is shown, or the error names the response, and never a fault of this program. */
import { expect, test } from "vitest";
import { initialized, json, result, type Scripted, scripted } from "../client/scripted.ts";
import { cli } from "./run.ts";

const BLOCKS = [
  null,
  5,
  [],
  {},
  { type: "text" },
  { type: "text", text: 5 },
  { type: "image", data: 5 },
  { type: "resource", resource: null },
  { type: "resource", resource: { uri: 5, blob: 5 } },
  { type: "resource_link", uri: 5 },
];

/** Starts a server whose results have these blocks. */
function serverWith(block: unknown): Promise<Scripted> {
  return scripted(({ message, method }, response) => {
    if (method !== "POST") return response.writeHead(405).end();
    const { id, method: asked } = message ?? {};
    if (id === undefined) return response.writeHead(202).end();
    const tools = [{ name: "t", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }];
    const capabilities = { tools: {}, prompts: {}, resources: {} };
    const results: Record<string, unknown> = {
      initialize: initialized("2025-11-25", capabilities),
      "tools/list": { tools },
      "prompts/list": { prompts: [{ name: "p" }] },
      "tools/call": { content: [block] },
      "prompts/get": { messages: [{ role: "user", content: block }] },
      "resources/read": { contents: [{ uri: "a:b", ...(block as object) }] },
    };
    const found = results[asked ?? ""];
    if (found) return result(response, id, found);
    return json(response, 200, { jsonrpc: "2.0", id, error: { code: -32601, message: "unknown" } });
  }, /./);
}

test.each(BLOCKS.map((block) => [JSON.stringify(block), block]))(
  "%s in place of a content block is printed",
  async (text, block) => {
    await using server = await serverWith(block);
    for (const args of [
      ["call", server.url, "t"],
      ["prompt", server.url, "p"],
      ["read", server.url, "a:b"],
    ]) {
      const { code, stdout, stderr } = await cli(args);
      expect(stderr).not.toMatch(/not a function|Cannot read|undefined/);
      expect(code).toBe(0);
      if (args[0] === "call" && !text.includes("resource")) expect(JSON.parse(stdout)).toEqual(block);
    }
  },
);
