// @module-tag long
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { KeyRing } from "../../src/core/seal/key-ring.ts";
import { nodeOf } from "../harness/nodes.ts";
import { NODE } from "../oracle/node.ts";

const CLI = join(import.meta.dirname, "../../src/cli/main.ts");
const folder = mkdtempSync(join(tmpdir(), "mcp-edge-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...args: string[]) => spawnSync(NODE, [CLI, ...args], { encoding: "utf8" });

test("keys prints a sealing key, and a different one each time", async () => {
  const [one, two] = [run("keys"), run("keys")];
  expect([one.status, two.status]).toEqual([0, 0]);
  expect(one.stdout).not.toBe(two.stdout);
  const ring = await KeyRing.parse(one.stdout, "test");
  expect(await ring.open(await ring.seal(new Uint8Array([1, 2, 3])))).toEqual(new Uint8Array([1, 2, 3]));
});

test("keys --file adds a key once, keeps the file's content, and makes it unreadable for other users", () => {
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

test("keys prints only 32 bytes in base64url", () => {
  const { stdout, stderr } = run("keys");
  expect(stdout).toMatch(/^[A-Za-z0-9_-]{43}\n$/);
  expect(Buffer.from(stdout.trim(), "base64url")).toHaveLength(32);
  expect(stderr).toBe("");
});

test("keys --file prints the name of the file but not the key", () => {
  const file = join(folder, "told");
  const { stdout, stderr } = run("keys", "--file", file);
  expect(stdout).toBe("");
  expect(stderr).toContain(file);
  expect(stderr).not.toContain(/"(.+)"/.exec(readFileSync(file, "utf8"))?.[1]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test.each(["MCP_KEYS=kept", '\n  MCP_KEYS = "kept"', "A=1\r\nMCP_KEYS=\r\n"])(
  "keys --file does not change %j",
  (text) => {
    const file = join(folder, "kept");
    writeFileSync(file, text);
    const { status, stderr } = run("keys", "--file", file);
    expect([status, stderr]).toEqual([0, ""]);
    expect(readFileSync(file, "utf8")).toBe(text);
  },
);

test.each(["# MCP_KEYS=x\n", "OTHER_MCP_KEYS=x\n", "MCP_KEYS_OLD=x\n"])("keys --file adds to %j", (text) => {
  const file = join(folder, "near");
  writeFileSync(file, text);
  expect(run("keys", "--file", file).status).toBe(0);
  expect(readFileSync(file, "utf8").replace(/[A-Za-z0-9_-]{43}/, "KEY")).toBe(`${text}MCP_KEYS="KEY"\n`);
});

test("keys --file removes the permissions of group and others from an existing file", () => {
  const file = join(folder, "open");
  writeFileSync(file, "OTHER=1\n");
  chmodSync(file, 0o644);
  expect(run("keys", "--file", file).status).toBe(0);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("keys --file in a missing folder fails with the name of the file and does not show the key", () => {
  const { status, stdout, stderr } = run("keys", "--file", join(folder, "none", "such"));
  expect(status).not.toBe(0);
  expect(stdout).toBe("");
  expect(stderr).toContain("such");
  expect(stderr).not.toMatch(/[A-Za-z0-9_-]{43}/);
});

test("--help shows the usage and exits with 0", () => {
  const { status, stdout } = run("--help");
  expect(status).toBe(0);
  expect(stdout).toMatch(/\n {2}keys \[options\]/);
});

test.each([[[]], [["nonsense"]], [["keys", "more"]], [["keys", "--file"]], [["keys", "--nonsense"]]])(
  "%j shows the usage and exits with 2",
  (args) => {
    const { status, stderr } = run(...args);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^Usage: mcp-edge|mcp-edge --help/m);
  },
);

/** A stand-in for wrangler that reports a port, prints its arguments, and ends with its own exit code. */
const FAKE_WRANGLER = `
const { createServer } = require("node:http");
console.log("arguments: " + process.argv.slice(2).join(" "));
const server = createServer((request, response) => {
  const found = { "/other": 200, "/secret": 401, "/broken": 500 }[request.url] ?? 404;
  response.writeHead(found, { "Content-Type": "text/plain" }).end("the page for " + request.headers.accept);
  setTimeout(() => process.exit(7), 500);
});
server.listen(0, "127.0.0.1", () =>
  process.send(JSON.stringify({ event: "DEV_SERVER_READY", ip: "0.0.0.0", port: server.address().port })),
);
`;

function projectWithWrangler(name: string): string {
  const project = join(folder, name);
  mkdirSync(join(project, "node_modules/wrangler/wrangler-dist"), { recursive: true });
  writeFileSync(join(project, "node_modules/wrangler/package.json"), '{ "name": "wrangler", "version": "4.155.0" }');
  writeFileSync(join(project, "node_modules/wrangler/wrangler-dist/cli.js"), FAKE_WRANGLER);
  return project;
}

const runIn = (cwd: string, ...args: string[]) => spawnSync(NODE, [CLI, ...args], { encoding: "utf8", cwd });

test("dev passes its arguments to wrangler, prints the page of --path, and ends with wrangler's exit code", () => {
  const ran = runIn(projectWithWrangler("path"), "dev", "--port", "9000", "--path", "other", "--local");
  const { stdout, stderr, status } = ran;
  expect(stdout).toContain("arguments: dev --port 9000 --local\n");
  expect(stdout).toContain("the page for text/plain");
  expect(status).toBe(7);
  // wrangler ends when it reloads a new class of Durable Objects.
  expect(stderr).toContain("wrangler dev has ended. It cannot reload every change");
});

test.each(["--help", "-h"])("dev %s describes its own options before those of wrangler", (option) => {
  const { stdout } = runIn(projectWithWrangler("help"), "dev", option);
  for (const name of ["--path", "--contents", "--verbose", "--faults", "--no-record"]) expect(stdout).toContain(name);
  expect(stdout.indexOf("--no-record")).toBeLessThan(stdout.indexOf(`arguments: dev ${option}`));
});

test("dev prints the URL if the server has no page", () => {
  const { stdout } = runIn(projectWithWrangler("no-page"), "dev");
  expect(stdout).toMatch(/\nhttp:\/\/127\.0\.0\.1:\d+\/mcp\n/);
  expect(stdout).toContain("Add page()");
});

test("dev lists the tools of a server without a page, and how to call a tool and to add the server to a host", async () => {
  const project = projectWithWrangler("tools");
  const server = pathToFileURL(join(import.meta.dirname, "fixtures/dice.ts")).href;
  writeFileSync(join(project, "node_modules/wrangler/wrangler-dist/cli.js"), `import(${JSON.stringify(server)})`);
  const child = spawn(NODE, [CLI, "dev"], { cwd: project, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (data) => {
    output += data;
  });
  try {
    await expect.poll(() => output, { timeout: 30_000 }).toContain(" --help\n");
  } finally {
    child.kill();
  }
  const [, url = ""] = /\n(http:\S+)\n/.exec(output) ?? [];
  expect(output).toContain(`npx mcp-edge connect <host> ${url}\n`);
  expect(output).toContain(`1 tool: roll\nnpx mcp-edge call ${url} roll --help\n`);
});

test("dev reports that an endpoint requires a token, not that it has no page", () => {
  const { stdout } = runIn(projectWithWrangler("token"), "dev", "--path", "/secret");
  expect(stdout).toMatch(/\nhttp:\/\/127\.0\.0\.1:\d+\/secret\n\nThe endpoint requires a token,/);
  expect(stdout).not.toContain("Add page()");
});

test("dev suggests check-config if the server does not work, or wrangler does not start", () => {
  const hint = "If they do not name the cause, run: npx mcp-edge check-config\n";
  expect(runIn(projectWithWrangler("broken"), "dev", "--path", "/broken").stderr).toContain(hint);
  const project = projectWithWrangler("ended");
  writeFileSync(join(project, "node_modules/wrangler/wrangler-dist/cli.js"), "process.exit(3)");
  expect(runIn(project, "dev")).toMatchObject({ status: 3, stderr: expect.stringContaining(hint) });
});

/** Node 20 may have to be installed first. */
test("dev reports whether wrangler or Node is missing", { timeout: 180_000 }, () => {
  const empty = join(folder, "empty");
  mkdirSync(empty);
  const missing = runIn(empty, "dev");
  expect([missing.status, missing.stderr]).toEqual([1, expect.stringContaining("npm install --save-dev wrangler")]);
  const built = join(import.meta.dirname, "../../bin/mcp-edge.js");
  const old = spawnSync(nodeOf(20), [built, "dev"], { encoding: "utf8", cwd: projectWithWrangler("old") });
  expect([old.status, old.stderr]).toEqual([
    1,
    expect.stringMatching(/this is Node 20\..*npm install --save-dev node@24/),
  ]);
});
