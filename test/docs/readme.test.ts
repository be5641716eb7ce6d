// @module-tag long
/** The project that the README describes is created exactly as printed, checked, tested and deployed (dry run). */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runToolQuietly } from "../harness/tools.ts";

const ROOT = join(import.meta.dirname, "../..");
const readme = readFileSync(join(ROOT, "README.md"), "utf8");

/** Returns the code block of a language that contains a string. */
function block(language: string, containing: string): string {
  const blocks = [...readme.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))];
  const found = blocks.map(([, text = ""]) => text).filter((text) => text.includes(containing));
  expect(found, `blocks of the README with ${containing}`).toHaveLength(1);
  return found[0] ?? "";
}

describe("the project of the README", () => {
  let folder: string;
  beforeAll(() => {
    // Inside the package, so that its modules can import the package by name.
    folder = mkdtempSync(join(ROOT, "dist/readme-"));
    const files = {
      "package.json": '{ "type": "module" }',
      "src/server.ts": block("ts", 'name: "dice"'),
      "src/index.ts": block("ts", "edge(server, { use: [durable(), page()] })"),
      "wrangler.toml": block("toml", 'name = "dice"'),
      "tsconfig.json": block("json", '"moduleResolution"'),
      "test/dice.test.ts": block("ts", "mcp-edge/testing"),
      // A separate configuration, because vitest would find the configuration of this repository.
      "vitest.config.mjs": "export default {};",
    };
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("type-checks with the types that wrangler generates", { timeout: 120_000 }, () => {
    const types = runToolQuietly("wrangler", ["types"], folder);
    expect(types.status, types.output).toBe(0);
    expect(runToolQuietly("tsc", ["-p", folder])).toEqual({ status: 0, output: "" });
  });

  test("passes its own test, which kills the Worker", { timeout: 120_000 }, () => {
    const run = runToolQuietly("vitest", ["run", "--reporter", "verbose"], folder);
    expect(run.output).toContain("a session survives a crash of the server");
    expect(run.status, run.output).toBe(0);
  });

  test("is accepted by wrangler deploy", { timeout: 120_000 }, () => {
    const deploy = runToolQuietly("wrangler", ["deploy", "--dry-run", "--outdir", join(folder, "out")], folder);
    expect(deploy.output).toContain("env.CITY");
    expect(deploy.status, deploy.output).toBe(0);
  });
});

/** Documents whose links must be valid. */
const DOCUMENTS = ["README.md", "CONTRIBUTING.md", "docs/architecture.md"];

test.each(DOCUMENTS)("every file, folder and heading that %s links to exists", (name) => {
  const text = readFileSync(join(ROOT, name), "utf8");
  const links = [...text.matchAll(/\]\(((?!https?:)[^)]+)\)/g)].map((match) => match[1] ?? "");
  expect(links.length).toBeGreaterThan(0);
  for (const link of links) {
    const [path = "", heading] = link.split("#");
    const target = path === "" ? join(ROOT, name) : join(ROOT, dirname(name), path);
    const read = () => readFileSync(target, "utf8");
    expect(read, link).not.toThrow(/ENOENT/);
    if (heading) expect(headingsOf(read()), link).toContain(heading);
  }
});

/** The anchors of a document's headings, as GitHub forms them. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

test("the README has at most 200 lines", () => {
  expect(readme.trimEnd().split("\n").length).toBeLessThanOrEqual(200);
});

test("the README's commands are scripts of the package", () => {
  const { scripts, bin } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const named = [...readme.matchAll(/npm run (\w+)/g)].map((match) => match[1] ?? "");
  for (const name of [...named, "start", "test"]) expect(Object.keys(scripts)).toContain(name);
  expect(Object.keys(bin)).toContain("mcp-edge");
});
