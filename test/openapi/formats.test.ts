/** Generated files that the author has formatted in another way: they are not changed when nothing else has changed. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { Session } from "../../packages/openapi/src/main.ts";
import { type FileRecord, merge, recordOf } from "../../packages/openapi/src/regions.ts";
import { NODE } from "../oracle/node.ts";
import { type Answer, readDescription } from "./generated.ts";

const ROOT = join(import.meta.dirname, "../..");
const SHOP = readFileSync(join(import.meta.dirname, "fixtures/shop.yaml"), "utf8");
const base = mkdtempSync(join(tmpdir(), "openapi-formats-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));

type Texts = Readonly<Record<string, string>>;

/** Writes all operations of a description. */
function write(text: string, present: Texts = {}, records: Readonly<Record<string, FileRecord>> = {}) {
  const session = new Session();
  const operations = (readDescription(text, session).tools ?? []).map(({ id }) => id);
  const request = { type: "write", operations, name: "shop", access: "service" } as const;
  const answer = session.answer({ ...request, baseUrl: "https://api.example.com", present, records }) as Answer & {
    readonly records: Readonly<Record<string, FileRecord>>;
  };
  return {
    records: answer.records,
    texts: Object.fromEntries((answer.files ?? []).map((file) => [file.path, file.text])),
  };
}

/** Formats files with a real formatter. */
function format(texts: Texts, formatter: object, javascript: object): Texts {
  const folder = mkdtempSync(join(base, "project-"));
  writeFileSync(join(folder, "biome.json"), JSON.stringify({ formatter, javascript: { formatter: javascript } }));
  for (const [path, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const args = [join(ROOT, "node_modules/.bin/biome"), "format", "--write", "."];
  const ran = spawnSync(NODE, args, { cwd: folder, encoding: "utf8" });
  expect([ran.status, ran.stderr]).toEqual([0, expect.any(String)]);
  return Object.fromEntries(Object.keys(texts).map((path) => [path, readFileSync(join(folder, path), "utf8")]));
}

describe("files that were formatted", () => {
  const { texts, records } = write(SHOP);

  test.each([
    [{ indentStyle: "tab", lineWidth: 80 }, {}],
    [{ indentStyle: "space", lineWidth: 100 }, {}],
    [{ lineWidth: 60 }, { quoteStyle: "single", semicolons: "asNeeded", trailingCommas: "none" }],
    [{ lineWidth: 200 }, { arrowParentheses: "asNeeded", bracketSpacing: false }],
  ])("with %j and %j stay as they are, and are changed only where the API has changed", (formatter, javascript) => {
    const own = format(texts, formatter, javascript);
    expect(own).not.toEqual(texts);
    const again = write(SHOP, own, records);
    expect(again.texts).toEqual(own);
    expect(again.records).toEqual(records);
    const changed = write(SHOP.replace("summary: Get an item", "summary: Get one item"), own, records).texts;
    const path = "src/shop/items.ts";
    expect(changed).toEqual({ ...own, [path]: changed[path] });
    expect(changed[path]).toContain("Get one item");
    const others = (text = "") => text.replace(/[ \t]*\/\/ #region GET \/items\/\{id\}\n[\s\S]*?#endregion\n/, "");
    expect(others(changed[path])).toBe(others(own[path]));
  });
});

describe("a change that a formatter does not make", () => {
  const file = (text: string) => `// #region a\n${text}\n// #endregion\n`;
  test.each([
    ["f(a)", "f((a, b) => a)"],
    ["f((a) => b)", "f((a, c) => b)"],
    ["f(x)", "f(x | y)"],
    ["a | b", "a || b"],
    ["f(a)", "fa"],
    ["(f)(a) => b", "f(a) => b"],
  ])("of %j to %j is one of the author", (before, after) => {
    const present = file(after);
    expect(merge(present, file("new()"), recordOf(file(before)))).toMatchObject({ text: present, conflicts: [{}] });
  });
});

describe("the empty lines between regions", () => {
  const region = (name: string, text = `${name}();`) => `  // #region ${name}\n  ${text}\n  // #endregion\n`;
  const file = (...regions: string[]) => `f() {\n${regions.join("\n")}}\n`;
  const [a, b, c] = [region("a"), region("b"), region("c")];
  const mine = region("c", "mine();");

  test.each([
    ["removed before one that is kept", file(a, b, mine), file(a), file(a, mine)],
    ["removed in another order", file(c, b, a), file(a, c), file(c, a)],
    ["removed at the end, in another order", file(c, a, b), file(a, c), file(c, a)],
    ["removed at the beginning, in another order", file(c, a, b), file(a, b), file(a, b)],
    ["added in another order", file(c, b, a), file(a, b, c, region("d")), file(c, b, a, region("d"))],
  ])("stay one if a region is %s", (_, present, fresh, expected) => {
    expect(merge(present, fresh, recordOf(file(a, b, c))).text).toBe(expected);
  });
});
