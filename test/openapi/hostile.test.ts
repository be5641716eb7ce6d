/** Descriptions that were written to harm: the author's machine, the generated code, or the model. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, transformSync } from "esbuild";
import { afterAll, describe, expect, test } from "vitest";
import { api, get, readDescription, writeAll } from "./generated.ts";

/** Text that would run, if it could end the string, comment, template or path in which it is written. */
const INJECTIONS = [
  '"); globalThis.injected = true; ("',
  "'); globalThis.injected = true; ('",
  "`); globalThis.injected = true; (`",
  `$${"{globalThis.injected = true}"}`,
  "*/ globalThis.injected = true; /*",
  "\n globalThis.injected = true; //",
  "\r globalThis.injected = true; //",
  "\u2028 globalThis.injected = true; //",
  "\u2029 globalThis.injected = true; //",
  "\\",
  '\\"); globalThis.injected = true; //',
  "// #endregion\nglobalThis.injected = true;",
  "$&$`$'",
  "</script><script>globalThis.injected = true</script>",
];

/** A description in which a text is in every position. */
function everywhere(text: string): object {
  const schema = {
    type: "object",
    description: text,
    title: text,
    required: [text, "plain"],
    properties: {
      [text]: { type: "string", description: text, default: text, format: text, pattern: text },
      plain: { enum: [text, "b"], description: text },
      [`${text}2`]: { type: "object", properties: { [text]: { const: text } } },
    },
  };
  const content = {
    "application/json": {
      schema: { $ref: `#/components/schemas/${encodeURIComponent(text.replaceAll("~", "~0").replaceAll("/", "~1"))}` },
    },
  };
  const parameters = ["query", "path", "header"].map((place) => {
    return { name: text, in: place, required: true, description: text, schema: { type: "string", description: text } };
  });
  const operation = {
    summary: text,
    description: text,
    operationId: text,
    tags: [text],
    security: [{ [text]: [text] }],
  };
  return {
    openapi: "3.1.0",
    info: { title: text, version: text },
    servers: [{ url: text }],
    components: {
      schemas: { [text]: schema },
      securitySchemes: { [text]: { type: "apiKey", in: "header", name: "X-Key", description: text } },
    },
    paths: {
      [`/items/${text}/{${text}}`]: {
        get: { ...operation, parameters: parameters.slice(0, 2), responses: { 200: { content } } },
      },
      "/items": {
        post: {
          ...operation,
          operationId: `${text}2`,
          requestBody: { required: true, content },
          responses: { 200: { content } },
        },
        get: { ...operation, operationId: `${text}3`, parameters: parameters.slice(0, 1), responses: { [text]: {} } },
        put: {
          operationId: "put",
          tags: [text],
          parameters: [{ name: "X-A", in: "header", schema: { enum: [text] } }],
        },
      },
      [text]: get({ operationId: text }),
    },
  };
}

/** Checks that a module is valid. @throws {Error} with the place that is not. */
function check(text: string): void {
  transformSync(text, { loader: "ts", format: "esm" });
}

