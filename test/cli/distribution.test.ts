// @module-tag long
/** `mcp-edge mcpb` and `mcp-edge server-json`: what a server is published with. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { stdio } from "../../src/node/index.ts";
import { NODE } from "../oracle/node.ts";
import { isAlive } from "./processes.ts";
import { KEYS, Screen } from "./pty.ts";
import { cli, cliProcess } from "./run.ts";

/** What a host replaces by the folder of the bundle. */
const DIRNAME = `$\{__dirname}`;
const ROOT = join(import.meta.dirname, "../..");
let project: string;
beforeAll(() => {
  // Inside the package, so that its modules can import the package by name.
  project = mkdtempSync(join(ROOT, "dist/project-"));
  mkdirSync(join(project, "src"));
  const server = `
    import { McpServer } from "mcp-edge";
    import { serveStdio } from "mcp-edge/node";
    const server = new McpServer({ name: "dice", title: "Dice", version: "2.1.0", instructions: "Rolls dice. Ask." });
    server.tool("roll", { description: "Rolls dice" }, () => "4");
    server.tool("cheat", {}, () => "6");
    server.prompt("rules", {}, () => "Explain.");
    await serveStdio(server);`;
  writeFileSync(join(project, "src/stdio.ts"), server);
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

const write = (manifest: object) => writeFileSync(join(project, "package.json"), JSON.stringify(manifest));
const run = (...args: readonly string[]) => (args[0] === "mcpb" ? cliProcess : cli)(args, { cwd: project });
const PROJECT = {
  name: "@ada/dice",
  version: "1.0.0",
  license: "MIT",
  author: "Ada <ada@example.com>",
  type: "module",
};

test("mcpb packs one file that runs on its own, with a manifest of its tools", { timeout: 60_000 }, async () => {
  write(PROJECT);
  const ran = await run("mcpb");
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringMatching(/^dice-1\.0\.0\.mcpb: 2 tools, [\d.]+ KiB\n$/)]);
  const elsewhere = mkdtempSync(join(project, "installed-"));
  execFileSync(NODE, ["-e", UNZIP, join(project, "dice-1.0.0.mcpb"), elsewhere]);
  const manifest = JSON.parse(readFileSync(join(elsewhere, "manifest.json"), "utf8"));
  expect(manifest).toEqual({
    manifest_version: "0.3",
    name: "dice",
    display_name: "Dice",
    version: "1.0.0",
    description: "Rolls dice.",
    author: { name: "Ada" },
    license: "MIT",
    server: {
      type: "node",
      entry_point: "server/index.mjs",
      mcp_config: { command: "node", args: [`${DIRNAME}/server/index.mjs`], env: {} },
    },
    tools: [{ name: "roll", description: "Rolls dice" }, { name: "cheat" }],
    prompts_generated: true,
    compatibility: { runtimes: { node: ">=20" } },
  });
  // A host starts it as the manifest says, in a folder without packages.
  const args = manifest.server.mcp_config.args.map((arg: string) => arg.replace(DIRNAME, elsewhere));
  const client = await connect(stdio({ command: NODE, args, cwd: "/" }), { name: "host", version: "1.0.0" });
  const { content } = await client.callTool("roll");
  await client.close();
  expect(content).toEqual([{ type: "text", text: "4" }]);
  // The same project gives the same bytes, wherever and whenever it is packed.
  const first = readFileSync(join(project, "dice-1.0.0.mcpb"));
  await cliProcess(["mcpb", "--out", "again.mcpb"], { cwd: project, env: { TZ: "Pacific/Auckland" } });
  expect(readFileSync(join(project, "again.mcpb")).equals(first)).toBe(true);
});

test("the manifest requires the Node version that package.json requires", async () => {
  write({ ...PROJECT, engines: { node: ">=22.18" } });
  await run("mcpb", "--out", "newer.mcpb");
  const unpacked = mkdtempSync(join(project, "newer-"));
  execFileSync(NODE, ["-e", UNZIP, join(project, "newer.mcpb"), unpacked]);
  const { compatibility } = JSON.parse(readFileSync(join(unpacked, "manifest.json"), "utf8"));
  expect(compatibility).toEqual({ runtimes: { node: ">=22.18" } });
});

/** Reads an archive by its directory, as unzip does; independent of the code that writes archives. */
const UNZIP = `
const { mkdirSync, readFileSync, writeFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const { crc32, inflateRawSync } = require("node:zlib");
const [, file, folder] = process.argv;
const bytes = readFileSync(file);
const end = bytes.lastIndexOf(Buffer.from("PK\\x05\\x06"));
let at = bytes.readUInt32LE(end + 16);
for (let count = bytes.readUInt16LE(end + 10); count > 0; count--) {
  if (bytes.readUInt32LE(at) !== 0x02014b50) throw new Error("no entry");
  const [crc, packed, size, name, offset] = [16, 20, 24].map((i) => bytes.readUInt32LE(at + i)).concat(bytes.readUInt16LE(at + 28), bytes.readUInt32LE(at + 42));
  const path = bytes.toString("utf8", at + 46, at + 46 + name);
  const start = offset + 30 + bytes.readUInt16LE(offset + 26) + bytes.readUInt16LE(offset + 28);
  if (bytes.toString("utf8", offset + 30, offset + 30 + name) !== path) throw new Error("other name");
  const content = inflateRawSync(bytes.subarray(start, start + packed));
  if (content.length !== size || crc32(content) !== crc) throw new Error("wrong sum");
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
  at += 46 + name;
}`;

