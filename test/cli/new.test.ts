/** `mcp-edge new`: with options, in a terminal, interrupted, and where there is something already. */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { NODE } from "../oracle/node.ts";
import { KEYS, Screen } from "./pty.ts";
import { CLI, cli } from "./run.ts";

const ROOT = join(import.meta.dirname, "../..");
const TEMPLATES = readdirSync(join(ROOT, "dist/templates"));
const base = mkdtempSync(join(tmpdir(), "mcp-edge-new-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));

/** An empty folder for each test. */
let place: string;
let count = 0;
beforeEach(() => {
  place = join(base, String(count++));
  mkdirSync(place);
});

const create = (...args: readonly string[]) => cli(["new", ...args], { cwd: place });
const read = (...path: string[]) => readFileSync(join(place, ...path), "utf8");

/** The files in a folder, without the files of git. */
function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes(".git"))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

test.each(TEMPLATES)("new makes a project from %s, with its name everywhere", async (template) => {
  const ran = await create("my-own-server", "--template", template, "--no-install");
  expect([ran.code, ran.stdout]).toEqual([0, ""]);
  expect(ran.stderr).toContain(`Created my-own-server from the template ${template}.`);
  expect(ran.stderr).toContain("cd my-own-server\n  npm install\n");
  const project = join(place, "my-own-server");
  const originals = spawnSync("git", ["ls-files", "."], { cwd: join(ROOT, "templates", template), encoding: "utf8" });
  // AGENTS.md is the same for all templates, so it is not in their folders.
  expect(filesOf(project)).toEqual([...originals.stdout.trim().split("\n"), "AGENTS.md"].sort());
  const manifest = JSON.parse(read("my-own-server", "package.json"));
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  expect(manifest).toMatchObject({ name: "my-own-server", dependencies: { "mcp-edge": `^${version}` } });
  expect(read("my-own-server", "wrangler.toml")).toMatch(/^name = "my-own-server"$/m);
  for (const file of readdirSync(project).filter((each) => each.startsWith("wrangler."))) {
    expect(read("my-own-server", file), file).not.toMatch(new RegExp(`^name = "${template}["-]`, "m"));
  }
  expect(read("my-own-server", "README.md")).toMatch(/^# my-own-server$/m);
  const instructions = read("my-own-server", "AGENTS.md");
  expect(instructions).toMatch(/^# my-own-server$/m);
  const { description } = JSON.parse(readFileSync(join(ROOT, "templates", template, "package.json"), "utf8"));
  expect(instructions).toContain(`made with mcp-edge. ${description}.`);
  const scripts = [...instructions.matchAll(/`npm (?:run )?(\w+)`/g)].map(([, name = ""]) => name);
  expect(scripts).toEqual(expect.arrayContaining(["check", "test", "start"]));
  expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(scripts));
  const source = filesOf(join(project, "src")).map((file) => read("my-own-server", "src", file));
  expect(source.join("\n")).toContain('name: "my-own-server"');
  expect(source.join("\n")).not.toContain(`name: "${template}"`);
  expect(readdirSync(project)).toContain(".git");
  // The folder in which it was built is gone.
  expect(readdirSync(place)).toEqual(["my-own-server"]);
});

test("new can use another --name than the folder's and an empty folder, and makes no repository in another repository", async () => {
  spawnSync("git", ["init", "--quiet"], { cwd: place });
  mkdirSync(join(place, "Work Here"));
  const ran = await create("Work Here", "--name", "dice", "--template", "weather", "--no-install");
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("Created dice")]);
  expect(JSON.parse(read("Work Here", "package.json")).name).toBe("dice");
  expect(readdirSync(join(place, "Work Here"))).not.toContain(".git");
});

test("--package accepts a version, or a file relative to the current folder", async () => {
  writeFileSync(join(place, "own.tgz"), "");
  await create("a", "--template", "weather", "--no-install", "--no-git", "--package", "own.tgz");
  await create("b", "--template", "weather", "--no-install", "--no-git", "--package", "1.2.3");
  const specs = ["a", "b"].map((name) => JSON.parse(read(name, "package.json")).dependencies["mcp-edge"]);
  expect(specs).toEqual(["file:../own.tgz", "1.2.3"]);
  expect(readdirSync(join(place, "a"))).not.toContain(".git");
});

