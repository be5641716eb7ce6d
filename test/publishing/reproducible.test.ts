// @module-tag long
/** Two clones in different folders are packed into equal files, and nothing of a package runs when it is installed. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NODE } from "../oracle/node.ts";

const ROOT = join(import.meta.dirname, "../..");
const PLACE = mkdtempSync(join(tmpdir(), "mcp-edge-reproducible-"));
const CLONES = [join(PLACE, "a"), join(PLACE, "another folder/with a longer path")];
const NAMES = ["mcp-edge", "create-mcp-edge", "mcp-edge-migrate", "mcp-edge-openapi"];

beforeAll(() => {
  for (const clone of CLONES) {
    mkdirSync(dirname(clone), { recursive: true });
    const run = (program: string, ...args: readonly string[]) => {
      const env = { ...process.env, PATH: `${dirname(NODE)}:${process.env.PATH}` };
      execFileSync(program, args, {
        cwd: existsSync(clone) ? clone : PLACE,
        env,
        stdio: ["ignore", "ignore", "inherit"],
      });
    };
    run("git", "clone", "--quiet", ROOT, clone);
    symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"));
    run(NODE, "scripts/build.ts");
    const pack = ["pack", "--ignore-scripts", "--pack-destination", clone];
    run("npm", ...pack);
    run("npm", ...pack, "--workspace", "create-mcp-edge");
    run("npm", ...pack, "--workspace", "packages/migrate");
    run("npm", ...pack, "--workspace", "packages/openapi");
  }
}, 600_000);
afterAll(() => rmSync(PLACE, { recursive: true, force: true }));

const manifestOf = (folder: string) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

test.each(NAMES)("the packed files of %s are equal byte for byte", (name) => {
  const { version } = manifestOf(ROOT);
  const [one, other] = CLONES.map((clone) => readFileSync(join(clone, `${name}-${version}.tgz`)));
  expect(one?.length).toBeGreaterThan(500);
  expect(one?.equals(other ?? Buffer.alloc(0))).toBe(true);
});

test.each(NAMES)("%s as it is packed runs no script when it is installed", (name) => {
  const { version } = manifestOf(ROOT);
  const folder = join(PLACE, `unpacked-${name}`);
  mkdirSync(folder);
  const file = join(CLONES[0] ?? "", `${name}-${version}.tgz`);
  execFileSync("tar", ["-xzf", file, "--strip-components=1", "-C", folder]);
  const scripts = Object.keys(manifestOf(folder).scripts ?? {});
  // npm runs these for a package from a registry or a file. `prepare` runs only in a clone.
  expect(scripts.filter((script) => /^(pre|post)?install$|^preprepare$|^postprepare$/.test(script))).toEqual([]);
  // npm would run node-gyp for this file.
  expect(existsSync(join(folder, "binding.gyp"))).toBe(false);
});
