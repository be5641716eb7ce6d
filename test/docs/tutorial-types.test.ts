/** The blocks of the tutorial are well-formed and type-check after every page. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runToolQuietly } from "../harness/tools.ts";
import { linkPackages, type Page, readPages, writeBlock } from "./tutorial.ts";

const LINES_MAX = 150;
/** How the blocks of commands are run, if not line by line. */
const COMMANDS = ["install", "server", "dialogue", "sign-in", "chat"];
const pages = readPages();

/** What `wrangler types` writes for the configuration of the last page, without the types of the runtime. */
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
  mkdirSync(join(folder, "src"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const filesOf = ({ blocks }: Page) => blocks.filter(({ language }) => !["sh", "text"].includes(language));

describe.each(pages)("$name", (page) => {
  test("has at most 150 lines, and every block is a file, commands or their output", () => {
    expect(page.text.trimEnd().split("\n").length).toBeLessThanOrEqual(LINES_MAX);
    for (const { at, language, title, text } of page.blocks) {
      if (language === "sh") expect([undefined, ...COMMANDS], at).toContain(title);
      else if (language === "text") expect(text, at).not.toBe("");
      else expect(title, at).toMatch(/^[\w./-]+\.(ts|toml|json)$/);
    }
  });
});

test("the files of the project type-check after the last page", () => {
  for (const block of pages.flatMap(filesOf)) writeBlock(folder, block);
  expect(runToolQuietly("tsc", ["-p", folder])).toEqual({ status: 0, output: "" });
});
