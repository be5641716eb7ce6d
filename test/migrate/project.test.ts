// @module-tag long
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FILE_BYTES_MAX, FILES_MAX, readProject, writeChanges } from "../../packages/migrate/src/files.ts";
import { hasChanges } from "../../packages/migrate/src/git.ts";
import { run } from "../../packages/migrate/src/main.ts";

const SOURCE =
  'import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";\nexport const server = new McpServer({ name: "a", version: "1" });\nserver.tool("t", async () => ({ content: [] }));\n';

let folder: string;
let outside: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "migrate-")));
  outside = realpathSync(mkdtempSync(join(tmpdir(), "outside-")));
});
afterEach(() => {
  for (const each of [folder, outside]) rmSync(each, { recursive: true, force: true });
});

const write = (path: string, text = SOURCE) => writeFileSync(join(folder, path), text);
const git = (...args: string[]) =>
  execFileSync("git", ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
    stdio: "pipe",
  });

/** Runs the program and returns its output. */
async function runProgram(...args: string[]): Promise<{ code: number; text: string }> {
  const written: string[] = [];
  const { stdout, stderr } = process;
  const saved = [stdout.write, stderr.write] as const;
  const keep = (chunk: string | Uint8Array) => {
    written.push(String(chunk));
    return true;
  };
  stdout.write = keep as typeof stdout.write;
  stderr.write = keep as typeof stderr.write;
  try {
    return { code: await run([...args, folder]), text: written.join("") };
  } finally {
    [stdout.write, stderr.write] = saved;
  }
}

describe("the files that are read", () => {
  test("links are not followed, whether they leave the folder or not", () => {
    write("server.ts");
    writeFileSync(join(outside, "secret.ts"), SOURCE);
    symlinkSync(join(outside, "secret.ts"), join(folder, "link.ts"));
    symlinkSync(outside, join(folder, "linked"));
    symlinkSync(join(folder, "server.ts"), join(folder, "own.ts"));
    git("init", "-q");
    git("add", "-A");
    const { files, skipped } = readProject(folder);
    expect(files.map(({ path }) => path)).toEqual(["server.ts"]);
    expect(skipped).toEqual([
      { path: "link.ts", reason: "it is a link that leaves the folder" },
      { path: "own.ts", reason: "it is a link" },
    ]);
  });

  test("node_modules, builds and what git ignores are left out", () => {
    for (const each of ["node_modules/a", "dist", "generated"]) mkdirSync(join(folder, each), { recursive: true });
    for (const each of ["node_modules/a/index.ts", "dist/index.js", "generated/server.ts", "server.ts"]) write(each);
    write(".gitignore", "generated\n");
    git("init", "-q");
    expect(readProject(folder).files.map(({ path }) => path)).toEqual(["server.ts"]);
  });

  test("a file that is too large, not text or not UTF-8 is reported and left out", () => {
    write("large.ts", " ".repeat(FILE_BYTES_MAX + 1));
    writeFileSync(join(folder, "binary.ts"), Buffer.from([0x61, 0, 0x62]));
    writeFileSync(join(folder, "latin.ts"), Buffer.from([0x2f, 0x2f, 0xe9]));
    const { files, skipped } = readProject(folder);
    expect(files).toEqual([]);
    expect(skipped.map(({ path }) => path)).toEqual(["binary.ts", "large.ts", "latin.ts"]);
  });

  test("a folder with too many files is refused", () => {
    for (let at = 0; at <= FILES_MAX; at += 1) write(`f${at}.ts`, "");
    expect(() => readProject(folder)).toThrow(`at most ${FILES_MAX} are read`);
  });
});

describe("what is written", () => {
  test("a file that has changed since it was read is not overwritten", () => {
    write("server.ts", "new text");
    expect(() => writeChanges(folder, [{ path: "server.ts", before: SOURCE, after: "migrated" }])).toThrow(
      "has changed meanwhile",
    );
    expect(readFileSync(join(folder, "server.ts"), "utf8")).toBe("new text");
  });

  test("a file that has become a link is not written through", () => {
    writeFileSync(join(outside, "server.ts"), SOURCE);
    symlinkSync(join(outside, "server.ts"), join(folder, "server.ts"));
    expect(() => writeChanges(folder, [{ path: "server.ts", before: SOURCE, after: "migrated" }])).toThrow();
    expect(readFileSync(join(outside, "server.ts"), "utf8")).toBe(SOURCE);
  });

  test("without a terminal, changes are only shown", async () => {
    write("server.ts");
    const { code, text } = await runProgram();
    expect(code).toBe(0);
    expect(text).toContain(
      '- import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";\n+ import { McpServer } from "mcp-edge";',
    );
    expect(text).toContain("Nothing was written. Add --write");
    expect(readFileSync(join(folder, "server.ts"), "utf8")).toBe(SOURCE);
  });

  test("--write refuses a repository with uncommitted changes, unless --force is given", async () => {
    write("server.ts");
    git("init", "-q");
    expect(await runProgram("--write")).toMatchObject({
      code: 1,
      text: expect.stringContaining("uncommitted changes"),
    });
    expect(readFileSync(join(folder, "server.ts"), "utf8")).toBe(SOURCE);
    expect((await runProgram("--write", "--force")).text).toContain("Written.");
    expect(readFileSync(join(folder, "server.ts"), "utf8")).toContain('from "mcp-edge"');
    git("add", "-A");
    git("commit", "-qm", "a", "--no-verify");
    expect((await runProgram("--write")).text).toContain("Nothing to migrate was found.");
  });

  test("what a source prints cannot control the terminal", async () => {
    write("server.ts", `// \u001b[2J\u202e red\n${SOURCE}`);
    const { text } = await runProgram();
    expect(text).not.toContain("\u001b");
    expect(text).not.toContain("\u202e");
  });

  test("an unknown option is refused with exit code 2", async () => {
    expect(await runProgram("--delete-all")).toMatchObject({ code: 2 });
  });
});

test("the configuration of a repository cannot run programs", () => {
  write("server.ts");
  git("init", "-q");
  const proof = join(outside, "ran");
  writeFileSync(join(folder, ".git/hook.sh"), `#!/bin/sh\ntouch ${proof}\n`, { mode: 0o755 });
  git("config", "core.fsmonitor", join(folder, ".git/hook.sh"));
  git("config", "filter.evil.clean", join(folder, ".git/hook.sh"));
  write(".gitattributes", "*.ts filter=evil\n");
  expect(hasChanges(folder)).toBe(true);
  readProject(folder);
  expect(spawnSync("test", ["-e", proof]).status).toBe(1);
});
