// @module-tag long
/** Which program `mcp-edge migrate` starts when its package is not installed, in folders that other people control. */
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEnvironment } from "../../src/cli/fetched/fetched-package.ts";
import { NODE } from "../oracle/node.ts";

const ROOT = join(import.meta.dirname, "../..");
const base = realpathSync(mkdtempSync(join(tmpdir(), "mcp-edge-fetched-")));
const project = join(base, "project");
/** A copy of the sources, next to which the package is not installed. */
const main = join(base, "copy/src/cli/main.ts");
afterAll(() => rmSync(base, { recursive: true, force: true }));

function writeProgram(path: string, script: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

beforeAll(() => {
  cpSync(join(ROOT, "src"), join(base, "copy/src"), { recursive: true });
  cpSync(join(ROOT, "package.json"), join(base, "copy/package.json"));
  // The dependencies, which include the package of this repository.
  symlinkSync(join(ROOT, "node_modules"), join(base, "node_modules"));
  writeProgram(join(base, "programs/npx"), 'echo "npx $*"; echo "in $PWD"; env | grep -i "^npm_" | sort');
  writeProgram(join(project, "node_modules/.bin/npx"), "echo hostile");
  writeFileSync(join(project, "package.json"), "{}");
});

test("npx is not a program of the project, and gets neither its folder nor the settings of its .npmrc", () => {
  const path = [join(project, "node_modules/.bin"), "node_modules/.bin", join(base, "programs"), "/usr/bin", "/bin"];
  const env = {
    PATH: path.join(delimiter),
    npm_execpath: "/usr/lib/node_modules/npm/bin/npm-cli.js",
    npm_config_registry: "http://127.0.0.1:9/",
    NPM_CONFIG_STRICT_SSL: "true",
    NODE_PATH: join(base, "node_modules"),
  };
  const args = [main, "migrate", "--yes", "--write", project];
  const { status, stdout } = spawnSync(NODE, args, { cwd: project, env, encoding: "utf8" });
  const [first = "", folder = "", ...variables] = stdout.trim().split("\n");
  const cwd = folder.slice("in ".length);
  expect(status).toBe(0);
  expect(first).toMatch(/^npx --yes --prefix=(\S+) mcp-edge-migrate@\d+\.\d+\.\d+ --write -- (\S+)$/);
  expect(first).toContain(`--prefix=${cwd} `);
  expect(cwd.startsWith(project)).toBe(false);
  expect(variables).toEqual(["NPM_CONFIG_STRICT_SSL=true"]);
});

test("settings that the user has exported are kept, unless npm has started the command", () => {
  const settings = { npm_config_registry: "https://registry.example.com/", HOME: "/home/user" };
  expect(createEnvironment(settings)).toEqual(settings);
  expect(createEnvironment({ ...settings, npm_execpath: "npm-cli.js" })).toEqual({ HOME: "/home/user" });
});

test("the programs of a project's packages, and folders that depend on the current one, are left out of PATH", () => {
  const kept = join(base, "programs");
  const folders = ["", ".", "bin", join(project, "node_modules/.bin"), `${join(project, "node_modules/.bin")}/`, kept];
  expect(createEnvironment({ PATH: folders.join(delimiter) })).toEqual({
    PATH: [dirname(process.execPath), kept].join(delimiter),
  });
});
