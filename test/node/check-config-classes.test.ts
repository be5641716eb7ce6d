/** What `mcp-edge check-config` says about classes that do not exist when the Worker starts. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { checkConfig } from "../../src/node/check-config.ts";

let folder: string;
beforeEach(() => {
  // Within the project, because the command loads the project's wrangler.
  folder = mkdtempSync(join(import.meta.dirname, "../../node_modules/.check-classes-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const CLASS = "export class McpObject extends app.McpObject {}";
const COMPLETE = "wrangler.json has everything that mcp-edge needs.";

/** The exit code and the output for a main module, with migrations that create these classes. */
async function check(source: string, ...classes: readonly string[]): Promise<{ status: number; said: string }> {
  return checkMigrations(source, [{ tag: "v1", new_sqlite_classes: classes }]);
}

async function checkMigrations(source: string, migrations: readonly object[]) {
  writeFileSync(join(folder, "index.ts"), source);
  const config = { name: "own", main: "index.ts", compatibility_date: "2026-11-18", migrations };
  writeFileSync(join(folder, "wrangler.json"), JSON.stringify(config));
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  const status = await checkConfig(folder, {});
  return { status, said: log.mock.calls.map(([text]) => text).join("\n") };
}

test("a class that a migration creates but the main module does not export is reported", { tags: "long" }, async () => {
  const { status, said } = await check(CLASS, "McpObject", "MyObject");
  expect(status).toBe(1);
  expect(said).toBe(
    "[export-missing] A migration names the class MyObject, which index.ts does not export. Export the class, correct its name in the migration, or delete that entry. If the class was deployed, add a migration with renamed_classes or deleted_classes instead.\n",
  );
});

test("a class that a migration creates without SQLite is reported, and no second migration is suggested", async () => {
  const migrations = [{ tag: "v1", new_classes: ["McpObject"] }];
  expect(await checkMigrations(CLASS, migrations)).toEqual({
    status: 1,
    said: "[migration-wrong] A migration creates the class McpObject without SQLite, but mcp-edge requires SQLite. If the class was never deployed, write new_sqlite_classes instead of new_classes. If it was, export the class under another name, and pass that name as the option className.\n",
  });
});

