/** The YAML of frontmatter. */
import { describe, expect, test } from "vitest";
import { parseYaml } from "../../../src/client/skills/yaml.ts";

const GOOD: readonly (readonly [name: string, yaml: string, value: unknown])[] = [
  [
    "plain scalars",
    "a: Some text, with commas\nb: http://x.y/z#part\n",
    { a: "Some text, with commas", b: "http://x.y/z#part" },
  ],
  ["comments", "# first\n\na: 1 # one\nb: x#y\n", { a: 1, b: "x#y" }],
  [
    "numbers",
    "a: -7\nb: 0x1F\nc: 0o17\nd: 1e3\ne: .5\nf: 1_000\n",
    { a: -7, b: 31, c: 15, d: 1000, e: 0.5, f: "1_000" },
  ],
  ["booleans and null", "a: true\nb: FALSE\nc: ~\nd:\ne: yes\n", { a: true, b: false, c: null, d: null, e: "yes" }],
  ["dates as text", "a: 2026-01-31\n", { a: "2026-01-31" }],
  ["quotations", "a: 'it''s'\nb: \"x: y\\n\\u0041\\U0001F600\"\nc: ''\n", { a: "it's", b: "x: y\nA😀", c: "" }],
  ["quotations over lines", 'a: "one\n  two\n\n  three \\\n  four"\n', { a: "one two\nthree four" }],
  ["plain scalars over lines", "a: one\n  two\n\n  three\nb: 1\n", { a: "one two\nthree", b: 1 }],
  [
    "literal texts",
    "a: |\n  one\n   two\n\n  three\n\nb: |-\n  x\nc: |+\n  y\n\n",
    { a: "one\n two\n\nthree\n", b: "x", c: "y\n\n" },
  ],
  ["folded texts", "a: >-\n  one\n  two\n\n  three\n    four\n  five\n", { a: "one two\nthree\n  four\nfive" }],
  ["texts with an indentation of their own", "a: |2-\n    x\n   y\n", { a: "  x\n y" }],
  ["empty texts", "a: |\nb: >-\n  \nc: 1\n", { a: "", b: "", c: 1 }],
  [
    "mappings and sequences",
    "a:\n  b:\n    - c\n    - d: 1\n      e: 2\n  f:\n  - - g\n    - h\n",
    { a: { b: ["c", { d: 1, e: 2 }], f: [["g", "h"]] } },
  ],
  [
    "collections in brackets",
    "a: [1, 'x y', {b: c, \"d\": [e,]}]\nf: {}\ng: [1,\n  2]\n",
    { a: [1, "x y", { b: "c", d: ["e"] }], f: {}, g: [1, 2] },
  ],
  ["keys in quotes and with spaces", '"a b": 1\nc d: 2\n', { "a b": 1, "c d": 2 }],
  ["lines of Windows", "a: x\r\nb: y\r\n", { a: "x", b: "y" }],
  ["an empty document", "\n# nothing\n", {}],
];

test.each(GOOD)("the YAML parser reads %s", (_, yaml, value) => {
  expect(parseYaml(yaml)).toEqual(value);
});

test("a key that is the name of an inherited member is accepted like any other key", () => {
  expect(Object.entries(parseYaml("__proto__: 1\nconstructor: 2\n"))).toEqual([
    ["__proto__", 1],
    ["constructor", 2],
  ]);
});

describe("the YAML parser", () => {
  test.each([
    ["an anchor", "a: 1\nb: &x 1\n", "line 2: &x 1 is not supported"],
    ["an alias", "a: *x\n", "line 1: *x is not supported"],
    ["a tag", "a: !t 1\n", "line 1: !t 1 is not supported"],
    ["a key that is not a string", "null: 1\n", "line 1: the key null is not a string"],
    ["a key that occurs twice", "a: 1\na: 2\n", "a occurs twice"],
    ["a key that occurs twice in brackets", "a: {b: 1, b: 2}\n", "b occurs twice"],
    ["a complex key", "? a\n: b\n", "line 1: it has no key"],
    ["a tab as indentation", "a:\n\tb: 1\n", "line 2: it is indented with a tab"],
    ["a tab before a continued text", "a: b\n\tc\n", "line 2: it is indented with a tab"],
    ["a second document", "a: 1\n---\nb: 2\n", "line 2: a second document begins"],
    ["a colon that could begin a value", "a: b: c\n", "a colon in it could begin a value; quote the string"],
    ["a quotation without an end", 'a: "b\n', "the quoted text does not end"],
    ["a list without an end", "a: [1\nb: 2\n", "the value does not end"],
    ["text after a value", "a: 'x' y\n", "y is unexpected after a value"],
    [
      "a line with the wrong indentation",
      "a:\n   b: 1\n  c: 2\n",
      "line 3: its indentation does not match a line before it",
    ],
    ["a number that JSON lacks", "a: .inf\n", "JSON has no number .inf"],
    ["an unknown escape", 'a: "\\q"\n', "the escape \\q is not supported"],
    ["a list", "- a\n", "it is not a mapping"],
    ["a reserved character", "a: @x\n", "@x is not read here"],
    ["empty lines that are indented more than their text", "a: |\n    \n  b\n", "indented further"],
  ])("refuses %s with the line number", (_, yaml, message) => {
    expect(() => parseYaml(yaml)).toThrow(message);
  });

  test("refuses documents that would take too long to read", () => {
    const deep = Array.from({ length: 40 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n");
    expect(() => parseYaml(deep)).toThrow("nested deeper than 32 levels");
    expect(() => parseYaml("a".repeat(65_537))).toThrow("more than 65536 characters");
    expect(() => parseYaml(`a: [${"\n  1,".repeat(101)}]`)).toThrow("the value does not end");
  });
});
