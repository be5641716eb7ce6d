/** What becomes of an author's changes in unusual places when files are written again. */
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { run, Session } from "../../packages/openapi/src/main.ts";
import { type FileRecord, merge, recordOf } from "../../packages/openapi/src/regions.ts";
import { type Answer, api, get, readDescription, writeAll } from "./generated.ts";

const region = (name: string, text: string) => `  // #region ${name}\n  ${text}\n  // #endregion\n`;
const file = (...regions: string[]) => `head\nfunction f() {\n${regions.join("\n")}}\n`;
const [a, b] = [region("a", 'old("a b");'), region("b", "old.b()")];
const generated = file(a, b);
const record = recordOf(generated);

describe("changes of the author are kept", () => {
  test("a copy of a region", () => {
    const copy = region("a", "copied();");
    const present = file(a, copy, b);
    expect(merge(present, generated, record).text).toBe(present);
    const fresh = file(region("a", "fresh();"), b);
    expect(merge(present, fresh, record)).toMatchObject({
      conflicts: [],
      text: file(region("a", "fresh();"), copy, b),
    });
  });

  test("a region of the author above and below the function", () => {
    const mine = "// #region mine\nconst mine = 1;\n// #endregion\n";
    const present = `${mine}${generated}${mine.replaceAll("mine", "tail")}`;
    expect(merge(present, generated, record).text).toBe(present);
    // What is new belongs in the function, and not after the last region of the file.
    const { text } = merge(present, file(a, b, region("c", "c();")), record);
    expect(text).toContain(`${b}\n${region("c", "c();")}}\n// #region tail`);
  });

  test("the order of regions, also where nothing else has changed", () => {
    const present = file(b, a);
    expect(merge(present, generated, record).text).toBe(present);
    expect(merge(present, file(region("a", "new();"), b), record).text).toBe(file(b, region("a", "new();")));
  });

  test("a region that was moved out of the function", () => {
    const present = `${a}${file(b)}`;
    expect(merge(present, generated, record).text).toBe(present);
  });

  test.each([
    ['old("a  b");', "a space in a string"],
    ['old("ab");', "a space that was removed from a string"],
    ['old("a, b");', "a comma in a string"],
    ['old("a b;");', "a semicolon in a string"],
    ["old(`a b`);", "another kind of string"],
    ['old("a b"); // ,', "a comment"],
    ['old("a b", 1, 2);', "arguments"],
  ])("%s: %s", (text) => {
    const present = file(region("a", text), b);
    expect(merge(present, file(region("a", "fresh();"), b), record)).toMatchObject({
      text: present,
      conflicts: [{ part: "a" }],
    });
    expect(merge(file(region("a", "f(1 2)"), b), file(a, b), recordOf(file(region("a", "f(12)"), b))).text).toContain(
      "f(1 2)",
    );
  });

  test.each(["old('a b')", 'old(\n    "a b",\n  );', 'old( "a b" )'])("a formatter changes nothing: %j", (text) => {
    const present = file(region("a", text), b).replaceAll("\n", "\r\n");
    expect(merge(present, file(region("a", "fresh();"), b), record)).toMatchObject({
      text: file(region("a", "fresh();"), b),
      conflicts: [],
    });
  });

  test("what is new is shown if the author has removed all regions", () => {
    expect(merge("mine\n", file(a, b, region("c", "c();")), record)).toMatchObject({
      text: "mine\n",
      conflicts: [{ part: "c", kept: "", offered: region("c", "c();") }],
    });
  });
});

/** Generates all operations again, beginning with the files as they are now and with what was recorded about them. */
function writeReported(description: object, present: Record<string, string>, records: Record<string, FileRecord>) {
  const session = new Session();
  const { tools = [] } = readDescription(description, session);
  const request = { type: "write", operations: tools.map(({ id }) => id), name: "shop", access: "service" } as const;
  const answer = session.answer({ ...request, baseUrl: "https://api.example.com", present, records }) as Answer &
    Reported;
  const files = Object.fromEntries((answer.files ?? []).map(({ path, text }) => [path, text]));
  return { tools: files, conflicts: answer.conflicts, orphans: answer.orphans, next: answer.records };
}

