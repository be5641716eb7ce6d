import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { KeyRing } from "../../src/core/key-ring.ts";
import { NODE } from "../oracle/node.ts";

const CLI = join(import.meta.dirname, "../../src/node/cli.ts");
const folder = mkdtempSync(join(tmpdir(), "mcp-edge-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...args: string[]) => spawnSync(NODE, [CLI, ...args], { encoding: "utf8" });

test("keys prints a key that seals, another one each time", async () => {
  const [one, two] = [run("keys"), run("keys")];
  expect([one.status, two.status]).toEqual([0, 0]);
  expect(one.stdout).not.toBe(two.stdout);
  const ring = await KeyRing.parse(one.stdout, "test");
  expect(await ring.open(await ring.seal(new Uint8Array([1, 2, 3])))).toEqual(new Uint8Array([1, 2, 3]));
});

test("keys --file adds a key once, keeps what is there, and lets nobody else read it", () => {
  const file = join(folder, ".dev.vars");
  writeFileSync(file, "OTHER=1", { mode: 0o600 });
  expect(run("keys", "--file", file).status).toBe(0);
  const first = readFileSync(file, "utf8");
  expect(first).toMatch(/^OTHER=1\nMCP_KEYS="[A-Za-z0-9_-]{43}"\n$/);
  expect(run("keys", "--file", file).status).toBe(0);
  expect(readFileSync(file, "utf8")).toBe(first);
  const fresh = join(folder, "fresh");
  run("keys", "--file", fresh);
  expect(statSync(fresh).mode & 0o077).toBe(0);
});

test.each([[[]], [["nonsense"]], [["keys", "--nonsense"]]])("%j shows how it is used and exits 2", (args) => {
  const { status, stderr } = run(...args);
  expect(status).toBe(2);
  expect(stderr).toContain("mcp-edge keys");
});
