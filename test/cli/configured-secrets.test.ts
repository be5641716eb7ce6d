/** What is shown of an untrusted file of servers before it is used, and what of it is written elsewhere. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cli } from "./run.ts";

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "mcp-edge-strange-"));
});
afterEach(() => rmSync(cwd, { recursive: true }));

function run(args: readonly string[], mcpServers: object) {
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers }));
  const env = { HOME: cwd, XDG_CONFIG_HOME: "", CLAUDE_CONFIG_DIR: undefined, PRIVATE: "s3cret-of-mine" };
  return cli(args, { cwd, env });
}

/** A variable, as it stands in a file. */
const variable = (name: string) => `$\{${name}}`;

test("variables and the folder that a file sets for a command are shown before it runs, without the variables' values", async () => {
  const dice = { command: "node", args: ["dice.js"], env: { NODE_OPTIONS: "--import ./v4lue.js" }, cwd: "./elsewhere" };
  const { code, stderr } = await run(["list", "dice"], { dice });
  expect(stderr).toContain("  dice: node dice.js (sets the variables NODE_OPTIONS; runs in ./elsewhere)\n");
  expect(stderr).not.toContain("v4lue");
  expect(code).toBe(2);
});

test("a command is shown in full before it runs", async () => {
  const args = ["-c", `true ${"x".repeat(1_000)}; touch the-end`];
  const { stderr } = await run(["list", "dice"], { dice: { command: "sh", args } });
  expect(stderr).toContain("; touch the-end\n");
});

test("connect writes a configured server under its name, without values of variables or headers", async () => {
  const servers = {
    plain: { command: "uvx", args: ["dice"] },
    set: { command: "uvx", args: ["dice"], env: { TOKEN: "s3cret-in-file" } },
    filled: { command: "uvx", args: [variable("PRIVATE")] },
    remote: { url: "https://example.com/mcp", headers: { Authorization: "Bearer s3cret-in-file" } },
  };
  const plain = await run(["connect", "cursor", "plain", "--yes"], servers);
  expect(plain.code).toBe(0);
  expect(JSON.parse(readFileSync(join(cwd, ".cursor/mcp.json"), "utf8"))).toEqual({
    mcpServers: { plain: expect.objectContaining({ command: "uvx", args: ["dice"] }) },
  });
  for (const args of [["filled"], ["remote"], ["set", "--project"], ["filled", "--print"]]) {
    const { code, stdout, stderr } = await run(["connect", "vscode", ...args, "--yes"], servers);
    expect(stderr).toMatch(/ has variables or headers. Their values may be secrets/);
    expect(stdout + stderr).not.toContain("s3cret");
    expect(code).toBe(2);
  }
});
