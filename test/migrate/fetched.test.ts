// @module-tag long
/** `mcp-edge migrate` without the package: it is fetched with npx, here from a registry in this process, and started. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { NODE } from "../oracle/node.ts";
import { type Ran, runProgram } from "./fetched.ts";

const ROOT = join(import.meta.dirname, "../..");
const PACKAGE = join(ROOT, "packages/migrate");
/** What the package and its parser need at run time. */
const BUNDLED = [
  "ts-morph",
  "@ts-morph/common",
  "code-block-writer",
  "minimatch",
  "brace-expansion",
  "balanced-match",
  "path-browserify",
  "tinyglobby",
  "fdir",
  "picomatch",
];
const SOURCE =
  'import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";\nexport const server = new McpServer({ name: "a", version: "1" });\n';

let work: string;
let registry: Server;
let requested: string[];
beforeAll(async () => {
  work = realpathSync(mkdtempSync(join(tmpdir(), "fetched-")));
  install();
  registry = await serve(pack());
}, 60_000);
afterAll(() => {
  registry?.close();
  rmSync(work, { recursive: true, force: true });
});

let project: string;
beforeEach(() => {
  requested = [];
  project = join(work, "project");
  mkdirSync(project);
  writeFileSync(join(project, "server.ts"), SOURCE);
});
afterEach(() => rmSync(project, { recursive: true, force: true }));

/** Installs mcp-edge without mcp-edge-migrate. */
function install(): void {
  const modules = join(work, "installed/node_modules");
  mkdirSync(join(modules, "mcp-edge"), { recursive: true });
  for (const each of ["bin", "package.json"])
    cpSync(join(ROOT, each), join(modules, "mcp-edge", each), { recursive: true });
  for (const each of readdirSync(join(ROOT, "dist"), { withFileTypes: true })) {
    if (/^(site|migrated-|project-)/.test(each.name)) continue;
    cpSync(join(ROOT, "dist", each.name), join(modules, "mcp-edge/dist", each.name), { recursive: true });
  }
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { dependencies: object };
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  }
}

/** Packs the package with its dependencies, so that the registry has to serve only one file. */
function pack(): { manifest: { name: string; version: string }; tarball: Buffer } {
  const folder = join(work, "packed");
  for (const each of ["bin", "dist", "README.md"]) cpSync(join(PACKAGE, each), join(folder, each), { recursive: true });
  for (const name of BUNDLED) {
    const from = join(ROOT, "node_modules", name);
    cpSync(from, join(folder, "node_modules", name), { recursive: true, filter: (path) => !path.endsWith(".d.ts") });
  }
  const manifest = {
    ...JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")),
    bundleDependencies: ["ts-morph"],
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  const listed = execFileSync("npm", ["pack", "--json", "--ignore-scripts"], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [{ filename }] = JSON.parse(listed) as [{ filename: string }];
  return { manifest, tarball: readFileSync(join(folder, filename)) };
}

async function serve({ manifest, tarball }: ReturnType<typeof pack>): Promise<Server> {
  const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
  const server = createServer((request, response) => {
    requested.push(request.url ?? "");
    if (request.url === "/package.tgz") return response.end(tarball);
    if (request.url !== `/${manifest.name}`) return response.writeHead(404).end("{}");
    const dist = { tarball: `http://${request.headers.host}/package.tgz`, integrity };
    const versions = { [manifest.version]: { ...manifest, dist } };
    return response.end(JSON.stringify({ name: manifest.name, "dist-tags": { latest: manifest.version }, versions }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** Runs the installed command in the folder of the project, as its author would. */
function migrate(...args: readonly string[]): Promise<Ran> {
  const temporary = join(work, "tmp");
  mkdirSync(temporary, { recursive: true });
  return runProgram(
    [NODE, join(work, "installed/node_modules/mcp-edge/bin/mcp-edge.js"), "migrate", ...args],
    project,
    {
      TMPDIR: temporary,
      HOME: join(work, "home"),
      NPM_CONFIG_CACHE: join(work, "cache"),
      NPM_CONFIG_REGISTRY: `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`,
      NPM_CONFIG_UPDATE_NOTIFIER: "false",
      NPM_CONFIG_AUDIT: "false",
    },
  );
}

/** Puts a package with the name and the version of the real one into a folder. It leaves a file when it runs. */
function plant(folder: string, proof: string): void {
  const planted = join(folder, "node_modules/mcp-edge-migrate");
  mkdirSync(join(planted, "bin"), { recursive: true });
  mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
  cpSync(join(PACKAGE, "package.json"), join(planted, "package.json"));
  const program = `#!/usr/bin/env node\nrequire("fs").writeFileSync(${JSON.stringify(proof)}, "");\n`;
  for (const each of [join(planted, "bin/mcp-edge-migrate.js"), join(folder, "node_modules/.bin/mcp-edge-migrate")])
    writeFileSync(each, program, { mode: 0o755 });
}

test("without --yes and without a terminal, the package is not fetched", async () => {
  const ran = await migrate("--write", project);
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining("Add --yes to fetch it.")]);
  expect(requested).toEqual([]);
  expect(readFileSync(join(project, "server.ts"), "utf8")).toBe(SOURCE);
});

test("with --yes, it is fetched in the version of mcp-edge, and migrates the folder", { timeout: 60_000 }, async () => {
  const ran = await migrate("--yes", "--write");
  expect(ran.stderr).toContain("is fetched with npx");
  expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining("Written. Next: npm install")]);
  expect(requested).toContain("/package.tgz");
  expect(readFileSync(join(project, "server.ts"), "utf8")).toContain('import { McpServer } from "mcp-edge";');
  expect(readdirSync(join(work, "tmp"))).toEqual([]);
});

test("packages and settings of the project, and of folders above the temporary one, are not used", {
  timeout: 60_000,
}, async () => {
  const proof = join(work, "ran");
  plant(project, proof);
  writeFileSync(join(project, ".npmrc"), "registry=http://127.0.0.1:1/\nscript-shell=/bin/false\n");
  writeFileSync(
    join(project, "package.json"),
    JSON.stringify({ name: "a", scripts: { postinstall: `touch ${proof}` } }),
  );
  mkdirSync(join(work, "tmp"), { recursive: true });
  plant(join(work, "tmp"), proof);
  writeFileSync(join(work, "tmp/package.json"), "{}");
  const ran = await migrate("--yes", "--write", ".");
  expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining("Written.")]);
  expect(readdirSync(work)).not.toContain("ran");
});

test("the exit code of the package is that of the command", { timeout: 60_000 }, async () => {
  const ran = await migrate("--yes", join(project, "server.ts"));
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining("is not a folder.")]);
});