/** What is reported of the files. */
interface Reported {
  readonly records: Record<string, FileRecord>;
  readonly conflicts: readonly object[];
  readonly orphans: readonly string[];
}

function writeAgain(description: object, present: Record<string, string>, records: Record<string, FileRecord>) {
  return writeReported(description, present, records).tools;
}

describe("files", () => {
  test("the case of a tool that the author has deleted is deleted too, and returns with it", () => {
    const description = api({ "/items": get(), "/orders": get() });
    const files = writeAll(description);
    const records = Object.fromEntries(Object.entries(files).map(([path, text]) => [path, recordOf(text)]));
    const path = "src/shop/items.ts";
    const deleted = (files[path] ?? "").replace(/ {2}\/\/ #region GET \/orders[\s\S]*?#endregion\n/, "");
    const again = writeAgain(description, { ...files, [path]: deleted }, records);
    expect(again[path]).not.toContain("list_orders");
    expect(again["test/shop.test.ts"]).not.toContain("list_orders");
    expect(again["test/shop.test.ts"]).toContain("list_items");
    expect(writeAgain(description, files, records)).toEqual(files);
  });

  describe("of which an operation gets another tag", () => {
    const tagged = (tag: string) =>
      api({ "/items": get(), "/orders": get({ tags: [tag] }), "/users": get({ tags: ["b"] }) });
    const files = writeAll(tagged("items"));
    const records = Object.fromEntries(Object.entries(files).map(([path, text]) => [path, recordOf(text)]));
    const path = "src/shop/items.ts";
    const toolsIn = (all: Record<string, string>) =>
      Object.entries(all).flatMap(([name, text]) => {
        return [...text.matchAll(/^ {4}"(\w+)",$/gm)].map((match) => `${name.slice(9)}: ${match[1]}`);
      });

    test("are changed as the API", () => {
      expect(toolsIn(writeAgain(tagged("b"), files, records))).toEqual([
        "items.ts: list_items",
        "b.ts: list_orders",
        "b.ts: list_users",
      ]);
    });

    test("keep what the author has changed, and do not get a second tool of its name", () => {
      const changed = { ...files, [path]: (files[path] ?? "").replace("List orders", "Mine") };
      const { tools, conflicts, orphans, next } = writeReported(tagged("b"), changed, records);
      expect([toolsIn(tools), tools[path]?.includes("Mine"), conflicts, orphans]).toEqual([
        ["items.ts: list_items", "items.ts: list_orders", "b.ts: list_users"],
        true,
        [],
        [],
      ]);
      expect(tools["test/shop.test.ts"]).toContain("list_orders");
      expect(writeReported(tagged("b"), tools, next).tools).toEqual(tools);
    });

    test("do not get back what the author has deleted", () => {
      const text = (files[path] ?? "").replace(/ {2}\/\/ #region GET \/orders[\s\S]*?#endregion\n/, "");
      const { tools, next } = writeReported(tagged("b"), { ...files, [path]: text }, records);
      const expected = ["items.ts: list_items", "b.ts: list_users"];
      expect(toolsIn(tools)).toEqual(expected);
      expect(toolsIn(writeReported(tagged("b"), tools, next).tools)).toEqual(expected);
    });
  });

  test("regions of similar paths have different names", () => {
    const text = writeAll(api({ "/a__b": get(), "/ab": get(), "/a**b": get(), "/<x>ab": get() }))["src/shop/items.ts"];
    const names = [...(text ?? "").matchAll(/#region (.*)/g)].map(([, name]) => name);
    expect(names).toEqual(["GET /a__b", "GET /ab", "GET /a**b", "GET /<x>ab"]);
  });

  test.each([
    [["a 2", "a", "A", "a2"]],
    [["a-2", "a2", "a_2", "A 2"]],
    [["shop", "shop-tag", "shop tag", "Shop"]],
    [["con", "nul", "con-api"]],
  ])("each of the tags %j has a file and a function of its own", (tags) => {
    const files = writeAll(api(Object.fromEntries(tags.map((tag, at) => [`/p${at}`, get({ tags: [tag] })]))));
    const index = files["src/shop/index.ts"] ?? "";
    const imported = [...index.matchAll(/import \{ (\w+) \} from "\.\/([\w-]+)\.ts"/g)];
    const called = [...index.matchAll(/^ {2}(\w+)\(server\);$/gm)].map(([, name]) => name);
    expect(called).toHaveLength(tags.length);
    expect(new Set([...called, "addShop"]).size).toBe(tags.length + 1);
    for (const [, name, path] of imported)
      expect(files[`src/shop/${path}.ts`]).toContain(`export function ${name}<Env>(`);
    expect(imported.map(([, name]) => name).toSorted()).toEqual(called.toSorted());
    for (const path of Object.keys(files)) expect(path).not.toMatch(/\/(con|nul)\.ts$/);
  });
});

describe("values that are not expected", () => {
  const half = JSON.stringify("\ud800");
  test.each([
    '{ "openapi": "3.1.0", "info": { "version": {} }, "paths": {} }',
    '{ "openapi": "3.1.0", "servers": [{ "url": "https://{a}", "variables": { "a": { "default": {} } } }] }',
    '{ "openapi": {} }',
    '{ "swagger": {}, "openapi": [] }',
    `{ "openapi": "3.1.0", "paths": { ${JSON.stringify("/a\ud800/{b}")}: { "get": {} } } }`,
    `{ "openapi": "3.1.0", "paths": { "/a": { "get": { "tags": [${half}], "parameters": [{ "name": "a", "in": "query", "required": true, "schema": { "enum": [${half}] } }] } } } }`,
    `{ "openapi": "3.1.0", "paths": { "/a": { "get": { "parameters": [{ "name": "a", "in": "query", "schema": { "enum": [${"{},".repeat(99)}1] } }] } } } }`,
    '{ "openapi": "3.1.0", "components": { "securitySchemes": { "a": { "type": {}, "scheme": {} } } }, "security": [{ "a": [] }], "paths": { "/a": { "get": {} } } }',
    '{ "openapi": "3.1.0", "paths": { "/a": { "get": { "parameters": [{ "name": "a", "in": "query", "style": {} }] } } } }',
    '{ "swagger": "2.0", "paths": { "/a": { "get": { "parameters": [{ "name": {}, "in": {} }] } } } }',
  ])("lead to an answer: %s", (text) => {
    const session = new Session();
    const read = readDescription(text, session);
    expect(["read", "error"]).toContain(read.type);
    expect(read.message ?? "").not.toMatch(/not expected/);
    const operations = (read.tools ?? []).map(({ id }) => id);
    const request = { type: "write", operations, name: "shop", baseUrl: "https://a.example.com" } as const;
    const written = session.answer({ ...request, access: "service" }) as Answer;
    expect(written.type).toBe(read.type === "read" ? "written" : "error");
  });

  test("a long tag is cut once, and does not multiply", () => {
    const tag = "x".repeat(100_000);
    const paths = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`/a${at}`, get({ tags: [tag] })]));
    expect(JSON.stringify(readDescription(api(paths))).length).toBeLessThan(200_000);
    const { refused = [] } = readDescription(api({ [`/${tag}`]: get() }));
    expect(refused.map(({ id }) => id.length < 600)).toEqual([true]);
  });

  test.each(["/a/../b", "/a/./b", "/%2e%2e/b", "/a/.%2E", "/.."])("the path %s is refused", (path) => {
    const { tools, refused } = readDescription(api({ [path]: get() }));
    expect([tools, refused]).toEqual([
      [],
      [{ id: `GET ${path}`, reason: "a part of its path is . or .., which leads to the folder above" }],
    ]);
  });

  test.each(["/@/{id}", "/日本", "/日本/{id}", "/-/{a}/-/{b}", "/"])("the path %s has a name", (path) => {
    const item = { get: {}, post: {}, put: {}, patch: {}, delete: {} };
    const { tools = [] } = readDescription(api({ [path]: item }));
    expect(new Set(tools.map(({ name }) => name)).size).toBe(5);
    for (const { name } of tools) expect(name).toMatch(/^[a-z]\w*$/);
  });

  test("names that are given later change nothing else, and files that are read later are used", () => {
    const session = new Session();
    const request = { type: "read", main: "a", schemaBytesMax: 10_000 } as const;
    const content = { "application/json": { schema: { $ref: "b" } } };
    const main = JSON.stringify(api({ "/a": { post: { requestBody: { required: true, content } } } }));
    expect(session.answer({ ...request, texts: { a: main } })).toMatchObject({ missing: ["b"], tools: [] });
    const b = '{ "type": "object", "properties": { "x": { "type": "string" } } }';
    const first = session.answer({ ...request, texts: { b } }) as Answer;
    const names = { taken: ["create_a"], prefix: "shop" };
    const second = session.answer({ ...request, texts: {}, names }) as Answer;
    expect([first, second].map(({ tools }) => tools?.[0]?.name)).toEqual(["create_a", "shop_create_a"]);
    expect(second.tools?.[0]?.listed.inputSchema).toMatchObject({ properties: { x: { type: "string" } } });
    expect(second.tools?.[0]?.listed.inputSchema).toEqual(first.tools?.[0]?.listed.inputSchema);
  });

  test("a record in which two operations have one name leads to two names", () => {
    const read = new Session().answer({
      type: "read",
      main: "a",
      texts: { a: JSON.stringify(api({ "/a": get(), "/b": get() })) },
      schemaBytesMax: 10_000,
      names: { kept: { "GET /a": "same", "GET /b": "same" } },
    }) as Answer;
    expect(new Set(read.tools?.map(({ name }) => name)).size).toBe(2);
  });

  test("references of members that are named example are followed, and those of examples are not", () => {
    const schema = {
      type: "object",
      example: { $ref: "not-read.yaml" },
      properties: { example: { $ref: "read.yaml" }, properties: { type: "object", example: { $ref: "no.yaml" } } },
    };
    const content = { "application/json": { schema } };
    expect(readDescription(api({ "/a": { post: { requestBody: { content } } } })).missing).toEqual(["read.yaml"]);
  });
});

describe("an object in the query", () => {
  test("has a parameter for each member, unless the description says otherwise", () => {
    const schema = { type: "object", required: ["a"], properties: { a: { type: "string" }, b: { type: "integer" } } };
    const parameters = [{ name: "q", in: "query", required: true, schema }];
    const files = writeAll(api({ "/items": get({ parameters }) }));
    expect(files["src/shop/items.ts"]).toContain("query: { ...api.members(args.q) }");
    expect(files["test/shop.test.ts"]).toContain('url: "/items?a=text"');
  });
});

describe("the lines of the program", () => {
  test("are not divided by any character, and a line that is not JSON has an answer", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const title = "a\u2028b\u2029c";
    const schema = { enum: ["x\u2028y", "z"] };
    const parameters = [{ name: title, in: "query", required: true, schema }];
    const texts = { a: JSON.stringify(api({ "/a": get({ parameters, operationId: title }) })) };
    input.end(`not JSON\n${JSON.stringify({ type: "read", main: "a", texts, schemaBytesMax: 9_999 })}\n`);
    await run(input, output);
    output.end();
    const text = Buffer.concat(await output.toArray()).toString();
    expect(text).not.toMatch(/[\u2028\u2029]/);
    const types = text
      .trimEnd()
      .split("\n")
      .map((line: string) => (JSON.parse(line) as Answer).type);
    expect(types).toEqual(["error", "read"]);
  });
});
