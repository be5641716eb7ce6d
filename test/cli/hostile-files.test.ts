/** Files of an untrusted folder: pipes without a writer, and files that are larger than the memory. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { initialized, result, scripted } from "../client/scripted.ts";
import { cli } from "./run.ts";

const TOO_LARGE = 3 * 1024 ** 3;
let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "mcp-edge-hostile-"));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const run = (args: readonly string[]) =>
  cli(args, { cwd, env: { HOME: cwd, XDG_CONFIG_HOME: "", CLAUDE_CONFIG_DIR: undefined } });

function write(name: string, kind: "pipe" | "huge"): void {
  const path = join(cwd, name);
  if (kind === "pipe") return void execFileSync("mkfifo", [path]);
  writeFileSync(path, "");
  truncateSync(path, TOO_LARGE);
}

const PROBLEM = { pipe: / is not a file\./, huge: / has 3221225472 bytes, but the maximum is 16777216\./ } as const;
const KINDS = ["pipe", "huge"] as const;

test.each(KINDS)(
  "a host's file that is a %s is reported, and the server's name is searched without it",
  async (kind) => {
    write(".mcp.json", kind);
    expect((await run(["servers", "--no-try"])).stdout).toMatch(PROBLEM[kind]);
    const { code, stderr } = await run(["list", "weather"]);
    expect(code).toBe(2);
    expect(stderr).toContain('No server is configured as "weather".');
    expect(stderr).toMatch(PROBLEM[kind]);
  },
);

test.each(KINDS)("a file to be replaced is refused if it is a %s", async (kind) => {
  await using server = await scripted(({ message, method }, response) => {
    if (method !== "POST") return response.writeHead(405).end();
    if (message?.id === undefined) return response.writeHead(202).end();
    return result(response, message.id, initialized("2025-11-25", {}));
  });
  write("out", kind);
  const registry = ["--name", "io.github.ada/weather", "--url", "https://example.com/mcp"];
  for (const args of [
    ["types", server.url, "--out", "out"],
    ["server-json", server.url, "--out", "out", ...registry],
    ["server-json", server.url, "--out", "out", "--check"],
    ["skills", "--out", "out"],
  ]) {
    mkdirSync(join(cwd, "skills"), { recursive: true });
    const { code, stderr } = await run(args);
    expect(stderr).toMatch(PROBLEM[kind]);
    expect(code).toBe(2);
  }
});

test.each(KINDS)("package.json or wrangler configuration is refused if it is a %s", async (kind) => {
  for (const [name, args] of [
    ["package.json", ["connect", "cursor", "http://127.0.0.1:9/mcp", "--print"]],
    ["wrangler.toml", ["add", "d1", "--print"]],
    ["wrangler.toml", ["check-config"]],
  ] as const) {
    write(name, kind);
    if (args[0] === "add") writeFileSync(join(cwd, "package.json"), "{}");
    const { code, stderr } = await run(args);
    expect(stderr).toMatch(PROBLEM[kind]);
    expect(code).toBe(2);
    rmSync(join(cwd, name));
  }
});

test("check-config reports that the named file does not exist, and that wrangler is not installed", async () => {
  const absent = await run(["check-config", "--config", "no-such-file.toml"]);
  expect(absent.stderr).toMatch(/^mcp-edge: no-such-file\.toml cannot be read: ENOENT/);
  writeFileSync(join(cwd, "wrangler.toml"), 'name = "x"\n');
  const { code, stderr } = await run(["check-config"]);
  expect(code).toBe(2);
  expect(stderr).toBe(
    "mcp-edge: wrangler.toml cannot be read: wrangler is not installed in this project. Run: npm install --save-dev wrangler\n",
  );
});
