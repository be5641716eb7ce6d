/** Text of a description that names a place of a generated file, ends a comment, or is obeyed by a program that reads comments. */
import { transformSync } from "esbuild";
import { describe, expect, test } from "vitest";
import { comment, hasHidden, oneLine, quote, wordsOf } from "../../packages/openapi/src/text.ts";
import { api, get, readDescription, writeAll } from "./generated.ts";

/** In a constant, because the runner of these tests would obey it. */
const AT = "@";

/** Returns the statements of a module: what runs, without comments and types. */
function statements(text: string): string {
  return transformSync(text, { loader: "ts", format: "esm", minifyWhitespace: true, legalComments: "none" }).code;
}

/** Returns the code of the tests for a description with this title. */
function testsOf(title: string, paths: object): string {
  return writeAll(api(paths, { info: { title, version: "1" } }))["test/shop.test.ts"] ?? "";
}

describe("a title that names a place of the file", () => {
  const PLACE = "const CASES: readonly Case[] = [];";

  test.each([PLACE, `x ${PLACE}`, "{TITLE}", "// #region secrets", "// #endregion"])(
    "stays text of the header: %j",
    (title) => {
      const value = "*/ globalThis.injected = true; /*";
      const schema = { type: "object", required: ["a"], properties: { a: { enum: [value] } } };
      const requestBody = { required: true, content: { "application/json": { schema } } };
      const text = testsOf(title, { "/items": { post: { tags: ["items"], requestBody } } });
      expect(statements(text)).not.toMatch(/^globalThis|;globalThis/);
      expect(text).toContain('\nconst CASES: readonly Case[] = [\n  // #region POST /items\n  {\n    tool: "');
      expect(text.slice(0, text.indexOf("*/"))).not.toContain("injected");
    },
  );

  test("is not filled in by the text of a case", () => {
    const parameters = [{ name: "q", in: "query", required: true, schema: { enum: ["{TITLE}"] } }];
    const text = testsOf("Shop", { "/items": get({ parameters }) });
    expect(text).toContain('{ q: "{TITLE}" }');
    expect(text).toMatch(/^\/\*\*\n \* Tests the tools of Shop on/);
  });
});

describe("comments and strings", () => {
  test("the end of a comment is escaped in a string, and means the same", () => {
    expect(quote("a */ b")).toBe('"a *\\/ b"');
    expect(new Function(`return ${quote(`a */ b ${AT}vitest-environment jsdom`)}`)()).toBe(
      `a */ b ${AT}vitest-environment jsdom`,
    );
  });

  test.each(["vitest-environment jsdom", "jest-environment jsdom", "module-tag long", "ts-nocheck"])(
    "%s is obeyed by no program",
    (name) => {
      const text = AT + name;
      const parameters = [{ name: "q", in: "query", required: true, schema: { enum: [text] } }];
      const schemes = { [text]: { type: "apiKey", in: "header", name: "X" } };
      const more = { info: { title: text, version: text }, components: { securitySchemes: schemes } };
      const files = writeAll(
        api({ "/items": get({ parameters, summary: text, tags: [text], security: [{ [text]: [] }] }) }, more),
      );
      for (const code of Object.values(files)) expect(code).not.toContain(text.split(" ")[0]);
    },
  );

  test("a comment neither begins nor ends a region", () => {
    for (const text of ["#endregion # region #REGION", "##endregion", "# ##region", "###region"])
      expect(comment(text)).not.toMatch(/#\s*(end)?region/i);
  });

  test.each([2, 3, 10])("%i signs in a row are no directive either", (times) => {
    const text = `${AT.repeat(times)}vitest-environment jsdom`;
    expect(comment(text)).toBe("vitest-environment jsdom");
    const files = writeAll(api({ "/items": get({ tags: [text] }) }, { info: { title: text, version: text } }));
    for (const code of Object.values(files)) expect(code).not.toContain(`${AT}vitest`);
  });

  test("a path that is a directive is refused, because it is the name of a region", () => {
    const path = `/items/${AT}vitest-environment-options`;
    const { tools, refused } = readDescription(api({ [path]: get() }));
    expect([tools, refused]).toEqual([
      [],
      [{ id: `GET ${path}`, reason: "its path contains a directive of a test runner or compiler" }],
    ]);
  });

  test.each([0xe0100, 0xe01ef, 0xfe0f, 0x3164, 0x115f, 0x34f, 0xfff9, 0xfdd0, 0x1fffe, 0x200b])(
    "the character %i is in neither text nor code",
    (code) => {
      const hidden = String.fromCodePoint(code);
      expect(oneLine(`a${hidden}b`)).toBe("ab");
      expect(quote(hidden)).toMatch(/^"(\\u[\da-f]{4})+"$/);
      expect(hasHidden(hidden)).toBe(true);
      const schema = { type: "object", properties: { [`x${hidden}`]: { type: "string" }, y: { enum: [hidden] } } };
      const parameters = [{ name: "q", in: "query", style: "deepObject", schema }];
      const { tools } = readDescription(api({ "/items": get({ parameters }), [`/a${hidden}`]: get() }));
      expect(tools).toHaveLength(1);
      expect(JSON.stringify(tools)).not.toContain(hidden);
    },
  );
});

describe("the time to read a text", () => {
  test("does not grow with the square of its length", () => {
    // Each took minutes before.
    expect(wordsOf("A".repeat(5_000_000))).toHaveLength(1);
    const text = "<!--".repeat(2_000);
    for (let times = 0; times < 2_000; times += 1) oneLine(text);
    expect(oneLine("a<!-- b --> c <!-- d")).toBe("a c <!-- d");
  });
});

describe("names of members that every object has", () => {
  test("are members of no schema within an argument, where zod would find them in every object", () => {
    const inner = { type: "object", properties: { constructor: { type: "string" }, a: { type: "string" } } };
    const schema = { type: "object", required: ["x"], properties: { x: inner } };
    const content = { "application/json": { schema } };
    const requestBody = { required: true, content };
    const description = api({ "/items": { post: { tags: ["items"], requestBody, responses: { 200: { content } } } } });
    const code = (writeAll(description)["src/shop/items.ts"] ?? "").replace(/\s+/g, " ");
    expect(code).toContain("x: z.looseObject({ a: z.string().optional(), }),");
    expect(code).not.toContain("constructor");
  });

  test("are arguments of other names, and members of the request of the same name", () => {
    const names = ["constructor", "__proto__", "toString", "hasOwnProperty"];
    const parameters = names.map((name) => ({ name, in: "query", schema: { type: "string" } }));
    const text = JSON.stringify(api({ "/items": get({ parameters }) }));
    const files = writeAll(text);
    const code = files["src/shop/items.ts"] ?? "";
    expect(code).toContain("constructor: args.a_constructor");
    expect(code).toContain('["__proto__"]: args.proto');
    expect(code).not.toMatch(/args\.(constructor|toString|hasOwnProperty)\b/);
  });
});
