/** What `mcp-edge check-config` says about sealing keys, which it cannot always see. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { checkConfig } from "../../src/node/check-config.ts";

let folder: string;
let output: string[];
beforeEach(() => {
  // Within the project, because the command loads the project's wrangler.
  folder = mkdtempSync(join(import.meta.dirname, "../../node_modules/.check-config-"));
  output = [];
  vi.spyOn(console, "log").mockImplementation((line) => void output.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

function write(imports: readonly string[], more = ""): void {
  mkdirSync(join(folder, "src"), { recursive: true });
  const lines = [`import { ${imports.join(", ")} } from "mcp-edge/worker/durable";`];
  writeFileSync(join(folder, "src/index.ts"), [...lines, "export class McpObject extends app.McpObject {}"].join("\n"));
  writeFileSync(
    join(folder, "wrangler.toml"),
    `name = "own"\nmain = "src/index.ts"\ncompatibility_date = "2026-11-18"\n${more}\n[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["McpObject"]\n`,
  );
}

const COMPLETE = "wrangler.toml has everything that mcp-edge needs.";

test.each([["sessions"], ["replay"]])("%s without keys is reported with the secret to set", async (part) => {
  write([part]);
  expect(await checkConfig(folder, {})).toBe(0);
  expect(output).toEqual([
    '[keys-missing] src/index.ts does not import a plugin that provides sealing keys. Add keys() to the option use of edge(), with keys from "mcp-edge/worker/durable"; or set the secret MCP_KEYS with: npx mcp-edge keys | npx wrangler secret put MCP_KEYS',
  ]);
});

test.each([
  [["sessions", "keys"], ""],
  [["durable"], ""],
  [["hub"], ""],
  [["sessions"], '[vars]\nMCP_KEYS = "given"'],
])("the secret is not required for %j with %j", async (imports, more) => {
  write(imports, more);
  expect(await checkConfig(folder, {})).toBe(0);
  expect(output).toEqual([COMPLETE]);
});