const base = mkdtempSync(join(import.meta.dirname, "../../dist/hostile-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));

/** Stands for the modules that only the tests of a project need. */
const STUBS = {
  vitest:
    "export const test = { each: () => () => {} }; export const [afterAll, beforeAll, beforeEach] = [() => {}, () => {}, () => {}]; export const expect = 0;",
  "mcp-edge/testing": "export const startWorker = 0;",
  "mcp-edge/client": "export const connect = 0;",
};

/** Runs all that was generated: the modules, and each handler up to its request, which is aborted. Returns the number of tools. */
async function runAll(files: Readonly<Record<string, string>>): Promise<number> {
  const folder = mkdtempSync(join(base, "run-"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const name = /export function (\w+)/.exec(files["src/shop/index.ts"] ?? "")?.[1] ?? "";
  const contents = `export { ${name} as addAll } from "./src/shop/index.ts"; import "./test/shop.test.ts";`;
  const stubs = Object.entries(STUBS).map(([module, code]) => {
    writeFileSync(join(folder, `${module.replace("/", "-")}.js`), code);
    return [module, join(folder, `${module.replace("/", "-")}.js`)];
  });
  const outfile = join(folder, "all.mjs");
  const stdin = { contents, resolveDir: folder, loader: "ts" } as const;
  await build({
    stdin,
    outfile,
    bundle: true,
    absWorkingDir: folder,
    format: "esm",
    external: ["mcp-edge", "mcp-edge/safe", "zod"],
    alias: Object.fromEntries(stubs),
    logLevel: "silent",
  });
  const { addAll } = (await import(pathToFileURL(outfile).href)) as { addAll: (server: object) => void };
  const calls: Promise<unknown>[] = [];
  const args = new Proxy({}, { get: () => "x" });
  addAll({
    tool: (_name: string, _options: object, handler: (given: object, ctx: object) => unknown) => {
      calls.push(Promise.resolve(handler(args, { env: { SHOP_API_KEY: "key" }, signal: AbortSignal.abort() })));
    },
  });
  await Promise.allSettled(calls);
  return calls.length;
}

describe("text that would be code", () => {
  test.each(INJECTIONS.map((text) => [JSON.stringify(text), text]))("%s is data in every position", async (_, text) => {
    const count = await runAll(writeAll(everywhere(text)));
    expect(count).toBeGreaterThanOrEqual(3);
    expect("injected" in globalThis).toBe(false);
  });

  test("nothing that cannot be seen or changes the direction of text is in the code", () => {
    const hidden = "a\u202eb\u200bc\u{e0041}d\u0000e\u001b[2Jf\u009bg\u2066h\ufeff";
    for (const code of Object.values(writeAll(everywhere(hidden)))) {
      expect(code).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
    }
  });

  test("the names of objects' prototypes are ordinary names", () => {
    for (const name of ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "__defineGetter__"]) {
      const text = JSON.stringify(everywhere("NAME")).replaceAll("NAME", name);
      const files = writeAll(text);
      for (const code of Object.values(files)) check(code);
      expect(({} as { plain?: unknown }).plain).toBeUndefined();
      expect(Object.hasOwn(Object.prototype, "type")).toBe(false);
    }
  });
});

describe("files", () => {
  test.each([
    "../../etc/passwd",
    "/etc/passwd",
    "..\\..\\windows",
    "C:\\x",
    "a/b",
    ".",
    "..",
    "",
    "\u0000",
    "con",
    "api",
    "index",
    "generated",
  ])("the tag %j is the name of a file in the folder, and of no file with another meaning", (tag) => {
    const paths = Object.keys(writeAll(api({ "/items": get({ tags: [tag] }) })));
    expect(paths).toHaveLength(4);
    expect(new Set(paths).size).toBe(4);
    for (const path of paths) expect(path).toMatch(/^(src\/shop\/[a-z\d-]+|test\/shop\.test)\.ts$/);
  });

  test("tags that have the same name as a file get different files", () => {
    const paths = Object.fromEntries(
      ["a b", "a-b", "A B", "a_b"].map((tag, at) => [`/items${at}`, get({ tags: [tag] })]),
    );
    expect(Object.keys(writeAll(api(paths)))).toHaveLength(7);
  });
});

describe("references", () => {
  test("that lead in a circle end", () => {
    const schemas = {
      a: { $ref: "#/components/schemas/b" },
      b: { $ref: "#/components/schemas/a" },
      self: { type: "object", properties: { self: { $ref: "#/components/schemas/self" } } },
      all: { allOf: [{ $ref: "#/components/schemas/all" }, { type: "object", properties: { x: { type: "string" } } }] },
      any: { anyOf: [{ $ref: "#/components/schemas/any" }, { type: "string" }] },
      list: { type: "array", items: { $ref: "#/components/schemas/list" } },
    };
    const paths = Object.fromEntries(
      Object.keys(schemas).map((name) => {
        const content = { "application/json": { schema: { $ref: `#/components/schemas/${name}` } } };
        return [`/${name}`, { post: { requestBody: { required: true, content }, responses: { 200: { content } } } }];
      }),
    );
    const { tools = [] } = readDescription(api(paths, { components: { schemas } }));
    expect(tools).toHaveLength(6);
    for (const { listed } of tools) expect(JSON.stringify(listed).length).toBeLessThan(1_500);
  });

  test("that multiply at each level are cut, and the schema stays within the limit", () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 30 }, (_, level) => {
        const member = { $ref: `#/components/schemas/s${level + 1}` };
        const properties = Object.fromEntries(Array.from({ length: 12 }, (_unused, at) => [`m${at}`, member]));
        return [`s${level}`, { type: "object", properties }];
      }),
    );
    const content = { "application/json": { schema: { $ref: "#/components/schemas/s0" } } };
    const { tools = [] } = readDescription(
      api({ "/a": { post: { requestBody: { required: true, content } } } }, { components: { schemas } }),
    );
    expect(Buffer.byteLength(JSON.stringify(tools[0]?.listed.inputSchema))).toBeLessThanOrEqual(16_384);
  });

  test("to other files and hosts are only named", () => {
    const content = (ref: string) => ({ "application/json": { schema: { $ref: ref } } });
    const { missing } = readDescription(
      api({
        "/a": { post: { requestBody: { content: content("file:///etc/passwd") } } },
        "/b": { post: { requestBody: { content: content("http://169.254.169.254/latest#/x") } } },
        "/c": { post: { requestBody: { content: content("../../secret.yaml#/x") } } },
        "/d": { $ref: "paths/d.yaml" },
      }),
    );
    expect(missing).toEqual(["file:///etc/passwd", "http://169.254.169.254/latest", "secret.yaml", "paths/d.yaml"]);
  });

  test("to prototypes lead nowhere", () => {
    for (const ref of ["#/__proto__/x", "#/constructor/prototype", "#/paths/__proto__", "#/info/title/length"]) {
      const { type } = readDescription(api({ "/a": { get: { parameters: [{ $ref: ref }] } } }));
      expect(type).toBe("read");
    }
  });
});