test.each([
  [["My Server", "--template", "weather"], "For example: my-server To keep the name"],
  [["über_", "--template", "weather"], "For example: uber"],
  [["-x-"], "unknown option"],
  [["x".repeat(64), "--template", "weather"], "1 to 63 lowercase letters"],
  [["ok", "--name", "Not OK", "--template", "weather"], "For example: not-ok"],
  [["ok", "--template", "wether"], 'Did you mean "weather"?'],
  [["ok", "--template", "weather", "--package", "none.tgz"], "nor a file that exists"],
  [["ok"], "There is no terminal to ask in. Add --template with one of: "],
  [[], "Name the folder to create"],
])("new with %j is a wrong command line, and creates nothing", async (args, text) => {
  const { code, stderr } = await create(...args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
  expect(readdirSync(place)).toEqual([]);
});

test("an existing folder or file is not touched", async () => {
  mkdirSync(join(place, "full"));
  writeFileSync(join(place, "full/notes.txt"), "mine");
  writeFileSync(join(place, "file"), "mine");
  const full = await create("full", "--template", "weather");
  expect([full.code, full.stderr]).toEqual([2, expect.stringContaining("exists and is not empty")]);
  const file = await create("file", "--template", "weather");
  expect([file.code, file.stderr]).toEqual([2, expect.stringContaining("exists and is not a folder")]);
  expect(filesOf(place)).toEqual(["file", "full/notes.txt"]);
  expect([read("full/notes.txt"), read("file")]).toEqual(["mine", "mine"]);
});

/** A registry that responds to every request in the same way, or never. */
async function registry(status: number | undefined) {
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const server = createServer((_, response) => {
    asked();
    if (status !== undefined) response.writeHead(status, { "Content-Type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const env = { npm_config_registry: url, npm_config_cache: join(place, "../cache"), npm_config_fetch_retries: "0" };
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { env, isAsked, [Symbol.dispose]: close };
}

test("if npm install fails, the project is kept, and the reason and the next command are shown", {
  tags: "long",
}, async () => {
  using empty = await registry(404);
  const ran = await cli(["new", "kept", "--template", "weather"], { cwd: place, env: empty.env });
  expect(ran.code).toBe(4);
  expect(ran.stderr).toContain("npm install failed:");
  expect(ran.stderr).toContain("--package mcp-edge.tgz");
  expect(ran.stderr).toContain("cd kept\n  npm install\n");
  expect(filesOf(place)).toContain("kept/src/index.ts");
});

test("in a terminal, the folder is typed and the template chosen with the arrow keys", async () => {
  using screen = new Screen(["new", "--no-install"], {}, [NODE, CLI], place);
  await screen.shows("Which folder should be created?");
  screen.press(...Array.from("my-server", () => "\u007f"), "Wrong Name", KEYS.enter);
  await screen.shows("For example: wrong-name");
  screen.press(...Array.from("Wrong Name", () => "\u007f"), "dice", KEYS.enter);
  await screen.shows("Which template?");
  const last = TEMPLATES.at(-1) ?? "";
  // Up from the first choice leads to the last one.
  screen.press("\u001b[A");
  await screen.shows(`● ${last}`);
  screen.press(KEYS.enter);
  expect(await screen.ended()).toBe(0);
  expect(screen.text).toContain(`Created dice from the template ${last}.`);
  expect(existsSync(join(place, "dice/package.json"))).toBe(true);
});

test("in a terminal a folder with content is refused while it is typed, and is not changed", async () => {
  mkdirSync(join(place, "full"));
  writeFileSync(join(place, "full/notes.txt"), "mine");
  using screen = new Screen(["new"], {}, [NODE, CLI], place);
  await screen.shows("Which folder should be created?");
  screen.press(...Array.from("my-server", () => "\u007f"), "full", KEYS.enter);
  await screen.shows("exists and is not empty");
  screen.press(KEYS.ctrlC);
  expect(await screen.ended()).toBe(130);
  expect([filesOf(place), read("full/notes.txt")]).toEqual([["full/notes.txt"], "mine"]);
});

test("in a terminal --help fits its width and creates nothing, and a wrong name can be corrected", async () => {
  using help = new Screen(["new", "--help"], {}, [NODE, CLI], place);
  expect(await help.ended()).toBe(0);
  expect(help.text).toMatch(/^Usage: mcp-edge new \[options\] \[folder\]\n/);
  expect(help.text).toContain("-t, --template <name>");
  for (const template of TEMPLATES) expect(help.text).toMatch(new RegExp(`^ {2}${template} +[A-Z]`, "m"));
  expect(help.text.split("\n").filter((line) => line.length > 100)).toEqual([]);
  for (const [args, text] of [
    [["nwe"], 'Did you mean "new"?'],
    [["new", "dice", "--template", "wether"], 'Did you mean "weather"?'],
  ] as const) {
    using wrong = new Screen(args, {}, [NODE, CLI], place);
    expect([await wrong.ended(), wrong.text]).toEqual([2, expect.stringContaining(text)]);
  }
  expect(readdirSync(place)).toEqual([]);
});

test.each([
  ["Ctrl-C", "Which template?", ["dice"], KEYS.ctrlC, 130],
  ["Escape", "Which template?", ["dice"], KEYS.escape, 5],
  ["Ctrl-C", "Which folder should be created?", [], KEYS.ctrlC, 130],
])("%s at the question %j creates nothing", async (_, question, args, key, code) => {
  using screen = new Screen(["new", ...args], {}, [NODE, CLI], place);
  await screen.shows(question);
  screen.press(key);
  expect(await screen.ended()).toBe(code);
  expect(readdirSync(place)).toEqual([]);
});

test("Ctrl-C during the installation removes the project and ends npm", { tags: "long" }, async () => {
  using silent = await registry(undefined);
  using screen = new Screen(["new", "dice", "--template", "weather"], silent.env, [NODE, CLI], place);
  await screen.shows("installing the dependencies");
  await silent.isAsked;
  expect(readdirSync(place)).toEqual([expect.stringMatching(/^\.dice-/)]);
  screen.press(KEYS.ctrlC);
  expect(await screen.ended()).toBe(130);
  expect(readdirSync(place)).toEqual([]);
});

test("npx finds the Node of another project first, and the new project installs one if the user's own is too old", async () => {
  // npx puts the programs of the folder in which it runs before the user's programs.
  const npx = join(place, "clone/node_modules/.bin");
  const own = join(place, "own");
  const node20 = join(place, "node-20");
  writeFileSync(node20, "#!/bin/sh\necho v20.19.0\n", { mode: 0o755 });
  const manifestWith = async (name: string, nodes: Readonly<Record<string, string>>) => {
    for (const [folder, node] of Object.entries(nodes)) {
      mkdirSync(folder, { recursive: true });
      symlinkSync(node, join(folder, "node"));
    }
    const env = { PATH: [...Object.keys(nodes), process.env.PATH].join(delimiter) };
    await cli(["new", name, "--template", "weather", "--no-install"], { cwd: place, env });
    return JSON.parse(read(name, "package.json"));
  };
  const old = await manifestWith("old", { [npx]: NODE, [own]: node20 });
  expect(old.devDependencies.node).toMatch(/^\^24\./);
  rmSync(join(own, "node"));
  rmSync(join(npx, "node"));
  const recent = await manifestWith("recent", { [npx]: node20, [own]: NODE });
  expect(recent.devDependencies.node).toBeUndefined();
});

test("npm create mcp-edge is the same command", { tags: "long" }, () => {
  const program = join(ROOT, "create-mcp-edge/index.js");
  const ran = spawnSync(NODE, [program, "dice", "--template", "weather", "--no-install"], {
    cwd: place,
    encoding: "utf8",
  });
  expect([ran.status, ran.stderr]).toEqual([0, expect.stringContaining("Created dice from the template weather.")]);
  const [own, main] = ["create-mcp-edge/package.json", "package.json"].map((file) =>
    JSON.parse(readFileSync(join(ROOT, file), "utf8")),
  );
  expect([own.version, own.dependencies["mcp-edge"]]).toEqual([main.version, `^${main.version}`]);
});
