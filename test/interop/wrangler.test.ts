// @module-tag long
/** `wrangler deploy --dry-run` without an account and without a network. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { NODE } from "../oracle/node.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
const FOLDER = mkdtempSync(join(tmpdir(), "dry-run-"));
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

test.each([
  ["the reference server", "."],
  ["the weather template", "templates/weather"],
])("wrangler deploy --dry-run bundles %s with its object class", async (_, folder) => {
  const out = join(FOLDER, folder.replaceAll(/\W/g, "-"));
  const env = {
    // Child processes run the same Node; no account is needed and nothing is reported.
    PATH: `${dirname(NODE)}:${process.env.PATH}`,
    HOME: FOLDER,
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    CI: "true",
  };
  const { stdout } = await run(NODE, [WRANGLER, "deploy", "--dry-run", "--outdir", out], {
    cwd: join(ROOT, folder),
    env,
  });
  expect(stdout).toContain("--dry-run: exiting now.");
  expect(existsSync(join(out, "index.js"))).toBe(true);
});
