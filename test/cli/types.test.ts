/** `mcp-edge types`: the types compile, fit the schemas, and no text of a server becomes code. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TypeWriter } from "../../src/cli/commands/types/convert.ts";
import { moduleFor } from "../../src/cli/commands/types/module.ts";
import { runToolQuietly } from "../harness/tools.ts";
import { cli, SERVER, withServer } from "./run.ts";

const ROOT = join(import.meta.dirname, "../..");
let folder: string;
beforeAll(() => {
  // Inside the package, so that its modules can import the package by name.
  folder = mkdtempSync(join(ROOT, "dist/types-"));
  const config = { extends: join(ROOT, "tsconfig.json"), include: ["."], exclude: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const compile = () => runToolQuietly("tsc", ["-p", folder, "--noEmit"]);

/** The declarations for a schema. */
function typeOf(schema: unknown): string {
  const writer = new TypeWriter();
  writer.declare("it", schema);
  return writer.declarations.join("\n").replaceAll("export type ", "").trim();
}

describe("the types that are generated from schemas", () => {
  test.each<[string, unknown, string]>([
    ["simple types", { type: ["string", "null"] }, "It = string | null;"],
    ["an integer", { type: "integer", minimum: 0 }, "It = number;"],
    ["an enumeration", { enum: ["a", 1, null, "*/"] }, 'It = "a" | 1 | null | "*/";'],
    ["a constant", { const: true }, "It = true;"],
    ["lists", { type: "array", items: { type: ["string", "number"] } }, "It = (string | number)[];"],
    ["tuples", { prefixItems: [{ type: "string" }], items: false }, "It = [string?];"],
    ["the schema true", true, "It = unknown;"],
    ["the schema false", false, "It = never;"],
    ["the empty schema", {}, "It = unknown;"],
    ["an unknown type", { type: "date" }, "It = unknown;"],
    ["records", { type: "object", additionalProperties: { type: "number" } }, "It = Record<string, number>;"],
    ["no members", { type: "object", additionalProperties: false }, "It = Record<string, never>;"],
    ["titled choices", { oneOf: [{ const: "m", title: "M" }, { const: "l" }] }, 'It = "m" | "l";'],
    ["combined conditions", { allOf: [{ type: "string" }, { enum: ["a", "b"] }] }, 'It = string & ("a" | "b");'],
    ["a reference to another document", { $ref: "https://example.com/schema.json" }, "It = unknown;"],
    ["a reference to a missing definition", { $ref: "#/$defs/none" }, "It = unknown;"],
    [
      "properties",
      {
        type: "object",
        properties: { a: { type: "string", description: "The a." }, "b-c": { type: "boolean" } },
        required: ["a"],
      },
      'It = {\n  /** The a. */\n  readonly a: string;\n  readonly "b-c"?: boolean;\n};',
    ],
    [
      "recursive types",
      { $ref: "#/$defs/node", $defs: { node: { properties: { next: { $ref: "#/$defs/node" } } } } },
      "It = ItNode;\n\nItNode = {\n  readonly next?: ItNode;\n};",
    ],
    ["a reference to itself", { $ref: "#" }, "It = unknown;"],
    [
      "circular references",
      {
        $ref: "#/$defs/a",
        $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }, { type: "null" }] }, b: { $ref: "#/$defs/a" } },
      },
      "It = ItA;\n\nItA = unknown;\n\nItB = ItA;",
    ],
    ["a recursive map", { type: "object", additionalProperties: { $ref: "#" } }, "It = Record<string, unknown>;"],
  ])("are right for %s", (_, schema, expected) => {
    expect(typeOf(schema)).toBe(expected);
  });

  test("use unknown for a part that is too deep or too large", () => {
    const deep = Array.from({ length: 500 }).reduce<object>((items) => ({ type: "array", items }), { type: "string" });
    expect(typeOf(deep)).toContain("unknown");
    const wide = { anyOf: Array.from({ length: 30_000 }, (_, index) => ({ const: index })) };
    expect(typeOf(wide)).toBe("It = unknown;");
  });
});

const server = {
  protocolVersion: "2026-07-28",
  capabilities: {},
  transport: "pipe",
  info: { name: "x", version: "1" },
};