test("Ctrl-C ends mcpb and the server that it has started, and removes the temporary folder", async () => {
  write(PROJECT);
  const temporary = mkdtempSync(join(project, "tmp-"));
  const slow = "for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => {}); setInterval(() => {}, 1_000);";
  writeFileSync(
    join(project, "src/slow.ts"),
    `import { writeFileSync } from "node:fs"; ${slow}
    writeFileSync(${JSON.stringify(join(temporary, "pid"))}, String(process.pid));`,
  );
  using screen = new Screen(["mcpb", "--entry", "src/slow.ts"], { TMPDIR: temporary }, undefined, project);
  const written = () => (existsSync(join(temporary, "pid")) ? readFileSync(join(temporary, "pid"), "utf8") : "");
  await expect.poll(written, { timeout: 20_000 }).toMatch(/^\d+$/);
  const pid = Number(written());
  screen.press(KEYS.ctrlC);
  expect(await screen.ended()).toBe(130);
  expect(isAlive(pid)).toBe(false);
  expect(readdirSync(temporary)).toEqual(["pid"]);
});

test.each<[string, object, readonly string[], string]>([
  ["an author", { ...PROJECT, author: undefined }, [], 'npm pkg set author="..."'],
  ["a version", { ...PROJECT, version: undefined }, [], "package.json has no version"],
  ["the entry", PROJECT, ["--entry", "src/none.ts"], "src/none.ts does not exist"],
])("mcpb reports that %s is missing", async (_, manifest, args, text) => {
  write(manifest);
  const { code, stderr } = await run("mcpb", ...args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
});

test("mcpb reports that the entry cannot be bundled, or does not start", async () => {
  write(PROJECT);
  writeFileSync(join(project, "src/wrong.ts"), 'import "./nowhere.ts";');
  writeFileSync(join(project, "src/ends.ts"), "process.exit(1);");
  expect(await run("mcpb", "--entry", "src/wrong.ts")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("nowhere"),
  });
  expect(await run("mcpb", "--entry", "src/ends.ts")).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("does not start"),
  });
});

const URL_OF = "https://dice.example.com/mcp";
const json = (...args: readonly string[]) => run("server-json", ...args, "--", NODE, join(project, "src/stdio.ts"));

test("server-json describes a running server, keeps fields that were added by hand, and is checked against the server", async () => {
  const file = join(project, "server.json");
  const ran = await json("--name", "io.github.ada/dice", "--url", URL_OF);
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("server.json was written.")]);
  const written = JSON.parse(readFileSync(file, "utf8"));
  expect(written).toEqual({
    $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    name: "io.github.ada/dice",
    title: "Dice",
    description: "Dice",
    version: "2.1.0",
    remotes: [{ type: "streamable-http", url: URL_OF }],
  });
  expect(await json("--check")).toMatchObject({ code: 0, stdout: "" });
  const repository = { url: "https://github.com/ada/dice", source: "github" };
  writeFileSync(file, JSON.stringify({ ...written, version: "2.0.0", description: "Rolls dice", repository }));
  expect(await json("--check")).toMatchObject({
    code: 3,
    stdout: 'version is "2.0.0", but the server reports "2.1.0".\n',
  });
  await json();
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ ...written, description: "Rolls dice", repository });
  expect((await json("--print")).stdout).toBe(readFileSync(file, "utf8"));
  rmSync(file);
});

test.each([
  [{ name: "dice" }, 'name: "dice" is not a valid name for the registry'],
  [{ title: "Other" }, 'title is "Other"'],
  [{ description: "x".repeat(101) }, "1 to 100 characters"],
  [{ $schema: "https://example.com" }, "$schema"],
  [{ remotes: [{ type: "streamable-http", url: "http://127.0.0.1/mcp" }] }, "not a public https: URL"],
  [{ remotes: [{ type: "websocket", url: URL_OF }] }, 'the type "websocket" is unknown'],
  [{ remotes: [] }, "neither remotes nor packages"],
])("server-json --check reports %j", async (change, text) => {
  const file = join(project, "wrong.json");
  await json("--name", "io.github.ada/dice", "--url", URL_OF, "--out", file);
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...change }));
  expect(await json("--check", "--out", file)).toMatchObject({ code: 3, stdout: expect.stringContaining(text) });
  rmSync(file);
});

test.each([
  [["--url", URL_OF], "--name io.github.you/server"],
  [["--url", URL_OF, "--name", "dice"], "is not a valid name for the registry"],
  [["--name", "io.github.ada/dice"], "--url https://example.com/mcp"],
  [["--name", "io.github.ada/dice", "--url", "http://localhost:1/mcp"], "--url https://example.com/mcp"],
  [["--check"], "does not exist"],
])("server-json %j is a wrong command line and does not write files", async (args, text) => {
  const file = join(project, "none.json");
  expect(await json(...args, "--out", file)).toMatchObject({ code: 2, stderr: expect.stringContaining(text) });
  expect(() => readFileSync(file)).toThrow("ENOENT");
});
