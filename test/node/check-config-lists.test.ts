/** What `mcp-edge check-config` says about lists, dates and flags. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { checkConfig } from "../../src/node/check-config.ts";

const ROOT = join(import.meta.dirname, "../..");
const FOLDER = mkdtempSync(join(tmpdir(), "mcp-edge-check-"));
const WHOLE = {
  name: "checked",
  main: "index.ts",
  compatibility_date: "2026-10-20",
  compatibility_flags: ["enable_request_signal"],
};
const CREATED = { tag: "v1", new_sqlite_classes: ["McpObject"] };

beforeAll(() => {
  mkdirSync(join(FOLDER, "node_modules"));
  symlinkSync(join(ROOT, "node_modules/wrangler"), join(FOLDER, "node_modules/wrangler"));
  writeFileSync(join(FOLDER, "package.json"), "{}");
  const classes =
    "export class McpObject extends app.McpObject {}\nexport class McpTaskWorkflow extends app.McpTaskWorkflow {}\nexport class Other {}";
  writeFileSync(join(FOLDER, "index.ts"), classes);
});
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));
afterEach(() => vi.restoreAllMocks());

const WORKFLOWS = [{ name: "mcp-tasks", binding: "MCP_TASK_WORKFLOW", class_name: "McpTaskWorkflow" }];

/** The exit code and the output for a `wrangler.json`. */
async function check(config: object): Promise<{ status: number; said: string }> {
  writeFileSync(join(FOLDER, "wrangler.json"), JSON.stringify({ ...WHOLE, workflows: WORKFLOWS, ...config }));
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  log.mockClear();
  const status = await checkConfig(FOLDER, {});
  return { status, said: log.mock.calls.map(([text]) => text).join("\n") };
}

const COMPLETE = "wrangler.json has everything that mcp-edge needs.";

test("a complete configuration has no problems", async () => {
  expect(await check({ migrations: [CREATED] })).toEqual({ status: 0, said: COMPLETE });
});

test("a JSON file that has migrations gets an entry for them, with an unused tag", async () => {
  const migrations = [{ tag: "v2", new_sqlite_classes: ["Other"] }];
  expect(await check({ migrations })).toEqual({
    status: 1,
    said: '[migration-missing] No migration creates the class McpObject.\nAdd to "migrations" in wrangler.json:\n\n  { "tag": "v3", "new_sqlite_classes": ["McpObject"] }\n',
  });
});

test("a JSON file that has workflows gets an entry for them", async () => {
  const workflows = [{ name: "own", binding: "OWN", class_name: "Own" }];
  const { status, said } = await check({ migrations: [CREATED], workflows });
  expect(status).toBe(1);
  expect(said).toContain(
    'Add to "workflows" in wrangler.json:\n\n  { "name": "mcp-tasks", "binding": "MCP_TASK_WORKFLOW", "class_name": "McpTaskWorkflow" }',
  );
});

test("a renamed class exists only under its new name", async () => {
  const away = { tag: "v2", renamed_classes: [{ from: "McpObject", to: "Renamed" }] };
  expect((await check({ migrations: [CREATED, away] })).said).toContain("No migration creates the class McpObject.");
  const created = { tag: "v1", new_sqlite_classes: ["First"] };
  const here = { tag: "v2", renamed_classes: [{ from: "First", to: "McpObject" }] };
  expect(await check({ migrations: [created, here] })).toEqual({ status: 0, said: COMPLETE });
});

test("a missing compatibility date is reported as missing, and an old date must be replaced", async () => {
  const missing = await check({ migrations: [CREATED], compatibility_date: undefined });
  expect(missing.status).toBe(1);
  expect(missing.said).toContain("[date-missing] There is no compatibility date.\nAdd to wrangler.json:");
  const old = await check({ migrations: [CREATED], compatibility_date: "2024-01-01" });
  expect(old.said).toContain(
    "[date-too-old] The compatibility date is 2024-01-01, but Durable Objects require 2024-04-03 or later.\nChange the line in wrangler.json to:",
  );
});

test("the flag enable_request_signal is recommended, not required", async () => {
  const lacking = { migrations: [CREATED], compatibility_flags: ["nodejs_compat"] };
  expect(await check(lacking)).toEqual({
    status: 0,
    said: `[flag-missing] Recommended: without the flag enable_request_signal, ctx.signal aborts with a delay after a client disconnects.\nChange the line in wrangler.json to:\n\n  "compatibility_flags": ["nodejs_compat", "enable_request_signal"]\n`,
  });
});

/** The output for a `wrangler.toml`. */
async function checkToml(lines: string): Promise<string> {
  writeFileSync(join(FOLDER, "wrangler.toml"), `name = "checked"\nmain = "index.ts"\n${lines}`);
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  log.mockClear();
  await checkConfig(FOLDER, { config: "wrangler.toml" });
  return log.mock.calls.map(([text]) => text).join("\n");
}

test("a date and flags belong to the top of a TOML file, because after the header of a table they belong to it", async () => {
  const missing = await checkToml('[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["McpObject"]');
  const place = "Add at the top of wrangler.toml, before the first [table]:\n\n";
  expect(missing).toContain(`${place}  compatibility_date = "2026-10-20"`);
  expect(missing).toContain(`${place}  compatibility_flags = ["enable_request_signal"]`);
  const old = await checkToml('compatibility_date = "2024-01-01"\ncompatibility_flags = ["nodejs_compat"]');
  const change = "Change the line in wrangler.toml to:\n\n";
  expect(old).toContain(`${change}  compatibility_date = "2026-10-20"`);
  expect(old).toContain(`${change}  compatibility_flags = ["nodejs_compat", "enable_request_signal"]`);
  expect(old).toContain(
    'Add at the end of wrangler.toml:\n\n  [exports.McpObject]\n  type = "durable-object"\n  storage = "sqlite"',
  );
});
