/** The workflows of GitHub are valid, and what they may do is limited. No workflow runs in these tests. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { breachesOf, errorsOf, loadParser, readWorkflows } from "./workflows.ts";

const ROOT = join(import.meta.dirname, "../..");
const workflows = readWorkflows();
let parser: Awaited<ReturnType<typeof loadParser>>;
beforeAll(async () => {
  parser = await loadParser();
});

test("there is a workflow for tests, releases, the canary, CodeQL and the scorecard", () => {
  expect(Object.keys(workflows).sort()).toEqual([
    "canary.yml",
    "codeql.yml",
    "release.yml",
    "scorecard.yml",
    "test.yml",
  ]);
});

describe.each(Object.keys(workflows))("%s", (name) => {
  const content = workflows[name] ?? "";

  test("is valid according to GitHub's parser", async () => {
    expect(await errorsOf(parser, name, content)).toEqual([]);
  });

  test("pins its actions, and has minimal permissions and time limits", () => {
    expect(breachesOf(content)).toEqual([]);
  });

  test("runs only scripts of package.json, and files that exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: object };
    for (const [, script = ""] of content.matchAll(/npm run ([\w:-]+)/g)) expect(scripts).toHaveProperty([script]);
    for (const [, file = ""] of content.matchAll(/run: (\.\S+)/g)) expect(existsSync(join(ROOT, file))).toBe(true);
  });
});

const VALID = workflows["codeql.yml"] ?? "";

test.each([
  ["an unknown key", VALID.replace("timeout-minutes", "timeout-minute")],
  ["an invalid expression", VALID.replace("${{ matrix.language }}", "${{ matrix.language }")],
  ["an unknown context", VALID.replace("${{ matrix.language }}", "${{ matrx.language }}")],
  ["a job that needs a missing job", VALID.replace("    runs-on", "    needs: none\n    runs-on")],
])("GitHub's parser reports %s", async (_, content) => {
  expect(content).not.toBe(VALID);
  expect(await errorsOf(parser, "wrong.yml", content)).not.toEqual([]);
});

test.each([
  ["a tag instead of a commit", /@[0-9a-f]{40} # v\d+\.\d+\.\d+/, "@v7", "is not pinned"],
  ["permissions for everything", /^permissions:\n {2}contents: read/m, "permissions: write-all", "contents: read"],
  ["no time limit", / {4}timeout-minutes: 30\n/, "", "timeout-minutes is missing"],
  ["kept credentials", "persist-credentials: false", "persist-credentials: true", "keep its credentials"],
  ["a permission without a reason", " # It uploads its findings.", "", "needs a comment"],
  ["a pin without its version", / # v7\.0\.1/, "", "needs its version"],
  [
    "installed packages in a job that may publish",
    / {6}security-events: write # It uploads its findings\.\n([\s\S]*?) {6}- uses: actions\/checkout/,
    "      id-token: write # It signs.\n$1      - run: npm ci\n      - uses: actions/checkout",
    "must not install packages",
  ],
  [
    "a title in a command",
    / {6}- uses: actions\/checkout/,
    "      - run: echo ${{ github.event.issue.title }}\n$&",
    "an expression",
  ],
])("the rules report %s", (_, find, replace, text) => {
  const content = VALID.replace(find, replace);
  expect(content).not.toBe(VALID);
  expect(breachesOf(content).join("\n")).toContain(text);
});

test("issue forms have the fields that GitHub requires, and labels that exist in all of them", () => {
  const folder = join(ROOT, ".github/ISSUE_TEMPLATE");
  const names = readdirSync(folder).filter((name) => name !== "config.yml");
  expect(names).toHaveLength(3);
  for (const name of names) {
    const form = parse(readFileSync(join(folder, name), "utf8")) as {
      readonly body: readonly { readonly type: string; readonly id?: string; readonly attributes: object }[];
    };
    expect(form).toMatchObject({
      name: expect.any(String),
      description: expect.any(String),
      labels: [expect.any(String)],
    });
    const fields = form.body.filter(({ type }) => type !== "markdown");
    expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length);
    for (const { attributes } of fields) expect(attributes).toHaveProperty("label");
    for (const { type } of form.body) expect(["markdown", "input", "textarea"]).toContain(type);
  }
});
