// @module-tag long
/** The packed package in a separate project, as users have it, on each supported Node version. */
import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeOf } from "../harness/nodes.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");
const FOLDER = mkdtempSync(join(tmpdir(), "mcp-edge-project-"));
const PROJECT = join(FOLDER, "project");
const NODES = [20, 22, 24] as const;
/** Long enough to install two versions of Node, once, on a loaded machine. */
const INSTALL_MS = 180_000;

const SERVER = `
import { McpServer } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";

const server = new McpServer({ name: "separate", version: "1.0.0" });
server.tool("hello", {}, () => "Hello!");
const app = edge(server, { use: [durable()] });
export default app;
export class McpObject extends app.McpObject {}
`;

const WRANGLER_TOML = `
name = "separate"
main = "server.js"
compatibility_date = "2026-10-20"
compatibility_flags = ["enable_request_signal"]

[[migrations]]
tag = "v1"
new_sqlite_classes = ["McpObject"]
`;

const TEST = `
import { openStream, startWorker } from "mcp-edge/testing";

const worker = await startWorker({ wrangler: "wrangler.toml" });
const send = async (message, headers = {}) => {
  const answer = await openStream(worker.url("/mcp"), { body: { jsonrpc: "2.0", id: 1, ...message }, headers });
  await answer.end();
  return answer;
};
const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } };
const opened = await send({ method: "initialize", params });
const session = { "Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25" };
const called = await send({ method: "tools/call", params: { name: "hello", arguments: {} } }, session);
console.log(process.version, called.messages[0].result.content[0].text);
await worker.stop();
`;

let tarball: string;

/** Writes a project that depends on the packed package. */
function writeProject(folder: string, devDependencies: object): void {
  mkdirSync(folder, { recursive: true });
  const dependencies = { "mcp-edge": `file:${tarball}` };
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "separate", private: true, type: "module", dependencies, devDependencies }),
  );
  writeFileSync(join(folder, "server.js"), SERVER);
  writeFileSync(join(folder, "wrangler.toml"), WRANGLER_TOML);
  writeFileSync(join(folder, "test.js"), TEST);
}

const QUIETLY = ["--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"];

beforeAll(() => {
  const packed = execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", FOLDER], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const [{ filename = "" } = {}] = JSON.parse(packed) as { filename?: string }[];
  tarball = join(FOLDER, filename);
  writeProject(PROJECT, {});
  execFileSync("npm", ["install", ...QUIETLY], { cwd: PROJECT, stdio: "ignore" });
  // Uses this checkout's wrangler, which is in the supported range; the one npm would choose is a 150 MB download.
  for (const name of ["wrangler", "miniflare", "esbuild"]) {
    symlinkSync(join(ROOT, "node_modules", name), join(PROJECT, "node_modules", name));
  }
  for (const major of NODES) nodeOf(major);
}, INSTALL_MS);
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

test.each(NODES)(
  "mcp-edge/testing of the packed package runs a server on Node %d",
  { timeout: INSTALL_MS },
  async (major) => {
    const { stdout } = await run(nodeOf(major), ["test.js"], { cwd: PROJECT });
    expect(stdout).toMatch(new RegExp(`^v${major}\\.\\S+ Hello!\n$`));
  },
);

test.each(NODES)("npm on Node %d installs a recent enough wrangler", { timeout: INSTALL_MS }, async (major) => {
  const folder = join(FOLDER, `chosen-${major}`);
  // As in many projects: by itself npm on Node 20 chooses a version of this range that declares support for it.
  writeProject(folder, { wrangler: "^4.0.0" });
  const npm = join(execFileSync("npm", ["root", "--global"], { encoding: "utf8" }).trim(), "npm/bin/npm-cli.js");
  await run(nodeOf(major), [npm, "install", "--package-lock-only", ...QUIETLY], { cwd: folder });
  const { packages } = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as {
    packages: Record<string, { version: string }>;
  };
  const [, minor = ""] = /^4\.(\d+)\./.exec(packages["node_modules/wrangler"]?.version ?? "") ?? [];
  expect(Number(minor)).toBeGreaterThanOrEqual(155);
});

test.each([
  [
    20,
    { wrangler: "4.86.0", miniflare: "4.20260426.0" },
    'mcp-edge/testing requires the package "wrangler" in version 4.155.0 or newer, but found 4.86.0. Run: npm install --save-dev wrangler@^4.155.0 (npm warns that it requires Node 22, but mcp-edge/testing also works on Node 20',
  ],
  [
    24,
    {},
    'mcp-edge/testing requires the package "wrangler" in version 4.155.0 or newer, but found none. Run: npm install --save-dev wrangler@^4.155.0\n',
  ],
])("a missing or too old wrangler is reported (Node %d)", async (major, old, message) => {
  const folder = join(FOLDER, `old-${major}`);
  writeProject(folder, {});
  for (const name of ["mcp-edge", "hono", "@cfworker/json-schema", "eventsource-parser"]) {
    cpSync(join(PROJECT, "node_modules", name), join(folder, "node_modules", name), { recursive: true });
  }
  for (const [name, version] of Object.entries(old)) {
    const place = join(folder, "node_modules", name);
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, "package.json"), JSON.stringify({ name, version, main: "index.js" }));
    writeFileSync(join(place, "index.js"), "");
  }
  const failed = run(nodeOf(major), ["test.js"], { cwd: folder });
  await expect(failed).rejects.toMatchObject({ stderr: expect.stringContaining(message) });
});
