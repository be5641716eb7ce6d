import { expect, test } from "vitest";
import { findBrokenReferences, findProblems } from "../../scripts/references.ts";

/** Written in parts, so that this file does not refer to what is not there. */
const [MISSING, PLAN, RECORD] = ["src/" + "gone.ts", "PLAN" + "NING", "decision " + "042"];

function check(files: Record<string, string>): string[] {
  return findBrokenReferences(Object.keys(files), (file) => files[file] ?? "");
}

test("the repository contains no reference to a missing document or file", () => {
  expect(findProblems()).toEqual([]);
});

test("missing links, paths, decisions and documents are found, each with its line", () => {
  expect(
    check({
      "README.md": `Text.\n[a](docs/none.md) and \`${MISSING}\`.\nSee ${RECORD} and ${PLAN}.md.`,
      "src/a.ts": `/** ${PLAN} section 3. */\n// ${MISSING}\nconst a = "${MISSING}";`,
    }),
  ).toEqual([
    `README.md:2: "${MISSING}" leads nowhere`,
    'README.md:2: "docs/none.md" leads nowhere',
    `README.md:3: "${PLAN}.md" leads nowhere`,
    `README.md:3: "${RECORD}" leads nowhere`,
    `src/a.ts:1: "${PLAN} section 3" leads nowhere`,
    `src/a.ts:2: "${MISSING}" leads nowhere`,
  ]);
});

test("valid references, code of a reader's project and web links are ignored", () => {
  const decision = "docs/decisions/042-title.md";
  const text = `[a](src) [b](src/a.ts#part) [c](https://example.com/x) \`src/a.ts\`, ${RECORD}.\n\`\`\`ts\n// ${MISSING}\n\`\`\``;
  expect(
    check({ "README.md": text, "src/a.ts": "// README.md, src/a.ts", [decision]: "[d](../../README.md)" }),
  ).toEqual([]);
});
