import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type AnySchema,
  type ContentBlock,
  type ErrorContext,
  KitError,
  McpServer,
  type ToolResult,
} from "../../src/core/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { ALL_VERSIONS, closePeers, type Json, MODERN_VERSION, openPeer, type Peer, resultOf } from "./peer.ts";

afterEach(closePeers);

const BYTES = Uint8Array.from([0, 1, 2, 250, 251, 252, 253, 254, 255]);
const BASE64 = "AAEC+vv8/f7/";

const TEXT: ContentBlock = { type: "text", text: "hello" };
const IMAGE: ContentBlock = { type: "image", data: BASE64, mimeType: "image/png" };
const AUDIO: ContentBlock = { type: "audio", data: BASE64, mimeType: "audio/wav" };
const EMBEDDED_TEXT: ContentBlock = {
  type: "resource",
  resource: { uri: "note:///1", mimeType: "text/plain", text: "note" },
};
const EMBEDDED_BLOB: ContentBlock = { type: "resource", resource: { uri: "note:///2", blob: BASE64 } };
const LINK: ContentBlock = { type: "resource_link", uri: "note:///3", name: "third", mimeType: "text/plain" };

interface Report {
  readonly error: unknown;
  readonly where: ErrorContext;
}

describe.each(ALL_VERSIONS)("tools in %s", (version) => {
  const hasAudio = version !== "2024-11-05";
  const hasLinks = version !== "2024-11-05" && version !== "2025-03-26";
  const hasStructured = hasLinks;
  const isModern = version === MODERN_VERSION;

  async function run(returned: () => unknown, output?: AnySchema) {
    const reports: Report[] = [];
    const server = new McpServer({
      name: "s",
      version: "1.0.0",
      onError: (error, where) => {
        reports.push({ error, where });
      },
    });
    const handler = returned as () => Promise<ToolResult>;
    server.tool("t", output ? { output } : {}, handler);
    const peer: Peer = await openPeer(server, version);
    const result = resultOf(await peer.request("tools/call", { name: "t", arguments: {} }));
    const [tool] = resultOf(await peer.request("tools/list")).tools as Json[];
    return { result, reports, peer, tool };
  }

  describe("forms of a result", () => {
    test("an object whose content is not a list of blocks is data, returned as JSON", async () => {
      const book = { content: ["first chapter", "second chapter"], pages: 3 };
      const { result, reports } = await run(() => book);
      expect(result.content).toEqual([{ type: "text", text: JSON.stringify(book) }]);
      expect(reports).toEqual([]);
    });

    test("an error that the handler returns is not validated against the output schema", async () => {
      const refused: ToolResult = { content: [{ type: "text", text: "sold out" }], isError: true };
      const { result, reports } = await run(() => refused, z.object({ seats: z.number() }));
      expect(result).toMatchObject(refused);
      expect(reports).toEqual([]);
    });

    test("a string becomes one text block", async () => {
      const { result } = await run(() => "hello");
      expect(result.content).toEqual([{ type: "text", text: "hello" }]);
      expect(result.isError).not.toBe(true);
    });

    test("texts among content blocks become text blocks, and a list of texts alone is data", async () => {
      const { result } = await run(() => ["2 rows", IMAGE, "end"]);
      expect(result.content).toEqual([{ type: "text", text: "2 rows" }, IMAGE, { type: "text", text: "end" }]);
      expect((await run(() => ["one", "two"])).result.content).toEqual([{ type: "text", text: '["one","two"]' }]);
      expect((await run(() => [IMAGE, 2])).result.content).toEqual([
        { type: "text", text: JSON.stringify([IMAGE, 2]) },
      ]);
    });

    test("an empty string stays a text block", async () => {
      expect((await run(() => "")).result.content).toEqual([{ type: "text", text: "" }]);
    });

    test("a promise is awaited", async () => {
      expect((await run(async () => "later")).result.content).toEqual([{ type: "text", text: "later" }]);
    });

    test("one block becomes content of one block", async () => {
      expect((await run(() => TEXT)).result.content).toEqual([TEXT]);
    });

    test("blocks stay in order", async () => {
      const blocks = [TEXT, IMAGE, EMBEDDED_TEXT, { type: "text", text: "end" }];
      expect((await run(() => blocks)).result.content).toEqual(blocks);
    });

    test("returning nothing becomes empty content", async () => {
      expect((await run(() => undefined)).result.content).toEqual([]);
    });

    test("a plain object without an output schema becomes JSON text", async () => {
      const { result } = await run(() => ({ a: 1, b: ["x"] }));
      expect(result.content).toEqual([{ type: "text", text: '{"a":1,"b":["x"]}' }]);
      expect(result).not.toHaveProperty("structuredContent");
    });

    test("a full result is sent unchanged", async () => {
      const full = { content: [TEXT], isError: false, _meta: { "example.com/k": 1 } };
      expect((await run(() => full)).result).toMatchObject(full);
    });

    test("a value that matches the output schema becomes the structured content", async () => {
      const { result } = await run(() => ({ n: 1 }), z.object({ n: z.number() }));
      expect(result.structuredContent).toEqual(hasStructured ? { n: 1 } : undefined);
      expect(result.content).toEqual([{ type: "text", text: '{"n":1}' }]);
    });

    test("a full result can contain the value that matches the output schema", async () => {
      const full = { content: [TEXT], structuredContent: { n: 1 } };
      const { result } = await run(() => full, z.object({ n: z.number() }));
      expect(result.content).toEqual([TEXT]);
      expect(result.structuredContent).toEqual(hasStructured ? { n: 1 } : undefined);
    });

    test("a value that matches the output schema can have a list named content", async () => {
      const output = z.object({ content: z.array(z.string()), total: z.number() });
      const { result } = await run(() => ({ content: [], total: 0 }), output);
      expect(result.isError).not.toBe(true);
      expect(result.structuredContent).toEqual(hasStructured ? { content: [], total: 0 } : undefined);
    });

    test.each([
      ["text", TEXT],
      ["image", IMAGE],
      ["embedded text", EMBEDDED_TEXT],
      ["embedded blob", EMBEDDED_BLOB],
    ])("a block of kind %s is sent unchanged", async (_, block) => {
      expect((await run(() => block)).result.content).toEqual([block]);
    });

    test("audio is sent unchanged, or as text if the version has no audio", async () => {
      const [block] = (await run(() => AUDIO)).result.content as Json[];
      if (hasAudio) expect(block).toEqual(AUDIO);
      else expect(block).toEqual({ type: "text", text: expect.stringMatching(/audio/) });
    });

    test("a resource link is sent unchanged, or as text with the URI if the version has no links", async () => {
      const [block] = (await run(() => LINK)).result.content as Json[];
      if (hasLinks) expect(block).toEqual(LINK);
      else expect(block).toEqual({ type: "text", text: expect.stringContaining("note:///3") });
    });

    test.each([
      ["Uint8Array", BYTES],
      ["ArrayBuffer", BYTES.slice().buffer],
      ["part of a larger buffer", Uint8Array.from([9, ...BYTES, 9]).subarray(1, 1 + BYTES.length)],
      ["Buffer", Buffer.from(BYTES)],
    ])("image bytes as %s become base64", async (_, data) => {
      expect((await run(() => ({ type: "image", data, mimeType: "image/png" }))).result.content).toEqual([IMAGE]);
    });

    test("audio bytes become base64", async () => {
      if (!hasAudio) return;
      const block = { type: "audio", data: BYTES, mimeType: "audio/wav" };
      expect((await run(() => block)).result.content).toEqual([AUDIO]);
    });

    test("bytes of an embedded resource become base64", async () => {
      const block = { type: "resource", resource: { uri: "note:///2", blob: BYTES } };
      expect((await run(() => block)).result.content).toEqual([EMBEDDED_BLOB]);
    });

    test("a megabyte of bytes is sent completely", { tags: "long" }, async () => {
      const data = new Uint8Array(1024 * 1024).map((_, at) => at % 251);
      const { result } = await run(() => ({ type: "image", data, mimeType: "image/png" }));
      const [block] = result.content as { data: string }[];
      expect(Buffer.from(block?.data ?? "", "base64").equals(data)).toBe(true);
    });

    test("annotations of a block are sent if the version has them", async () => {
      const annotations = { audience: ["user"], priority: 0.5, lastModified: "2026-01-01T00:00:00Z" } as const;
      const [block] = (await run(() => ({ ...TEXT, annotations, _meta: { "example.com/k": 1 } }))).result
        .content as Json[];
      const { lastModified: _, ...older } = annotations;
      expect(block?.annotations).toEqual(hasLinks ? annotations : older);
      expect(block?._meta).toEqual(hasLinks ? { "example.com/k": 1 } : undefined);
    });

    test.each([
      ["no text", { content: [{ type: "text" }] }],
      ["no data", { type: "image", mimeType: "image/png" }],
      ["no mimeType", { type: "image", data: BASE64 }],
      ["no uri", { type: "resource", resource: { text: "x" } }],
      ["neither text nor blob", { type: "resource", resource: { uri: "note:///1" } }],
      ["no name", { type: "resource_link", uri: "note:///1" }],
    ])("a block with %s is not sent and is reported", async (_, returned) => {
      const { result, reports } = await run(() => returned);
      expect(result.isError).toBe(true);
      expect(reports).toHaveLength(1);
      expect(reports[0]?.error).toMatchObject({ code: "result-invalid" });
    });
  });

  describe("structured content", () => {
    const ROWS = [{ n: 1 }, { n: 2 }];

    test.each([
      ["an array", z.array(z.object({ n: z.number() })), ROWS],
      ["an array of raw JSON Schema", jsonSchema({ type: "array", items: { type: "object" } }), ROWS],
      ["a number", z.number(), 7],
      ["a string", z.string(), "seven"],
      ["a boolean", z.boolean(), false],
      ["null", z.null(), null],
      ["a union", z.union([z.object({ a: z.number() }), z.object({ b: z.number() })]), { a: 1 }],
    ] as [string, AnySchema, unknown][])(
      "a root that is %s is sent as structured content only in the modern version, and as JSON text in all",
      async (_, output, value) => {
        const { result, tool } = await run(() => value, output);
        expect(result.content).toEqual([{ type: "text", text: JSON.stringify(value) }]);
        if (isModern) {
          expect(result.structuredContent).toEqual(value);
          expect(tool).toHaveProperty("outputSchema");
        } else {
          expect(result).not.toHaveProperty("structuredContent");
          expect(tool).not.toHaveProperty("outputSchema");
        }
        expect(result.isError).not.toBe(true);
      },
    );

    test("an array root in a full result follows the same rule", async () => {
      const { result } = await run(() => ({ structuredContent: ROWS }), z.array(z.object({ n: z.number() })));
      expect(result.content).toEqual([{ type: "text", text: JSON.stringify(ROWS) }]);
      expect(result.structuredContent).toEqual(isModern ? ROWS : undefined);
    });

    test("an array root with empty content is sent as JSON text where it cannot be structured content", async () => {
      const { result } = await run(
        () => ({ content: [], structuredContent: ROWS }),
        z.array(z.object({ n: z.number() })),
      );
      expect(result.content).toEqual(isModern ? [] : [{ type: "text", text: JSON.stringify(ROWS) }]);
    });

    test("an object root goes to every version that has structured content", async () => {
      const { result, tool } = await run(() => ({ n: 1 }), z.object({ n: z.number() }));
      expect("structuredContent" in result).toBe(hasStructured);
      expect("outputSchema" in (tool ?? {})).toBe(hasStructured);
    });
  });

  describe("an output schema whose root has no type", () => {
    const raw = { properties: { n: { type: "number" } }, required: ["n"] };
    const pair = { schema: z.looseObject({ n: z.number().optional() }), jsonSchema: raw };

    test.each([
      ["raw JSON Schema", jsonSchema(raw)],
      ["a pair", pair],
      ["required alone", jsonSchema({ required: ["n"] })],
      ["additionalProperties alone", jsonSchema({ additionalProperties: true })],
    ] as [string, AnySchema][])("is an object schema if it has object keywords: %s", async (_, output) => {
      const { result, tool } = await run(() => ({ n: 1 }), output);
      expect(result.content).toEqual([{ type: "text", text: '{"n":1}' }]);
      expect(result.structuredContent).toEqual(hasStructured ? { n: 1 } : undefined);
      if (hasStructured) expect(tool).toMatchObject({ outputSchema: { type: "object" } });
      else expect(tool).not.toHaveProperty("outputSchema");
    });

    test("keeps its other keywords in the list", async () => {
      const { tool } = await run(() => ({ n: 1 }), jsonSchema(raw));
      expect(tool?.outputSchema).toEqual(hasStructured ? { type: "object", ...raw } : undefined);
    });

    test.each([[[]], ["text"], [7], [null]])("does not allow %j if it has object keywords", async (value) => {
      for (const output of [jsonSchema(raw), jsonSchema({ required: [] }), pair] as AnySchema[]) {
        const { result, reports } = await run(() => ({ structuredContent: value }), output);
        expect(result.isError).toBe(true);
        expect(result).not.toHaveProperty("structuredContent");
        expect(reports).toMatchObject([
          { error: { code: "output-misfit", message: expect.stringMatching(/it is not an object$/) } },
        ]);
      }
    });

    test("is not changed if it allows any value or declares other types", async () => {
      for (const output of [
        z.unknown(),
        z.union([z.string(), z.object({})]),
        jsonSchema({ $ref: "#/$defs/a", $defs: { a: {} } }),
      ]) {
        const { result, tool } = await run(() => "text", output as AnySchema);
        expect(result.content).toEqual([{ type: "text", text: '"text"' }]);
        expect("outputSchema" in (tool ?? {})).toBe(isModern);
      }
    });
  });

  describe("an input schema", () => {
    test.each([
      ["raw JSON Schema", jsonSchema<{ n: number }>({ properties: { n: { type: "number" } }, required: ["n"] })],
      ["a union of objects", z.union([z.object({ n: z.number() }), z.object({ m: z.number() })])],
      ["a pair", { schema: z.object({ n: z.number() }), jsonSchema: { properties: { n: { type: "number" } } } }],
    ] as [string, AnySchema][])("is listed and checked as an object if its root has no type: %s", async (_, input) => {
      const server = new McpServer({ name: "s", version: "1.0.0" }).tool("t", { input }, () => "ran");
      const peer = await openPeer(server, version);
      const [tool] = resultOf(await peer.request("tools/list")).tools as Json[];
      expect(tool).toMatchObject({ inputSchema: { type: "object" } });
      const call = async (args: Json) => resultOf(await peer.request("tools/call", { name: "t", arguments: args }));
      expect(await call({ n: 1 })).toMatchObject({ content: [{ text: "ran" }] });
      expect(await call({ n: "1" })).toMatchObject({ isError: true });
      peer.oracle.expectClean();
    });

    test("is refused when it is defined if its root has another type", () => {
      const server = new McpServer({ name: "s", version: "1.0.0" });
      for (const input of [
        z.string(),
        z.array(z.object({})),
        jsonSchema({ type: ["object", "null"] }),
      ] as AnySchema[]) {
        expect(() => server.tool("t", { input }, () => "ran")).toThrow(/must be "object"/);
      }
    });
  });

  describe("results that do not match the output schema", () => {
    const output = z.object({ rows: z.array(z.object({ n: z.number() })) });
    const misfit = () => ({ rows: [{ n: 1 }, { n: "SECRET" }] });

    test("an invalid result is not sent", async () => {
      const { result, peer } = await run(misfit, output);
      expect(result.isError).toBe(true);
      expect(result).not.toHaveProperty("structuredContent");
      expect(JSON.stringify(peer.received)).not.toContain("SECRET");
    });

    test("the client gets neither path nor schema of an invalid result", async () => {
      const { result } = await run(misfit, output);
      expect(JSON.stringify(result.content)).not.toMatch(/rows|expected number/i);
    });

    test("onError gets the path of the invalid value", async () => {
      const { reports } = await run(misfit, output);
      expect(reports).toHaveLength(1);
      expect(KitError.is(reports[0]?.error)).toBe(true);
      expect(String(reports[0]?.error)).toContain("rows[1].n");
    });

    test("onError gets the path of the invalid value for raw JSON Schema", async () => {
      const raw = jsonSchema({
        type: "object",
        properties: { rows: { type: "array", items: { type: "object", properties: { n: { type: "number" } } } } },
      });
      expect(String((await run(misfit, raw)).reports[0]?.error)).toMatch(/rows(\[1\]|\.1)\.n/);
    });

    test("the message to the client and the report have the same correlation id", async () => {
      const { result, reports } = await run(misfit, output);
      const id = reports[0]?.where.correlationId ?? "none";
      expect(JSON.stringify(result.content)).toContain(id);
    });

    test("the report names the tool and the method", async () => {
      const { reports } = await run(misfit, output);
      expect(reports[0]?.where).toMatchObject({ tool: "t", method: "tools/call", arguments: {} });
    });

    test("returning nothing is invalid if an output schema is declared", async () => {
      const { result, reports } = await run(() => undefined, output);
      expect(result.isError).toBe(true);
      expect(reports[0]?.error).toMatchObject({ code: "output-misfit" });
    });

    test("a full result without structured content is invalid if an output schema is declared", async () => {
      const { result, reports } = await run(() => ({ content: [TEXT] }), output);
      expect(result.isError).toBe(true);
      expect(reports[0]?.error).toMatchObject({ code: "output-misfit" });
    });

    test("structured content is also sent as a text block with the same JSON", async () => {
      const value = { rows: [{ n: 1 }] };
      const { result } = await run(() => value, output);
      expect(result.content).toEqual([{ type: "text", text: JSON.stringify(value) }]);
    });

    test("content given by the author replaces the JSON text", async () => {
      const { result } = await run(() => ({ content: [TEXT], structuredContent: { rows: [] } }), output);
      expect(result.content).toEqual([TEXT]);
    });

    test("empty content given by the author stays empty where the structured content is sent", async () => {
      const { result } = await run(() => ({ content: [], structuredContent: { rows: [] } }), output);
      expect(result.content).toEqual(hasStructured ? [] : [{ type: "text", text: JSON.stringify({ rows: [] }) }]);
    });

    test("defaults of the output schema are in both the structured content and its text", async () => {
      const defaulted = z.object({ n: z.number().default(5) });
      const { result } = await run(() => ({}), defaulted);
      expect(result.content).toEqual([{ type: "text", text: '{"n":5}' }]);
      expect(result.structuredContent).toEqual(hasStructured ? { n: 5 } : undefined);
    });
  });
});