test("whatever names and text a server uses, the file compiles and does not run anything", () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom(
      "*/",
      "*/ export const hacked = 1; /*",
      "a\nb",
      "`$" + "{process.exit()}`",
      '"',
      "\\",
      "\u2028",
      "call_tool",
    ),
  );
  const schema = fc.letrec((tie) => ({
    schema: fc.oneof(
      { depthSize: "small" },
      fc.record({ type: fc.constantFrom("string", "number", "null"), description: text }),
      fc.record({ enum: fc.array(fc.oneof(text, fc.integer())) }),
      fc.record({ type: fc.constant("array"), items: tie("schema") }),
      fc.record({
        type: fc.constant("object"),
        properties: fc.dictionary(text, tie("schema")),
        required: fc.array(text),
      }),
      fc.record({ anyOf: fc.array(tie("schema")) }),
      fc.record({ allOf: fc.array(tie("schema")), $ref: fc.constantFrom("#", "#/anyOf/0", "#/properties/a") }),
    ),
  })).schema;
  const tool = fc.record({ name: text, description: text, inputSchema: schema, outputSchema: schema });
  const named = fc.uniqueArray(tool, { selector: ({ name }) => name, maxLength: 4 });
  const modules = fc.sample(named, 60).map((tools) => moduleFor(server as never, tools as never, []));
  for (const [index, source] of modules.entries()) {
    expect(source).not.toMatch(/^export const/m);
    writeFileSync(join(folder, `hostile${index}.ts`), source);
  }
  const { output } = compile();
  // An intersection of types that exclude each other is allowed.
  const wrong = output.split("\n").filter((line) => line.includes("error TS") && !/TS2321|TS2589/.test(line));
  expect(wrong).toEqual([]);
  for (const index of modules.keys()) rmSync(join(folder, `hostile${index}.ts`));
});

test("a client with the generated types calls a real server, and wrong calls do not compile", {
  tags: "long",
}, async () => {
  const file = join(folder, "lab.ts");
  const ran = await withServer(["types", "--out", file]);
  expect([ran.code, ran.stdout]).toEqual([0, ""]);
  const use = `
import { connect } from "mcp-edge/client";
import { stdio } from "mcp-edge/node";
import { typed } from "./lab.ts";
const client = typed(await connect(stdio({ command: ${JSON.stringify(SERVER[0])}, args: [${JSON.stringify(SERVER[1])}] }), { name: "t", version: "1" }));
const { content } = await client.callTool("add", { a: 1, b: 2 });
console.log(JSON.stringify(content));
const { structuredContent } = await client.callTool("measure", { value: 7 });
const readings: readonly { readonly value: number }[] | undefined = structuredContent?.readings;
await client.callTool("order");
await client.getPrompt("explain", { language: "perl" }).then(({ messages }) => messages.length);
export { readings };
`;
  writeFileSync(join(folder, "use.ts"), use);
  expect(compile()).toEqual({ status: 0, output: "" });
  const wrongs = [
    'await client.callTool("ad", { a: 1, b: 2 });',
    'await client.callTool("add", { a: 1 });',
    'await client.callTool("add", { a: "1", b: 2 });',
    'await client.callTool("add");',
    'await client.getPrompt("explain", { lang: "perl" });',
  ];
  writeFileSync(join(folder, "use.ts"), use + wrongs.join("\n"));
  const lines = compile().output.match(/use\.ts\(\d+/g);
  expect(lines).toHaveLength(wrongs.length);
});

test("a file is overwritten only if this command has written it", { tags: "long" }, async () => {
  const file = join(folder, "out.ts");
  expect((await withServer(["types", "-o", file])).stderr).toMatch(/tools, \d+ prompts?\n$/);
  expect((await withServer(["types", "-o", file])).stderr).toContain("(unchanged)");
  const printed = await withServer(["types"]);
  expect(printed.stdout).toBe(readFileSync(file, "utf8"));
  writeFileSync(file, "const mine = 1;\n");
  const refused = await withServer(["types", "-o", file]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("was not generated by this command")]);
  expect(readFileSync(file, "utf8")).toBe("const mine = 1;\n");
  rmSync(file);
  expect((await cli(["types"])).code).toBe(2);
});
