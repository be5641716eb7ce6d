import { execFileSync, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
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
const runProgram = (...args: string[]) => runIn(folder, ...args);

async function runIn(place: string, ...args: string[]): Promise<{ code: number; text: string }> {
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
    return { code: await run([...args, place]), text: written.join("") };
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

describe("the configuration of a repository cannot run programs", () => {
  let proof: string;
  let program: string;
  beforeEach(() => {
    write("server.ts");
    git("init", "-q");
    proof = join(outside, "ran");
    program = join(folder, ".git/hook.sh");
    writeFileSync(program, `#!/bin/sh\ntouch ${proof}\ncat\n`, { mode: 0o755 });
  });

  /** Asks git what the migration asks it. */
  function askGit() {
    hasChanges(folder);
    readProject(folder);
    return spawnSync("test", ["-e", proof]).status === 0;
  }

  test("that watches files or filters them", () => {
    git("config", "core.fsmonitor", program);
    git("config", "filter.evil.clean", program);
    write(".gitattributes", "*.ts filter=evil\n");
    expect(hasChanges(folder)).toBe(true);
    expect(askGit()).toBe(false);
  });

  test.each([
    ["whose filter has a name with an equals sign", "=x", "config"],
    ["in an included file", "", "included"],
    ["in the configuration of the work tree", "", "config.worktree"],
  ])("%s", (_, suffix, file) => {
    write(".gitattributes", `*.ts filter=evil${suffix}\n`);
    git("-c", "core.autocrlf=false", "add", "-A");
    git("commit", "-qm", "a", "--no-verify");
    git("config", "extensions.worktreeConfig", "true");
    git("config", "include.path", "included");
    const text = `[filter "evil${suffix}"]\n\tclean = ${program}\n\trequired = true\n`;
    writeFileSync(join(folder, ".git", file), text, { flag: "a" });
    // The same size and another time of change: git has to read the file to know whether it has changed.
    write("server.ts", SOURCE.replace("hi", "ho"));
    utimesSync(join(folder, "server.ts"), 1, 1);
    expect(askGit()).toBe(false);
  });

  test("that fetches what a partial clone lacks", () => {
    git("add", "-A");
    git("commit", "-qm", "a", "--no-verify");
    const tree = execFileSync("git", ["-C", folder, "rev-parse", "HEAD^{tree}"], { encoding: "utf8" }).trim();
    git("config", "core.repositoryFormatVersion", "1");
    git("config", "extensions.partialClone", "origin");
    git("config", "remote.origin.url", `ext::sh -c touch% ${proof}`);
    git("config", "remote.origin.promisor", "true");
    git("config", "protocol.ext.allow", "always");
    rmSync(join(folder, ".git/objects", tree.slice(0, 2), tree.slice(2)));
    expect(askGit()).toBe(false);
  });
});

describe("hostile names", () => {
  test("of files cannot control the terminal, in the report and in errors", async () => {
    const name = "a\u001b[2J\u202e.ts";
    write(name);
    writeFileSync(join(folder, `b${name}`), Buffer.from([0x61, 0, 0x62]));
    const { text } = await runProgram();
    expect(text).toContain("it is not text");
    for (const each of ["\u001b", "\u202e"]) expect(text).not.toContain(each);
    const moved = join(folder, `c${name}`);
    const missing = await runIn(moved);
    expect(missing.code).toBe(1);
    for (const each of ["\u001b", "\u202e"]) expect(missing.text).not.toContain(each);
  });

  test("as long as the file system allows are written", async () => {
    const name = `${"n".repeat(250)}.ts`;
    write(name);
    expect((await runProgram("--write")).text).toContain("Written.");
    expect(readFileSync(join(folder, name), "utf8")).toContain('from "mcp-edge"');
  });
});

test("configurations and references that leave the folder are not read, and nothing of the project runs", async () => {
  write("server.ts", `/// <reference path="../outside.ts" />\nimport "../../outside.ts";\n${SOURCE}`);
  const proof = join(outside, "ran");
  const script = `node -e "require('fs').writeFileSync('${proof}', '')"`;
  const scripts = Object.fromEntries(["preinstall", "install", "postinstall", "prepare"].map((each) => [each, script]));
  write("package.json", JSON.stringify({ scripts, dependencies: { "@modelcontextprotocol/sdk": "1.0.0" } }));
  write(
    "tsconfig.json",
    JSON.stringify({ extends: "../outside.json", compilerOptions: { plugins: [{ name: "./p.js" }] } }),
  );
  for (const each of ["p.js", "vite.config.js", "biome.js"])
    write(each, `require("fs").writeFileSync(${JSON.stringify(proof)}, "");`);
  expect((await runProgram("--write")).text).toContain("Written.");
  expect(readFileSync(join(folder, "package.json"), "utf8")).toContain('"mcp-edge"');
  expect(spawnSync("test", ["-e", proof]).status).toBe(1);
});
