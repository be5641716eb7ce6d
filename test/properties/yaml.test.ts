// @module-tag long
/** The kit's reader of YAML never reads a document otherwise than the package `yaml` does. It may refuse it. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { parseYaml } from "../../src/client/skills/yaml.ts";

/** Pieces of which documents consist, with those that readers disagree about. */
const PIECES = [
  ..."a b key name description x- - -- --- : :: # ? ! & * | > % @ ` ' \" , { } [ ] ~ null Null NULL true True yes no on off".split(
    " ",
  ),
  ..."0 1 -1 +1 007 0o17 0x1F 1e3 1.5 .5 5. 1_000 .inf -.Inf .NaN 12:30 2026-11-23 =".split(" "),
  ..."|- >- |+ >+ |2 >1 \\n \\t \\u263a \\x41 '' \"\" << é ☺ … <".split(" "),
];
const BREAKS = [
  "\n",
  "\n  ",
  "\n    ",
  "\n- ",
  "\n  - ",
  "\n\n",
  ": ",
  ":",
  " ",
  "  ",
  ", ",
  " #",
  "\t",
  ":\n  ",
  "\r\n",
];

const pieces = fc.array(fc.oneof(fc.constantFrom(...PIECES), fc.constantFrom(...BREAKS)), { maxLength: 24 });
/** Mostly mappings, which the reader takes. */
const documents = fc.oneof(
  pieces.map((all) => all.join("")),
  fc
    .array(fc.tuple(fc.constantFrom("a", "b", "'c'", '"d"', "e f"), pieces), { maxLength: 4 })
    .map((lines) => lines.map(([key, all]) => `${key}: ${all.join("")}`).join("\n")),
);

/** What a parser makes of a document, or undefined if it refuses it. */
function readBy(read: (text: string) => unknown, text: string): unknown {
  try {
    return read(text);
  } catch {
    return undefined;
  }
}

test("every document that the parser accepts has the same meaning in the package yaml", () => {
  let read = 0;
  const compare = (text: string) => {
    const own = readBy(parseYaml, text);
    if (own === undefined) return;
    read += 1;
    // Values as JSON, because that is what the client hands on.
    const other = readBy((given) => parse(given, { version: "1.2", logLevel: "silent" }) ?? {}, text);
    expect([text, JSON.parse(JSON.stringify(own))]).toEqual([text, JSON.parse(JSON.stringify(other ?? "refused"))]);
  };
  fc.assert(fc.property(documents, compare), { numRuns: 20_000 });
  // A test of documents that are all refused would compare nothing.
  expect(read).toBeGreaterThan(500);
});