describe("a configuration with exports in place of migrations", () => {
  /** The exit code and the output for a configuration in JSON. */
  async function checkExports(source: string, exports: object, more: object = {}) {
    writeFileSync(join(folder, "index.ts"), source);
    const config = { name: "own", main: "index.ts", compatibility_date: "2026-11-18", exports, ...more };
    writeFileSync(join(folder, "wrangler.json"), JSON.stringify(config));
    const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
    log.mockClear();
    const status = await checkConfig(folder, {});
    return { status, said: log.mock.calls.map(([text]) => text).join("\n") };
  }
  const SQLITE = { type: "durable-object", storage: "sqlite" };

  test("needs nothing else for a class with SQLite", async () => {
    expect(await checkExports(CLASS, { McpObject: SQLITE })).toEqual({ status: 0, said: COMPLETE });
  });

  test("must get a missing class in exports, because wrangler refuses a file with both", async () => {
    const added = '"McpObject": { "type": "durable-object", "storage": "sqlite" }';
    const other = await checkExports(`${CLASS} export class Other {}`, { Other: SQLITE });
    expect(other).toEqual({
      status: 1,
      said: expect.stringContaining(`Add to "exports" in wrangler.json:\n\n  ${added}\n`),
    });
    const none = await checkExports(CLASS, {});
    expect(none).toEqual({
      status: 1,
      said: expect.stringContaining(`Add to wrangler.json:\n\n  "exports": { ${added} }\n`),
    });
    expect(none.said + other.said).not.toContain("migrations");
  });

  test.each([
    ["deleted", { type: "durable-object", state: "deleted" }],
    ["renamed", { type: "durable-object", state: "renamed", renamed_to: "Other" }],
    ["transferred", { type: "durable-object", state: "transferred", transferred_to: "elsewhere" }],
  ])("reports an exported class once if it is marked as %s", async (state, entry) => {
    const more = state === "renamed" ? { Other: SQLITE } : {};
    const { status, said } = await checkExports(`${CLASS} export class Other {}`, { McpObject: entry, ...more });
    expect([status, said]).toEqual([
      1,
      expect.stringContaining(`says that the class is ${state}, and index.ts exports it`),
    ]);
    expect(said.match(/^\[/gm)).toHaveLength(1);
  });

  test("reports a class with the storage legacy-kv", async () => {
    const { status, said } = await checkExports(CLASS, { McpObject: { type: "durable-object", storage: "legacy-kv" } });
    expect([status, said]).toEqual([1, expect.stringContaining('exports.McpObject has storage = "legacy-kv"')]);
    expect(said).toContain('write storage = "sqlite"');
  });

  test("reports a class that the main module does not export", async () => {
    const { said } = await checkExports(CLASS, { McpObject: SQLITE, Missing: SQLITE });
    expect(said).toContain("The entry exports names the class Missing, which index.ts does not export.");
  });
});

test("for a project with cloudflare.config.ts check-config reports that it cannot read the file, and what to check", async () => {
  const own = mkdtempSync(join(tmpdir(), "mcp-edge-cf-"));
  writeFileSync(join(own, "cloudflare.config.ts"), "export default {};");
  const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
  expect(await checkConfig(own, {})).toBe(2);
  expect(error.mock.calls[0]?.[0]).toContain("is configured by cloudflare.config.ts, which this command cannot read");
  rmSync(own, { recursive: true });
});

test("a class without SQLite that was deleted and then created again with SQLite is not reported", async () => {
  const migrations = [
    { tag: "v1", new_classes: ["McpObject"] },
    { tag: "v2", deleted_classes: ["McpObject"] },
    { tag: "v3", new_sqlite_classes: ["McpObject"] },
  ];
  expect(await checkMigrations(CLASS, migrations)).toEqual({ status: 0, said: COMPLETE });
});

test.each([
  ["export class Other extends DurableObject {}"],
  ["export default class Other extends DurableObject {}"],
  ['export { Third, Other } from "./other.ts"'],
  ["class Own {}\nexport { Own as Other }"],
  ["export const { McpObject: Other } = admin;"],
  ["export const Other = admin.McpObject;"],
  ['export * from "./other.ts"'],
])("a class exported by %j is not reported", async (line) => {
  expect(await check(`${CLASS}\n${line}`, "McpObject", "Other")).toEqual({ status: 0, said: COMPLETE });
});

test("an allowed origin without a scheme is reported, with the line to write", async () => {
  const options = 'allowedOrigins: ["*", "https://a.example", "app.example.com"]';
  const { status, said } = await check(
    `const app = edge(server, { ${options}, use: [durable()] });\n${CLASS}`,
    "McpObject",
  );
  expect(status).toBe(1);
  expect(said).toBe(
    '[origin-invalid] The origin "app.example.com" in allowedOrigins matches no web page, because it has no scheme.\nWrite in index.ts:\n\n  "https://app.example.com"\n',
  );
});

test.each([
  ["edge(server)"],
  ["edge<Env>(server)"],
  ["edge(server, { path: '/own', use: [authenticate((request) => null)] })"],
])("%s has no app.McpObject, so an exported class cannot extend it", async (call) => {
  const { status, said } = await check(`const app = ${call};\n${CLASS}`, "McpObject");
  expect(status).toBe(1);
  expect(said).toBe(
    '[part-missing] app.McpObject exists only if edge() has sessions or another part that needs objects. Otherwise the Worker fails with "Class extends value undefined".\nChange the call in index.ts to edge(server, { use: [durable()] }), or add durable() to its option use, with:\n\n  import { durable } from "mcp-edge/worker/durable";\n',
  );
});

test.each([
  ["edge(server, { use: [durable()] })"],
  ["edge(server, { use: [authenticate(() => { return null; }), keys()] })"],
  ["edge(server, { use: [tasks] })"],
  ["edge(server, options)"],
  ["edge(server); const other = edge(second, { use: [durable()] })"],
])("%s can have app.McpObject", async (call) => {
  expect(await check(`const app = ${call};\n${CLASS}`, "McpObject")).toEqual({ status: 0, said: COMPLETE });
});

const SERVER =
  'import { authorizationServer } from "mcp-edge/authorization-server";\nconst auth = authorizationServer({ name: "Own" });\nconst app = edge(server, { use: [auth] });\n';

test("an authorization server requires the exported class, and no other part", async () => {
  const keys = 'import { keys } from "mcp-edge/worker/durable";\n';
  expect(await check(keys + SERVER + CLASS, "McpObject")).toEqual({ status: 0, said: COMPLETE });
  expect((await check(keys + SERVER, "McpObject")).said).toContain("does not export the class McpObject");
});

test("an authorization server without sealing keys is reported", async () => {
  expect((await check(SERVER + CLASS, "McpObject")).said).toContain("[keys-missing]");
});

test("a main module that only chooses the identity provider needs no other keys", async () => {
  const provider = 'import { github } from "mcp-edge/authorization-server";\nconst app = createApp(github({}));\n';
  expect(await check(provider + CLASS, "McpObject")).toEqual({ status: 0, said: COMPLETE });
});

test("a main module with development users is reported, because it would be deployed", async () => {
  const users = 'import { developmentUsers } from "mcp-edge/authorization-server/dev";\n';
  expect(await check(users + CLASS, "McpObject")).toEqual({
    status: 1,
    said: "[development-users] index.ts is the file that is deployed, and it imports mcp-edge/authorization-server/dev, which lets anyone sign in as any user. Import it only in another file, and pass that file to wrangler dev.\n",
  });
});
