/** The blocks of the tutorial and the recipes are well-formed and type-check. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runToolQuietly } from "../harness/tools.ts";
import { filesOf, linkPackages, readPages, writeBlock } from "./reader-project.ts";

/** How the blocks of commands are run, if not line by line. */
const COMMANDS = ["install", "server", "try", "dialogue", "sign-in", "chat"];
const tutorial = readPages("tutorial");
const recipes = readPages("recipes");
const LINES_MAX = new Map([
  ...tutorial.map(({ name }) => [name, 150] as const),
  ...recipes.map(({ name }) => [name, 60] as const),
]);

/** What `wrangler types` writes for the last page of the tutorial, without the types of the runtime. */
const WORKER_CONFIGURATION = `/// <reference types="@cloudflare/workers-types" />
interface Env {
  GITHUB_CLIENT_ID: string;
  GITHUB_CLIENT_SECRET: string;
  LEDGERS: DurableObjectNamespace<import("./src/index").Ledger>;
}
declare namespace Cloudflare {
  interface Env extends globalThis.Env {}
}
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mcp-edge-tutorial-types-"));
  linkPackages(folder, ["@cloudflare/workers-types"]);
  writeFileSync(join(folder, "worker-configuration.d.ts"), WORKER_CONFIGURATION);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([...tutorial, ...recipes])("$name is short, and every block is a file, commands or their output", (page) => {
  expect(page.text.trimEnd().split("\n").length).toBeLessThanOrEqual(LINES_MAX.get(page.name) ?? 0);
  for (const { at, language, title, text } of page.blocks) {
    if (language === "sh") expect([undefined, ...COMMANDS], at).toContain(title);
    else if (language === "text") expect(text, at).not.toBe("");
    else expect(title, at).toMatch(/^[\w./-]+\.(ts|toml|json)$/);
  }
});

test("the text before a block names its file, because its title is not visible", () => {
  for (const { text, blocks } of [...tutorial, ...recipes]) {
    // Text and code alternate.
    const parts = text.split(/^```.*$/m);
    for (const [index, { at, title = "" }] of blocks.entries()) {
      if (title.includes(".")) expect(parts[2 * index], at).toContain(`\`${title}\``);
    }
  }
});

test("every fence of the pages belongs to a block that the tests read", () => {
  for (const { name, text, blocks } of [...tutorial, ...recipes]) {
    expect([name, text.match(/^```/gm)?.length ?? 0]).toEqual([name, blocks.length * 2]);
  }
});

describe("the project of the last page", () => {
  test("type-checks, together with all recipes", () => {
    for (const block of [...tutorial, ...recipes].flatMap(filesOf)) writeBlock(folder, block);
    expect(runToolQuietly("tsc", ["-p", folder])).toEqual({ status: 0, output: "" });
  });
});