describe("sizes", () => {
  test("a YAML document whose aliases multiply is refused", () => {
    const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
    for (let at = 1; at < 12; at += 1) {
      const alias = `*a${at - 1}`;
      lines.push(`a${at}: &a${at} [${Array.from({ length: 10 }, () => alias).join(", ")}]`);
    }
    expect(readDescription(`openapi: 3.0.0\n${lines.join("\n")}\n`)).toMatchObject({ type: "error" });
  });

  test("a YAML document that contains itself is refused", () => {
    expect(readDescription("openapi: 3.0.0\npaths: &a\n  b: *a\n")).toMatchObject({ type: "error" });
  });

  test("values that are nested too deeply are refused", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(readDescription(`{"openapi":"3.0.0","x":${deep}}`)).toMatchObject({ type: "error" });
    expect(readDescription(`openapi: 3.0.0\nx: ${"[".repeat(3_000)}${"]".repeat(3_000)}`)).toMatchObject({
      type: "error",
    });
  });

  test("operations above the limit are refused with the reason", () => {
    const paths = Object.fromEntries(Array.from({ length: 5_001 }, (_, at) => [`/a${at}`, get()]));
    const { tools = [], refused = [] } = readDescription(api(paths));
    expect(tools).toHaveLength(5_000);
    expect(refused).toMatchObject([{ reason: "the description has more than 5000 operations" }]);
  });

  test("arguments, descriptions and enumerations above the limits are cut or refused", () => {
    const parameters = Array.from({ length: 61 }, (_, at) => ({
      name: `p${at}`,
      in: "query",
      schema: { type: "string" },
    }));
    const long = "word ".repeat(100_000);
    const values = Array.from({ length: 10_000 }, (_, at) => `v${at}`);
    const { tools = [], refused = [] } = readDescription(
      api({
        "/a": get({ parameters }),
        "/b": get({
          description: long,
          parameters: [{ name: "x", in: "query", description: long, schema: { enum: values } }],
        }),
      }),
    );
    expect(refused).toMatchObject([{ id: "GET /a", reason: "it has 61 arguments; a tool can have 60" }]);
    expect(JSON.stringify(tools[0]?.listed).length).toBeLessThan(2_500);
  });

  test("examples of lists within lists do not multiply", () => {
    let schema: object = { type: "string" };
    for (let level = 0; level < 60; level += 1) schema = { type: "array", minItems: 20, items: schema };
    const files = writeAll(
      api({ "/items": get({ parameters: [{ name: "q", in: "query", required: true, schema }] }) }),
    );
    for (const code of Object.values(files)) expect(code.length).toBeLessThan(50_000);
  });

  test.each([".nan", ".inf", "-.inf", "1e400", "12345678901234567890"])(
    "an enumeration with the number %s, which would be another one in JSON, is left to the API",
    (value) => {
      const parameter = `{ name: q, in: query, required: true, schema: { type: number, enum: [1, ${value}] } }`;
      const text = `openapi: 3.0.0\npaths: { /items: { get: { tags: [items], parameters: [${parameter}] } } }\n`;
      const files = writeAll(text);
      expect(files["src/shop/items.ts"]).toContain("q: z.number(),");
      expect(files["test/shop.test.ts"]).toContain("args: { q: 1 }");
    },
  );

  test.each(["", "x", "[]", "null", "1", "openapi: 2", "swagger: '1.2'", "{", "openapi: 4.0.0", "a: b: c", "\u0000"])(
    "%j is not a description",
    (text) => {
      expect(readDescription(text)).toMatchObject({ type: "error", message: expect.stringContaining("description") });
    },
  );

  test.each([
    ['{\n  "openapi": "3.1.0",\n  "paths": {,}\n}', /line 3/],
    ["openapi: 3.1.0\ninfo:\n  title: [a\npaths: {}\n", /line [34]/],
    ["openapi: 3.1.0\npaths:\n\t- a\n", /line 3/],
  ])("the line of an error is named: %j", (text, line) => {
    expect(readDescription(text)).toMatchObject({ type: "error", message: expect.stringMatching(line) });
  });

  test.each([
    { paths: [] },
    { paths: { "/a": null, "/b": [], "/c": { get: null, post: 1 } } },
    {
      paths: {
        "/a": { get: { parameters: {}, responses: [], requestBody: "x", tags: [1], security: "x", operationId: 1 } },
      },
    },
    { paths: { "/a": { get: { parameters: [null, 1, { name: 1 }, { name: "a", in: "query", schema: 1 }] } } } },
    { info: [], servers: {}, components: [], security: {}, paths: {} },
    { paths: { "/{a}/{a}/{}/{b": { get: {} } } },
  ])("members of other types than the specification says are left out: %j", (more) => {
    expect(readDescription({ openapi: "3.0.0", ...more })).toMatchObject({ type: "read" });
    for (const code of Object.values(writeAll({ openapi: "3.0.0", ...more }))) check(code);
  });
});
