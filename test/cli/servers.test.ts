// @module-tag long
/** `mcp-edge servers`, and servers that are called by the name under which a host has them. */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readHosts } from "../../src/cli/hosts/configured.ts";
import { hostFiles, type Surroundings } from "../../src/cli/hosts/files.ts";
import { connect } from "../../src/client/index.ts";
import { stdio } from "../../src/node/index.ts";
import { parseJsonc } from "../../src/node/jsonc.ts";
import { ME } from "../client/places.ts";
import { KEYS, Screen } from "./pty.ts";
import { cli, SERVER } from "./run.ts";

const [NODE = "", SCRIPT = ""] = SERVER;
const folder = mkdtempSync(join(tmpdir(), "mcp-edge-hosts-"));
const home = join(folder, "home");
const project = join(folder, "project");
const env = { HOME: home, XDG_CONFIG_HOME: "", APPDATA: undefined, CLAUDE_CONFIG_DIR: undefined, LAB: SCRIPT };
afterAll(() => rmSync(folder, { recursive: true }));

/** A variable, as it stands in a file. */
const variable = (name: string) => `$\{${name}}`;

function write(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
}

const SECRETS = ["s3cret-in-env", "s3cret-in-args", "s3cret-in-url", "s3cret-in-header"];

beforeAll(() => {
  write(join(home, ".config/Claude/claude_desktop_config.json"), {
    mcpServers: {
      lab: { command: NODE, args: [SCRIPT, "--api-key", SECRETS[1]], env: { TOKEN: SECRETS[0] } },
      gone: { command: "no-such-program-here" },
    },
  });
  write(join(home, ".claude.json"), {
    mcpServers: {},
    projects: {
      [project]: { mcpServers: { local: { command: NODE, args: [variable("LAB")] } } },
      "/else": { mcpServers: { no: {} } },
    },
  });
  write(join(home, ".codeium/windsurf/mcp_config.json"), {
    mcpServers: {
      far: {
        serverUrl: `http://127.0.0.1:9/mcp?token=${SECRETS[2]}`,
        headers: { Authorization: `Bearer ${SECRETS[3]}` },
      },
      off: { command: NODE, disabled: true },
      open: { url: "http://example.invalid/mcp", headers: { Authorization: "Bearer x" } },
    },
  });
  write(
    join(home, ".config/Code/User/mcp.json"),
    `{
      // A comment, and "//" in a string below.
      "servers": { "input": { "url": "https://example.com/\${input:key}" }, },
    }`,
  );
  write(join(home, ".config/zed/settings.json"), {
    context_servers: { old: { command: { path: NODE, args: [SCRIPT] } } },
  });
  write(join(project, ".mcp.json"), { mcpServers: { shared: { command: NODE, args: [SCRIPT] } } });
  write(join(project, ".cursor/mcp.json"), "{ no json");
});

interface Shown {
  readonly host: string;
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
  readonly tools?: number;
}

/** The number of tools of the stdio server. */
async function countTools(): Promise<number> {
  const [command = "", ...args] = SERVER;
  const client = await connect(stdio({ command, args }), ME);
  const tools = await client.tools().all();
  await client.close();
  return tools.length;
}

test("servers lists the servers of each host, tries each server, and shows failures separately", async () => {
  const { code, stdout, stderr } = await cli(["servers", "--json"], { env, cwd: project });
  expect({ code, stderr }).toEqual({ code: 4, stderr: "" });
  const shown = JSON.parse(stdout) as Shown[];
  expect(shown.map(({ host, name, state }) => `${host}:${name} ${state}`)).toEqual([
    "claude-desktop:lab works",
    "claude-desktop:gone failed",
    "claude-code:local works",
    "claude-code:shared skipped",
    "vscode:input failed",
    "windsurf:far failed",
    "windsurf:off skipped",
    "windsurf:open failed",
    "zed:old works",
  ]);
  expect(shown[0]).toMatchObject({ tools: await countTools(), protocolVersion: "2026-07-28", ms: expect.any(Number) });
  expect(shown[4]?.reason).toContain("It requires the input key");
  expect(shown[7]?.reason).toContain("The header Authorization would be sent unencrypted (http:)");
});

test("servers does not print secrets, in either form", async () => {
  for (const args of [["servers"], ["servers", "--json"]]) {
    const { stdout, stderr } = await cli(args, { env, cwd: project });
    expect(SECRETS.filter((secret) => (stdout + stderr).includes(secret))).toEqual([]);
    expect(stdout).toContain("--api-key [redacted]");
  }
});

test("servers lists readable lines by host, followed by the failures with their reasons", async () => {
  const { stdout } = await cli(["servers"], { env, cwd: project });
  expect(stdout).toMatch(
    /^Claude Desktop ~\/\.config\/Claude\/claude_desktop_config\.json\n {2}✓ lab \(\d+ tools, \d+ ms, /,
  );
  expect(stdout).toContain("  ✗ gone (failed) no-such-program-here\n");
  expect(stdout).toContain("  - off (disabled)");
  expect(stdout).toContain("  ✗ The file is not JSON.\n");
  expect(stdout).toMatch(/\nFailures\n {2}gone Claude Desktop\n {4}The command "no-such-program-here" was not found\./);
});

test("a project's file that is a link to a device is not read", async () => {
  const cwd = mkdtempSync(join(folder, "device-"));
  symlinkSync("/dev/zero", join(cwd, ".mcp.json"));
  const { stdout } = await cli(["servers", "--no-try"], { env: { ...env, HOME: cwd }, cwd });
  expect(stdout).toMatch(/ {2}✗ .*\.mcp\.json is not a file\.\n/);
});

test("servers --no-try does not connect to servers", async () => {
  const { code, stdout } = await cli(["servers", "--json", "--no-try"], { env, cwd: join(folder, "home") });
  expect(code).toBe(4);
  const shown = JSON.parse(stdout) as Shown[];
  expect(shown.filter(({ state }) => state === "works")).toEqual([]);
  expect(shown.find(({ name }) => name === "lab")).toMatchObject({ state: "skipped", reason: "not tried" });
});

test("commands of a project's file run only with --yes, or after the user agreed", async () => {
  const { stdout } = await cli(["servers", "--json", "--yes"], { env, cwd: project });
  expect((JSON.parse(stdout) as Shown[]).find(({ name }) => name === "shared")).toMatchObject({ state: "works" });
  using screen = new Screen(["servers"], { HOME: home, XDG_CONFIG_HOME: "", LAB: SCRIPT }, undefined, project);
  await screen.shows("Use it?");
  screen.press(KEYS.enter);
  await screen.ended();
  expect(screen.text).toContain("- shared (from a file of this project; add --yes to try it)");
});

test("a configured name can be used as a server, alone or with its host", async () => {
  const called = await cli(["call", "lab", "add", "--a", "1", "--b", "2"], { env, cwd: project });
  expect(called).toMatchObject({ code: 0, stdout: "3\n" });
  expect(await cli(["call", "zed:old", "add", "--a", "1", "--b", "2"], { env, cwd: project })).toMatchObject({
    code: 0,
  });
  const unknown = await cli(["list", "labb"], { env, cwd: project });
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('Did you mean "lab"?')]);
  const words = await cli(["__complete", "list", "l"], { env, cwd: project });
  expect(words.stdout).toBe("lab\nlocal\n");
});

/** An untrusted project, whose server is an address or a command that prints what it got. */
async function strange(): Promise<{ cwd: string; own: typeof env; asked: string[]; close(): void }> {
  const asked: string[] = [];
  const server = createServer(({ url = "", headers }, response) => {
    asked.push(`${url} ${headers.authorization}`);
    response.writeHead(404).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const cwd = mkdtempSync(join(folder, "strange-"));
  const url = `http://127.0.0.1:${port}/${variable("PRIVATE")}`;
  write(join(cwd, ".mcp.json"), {
    mcpServers: {
      weather: { url, headers: { Authorization: `Bearer ${variable("PRIVATE")}` } },
      dice: { command: NODE, args: [SCRIPT] },
    },
  });
  write(join(cwd, "home/.claude.json"), { mcpServers: { dice: { command: NODE, args: [SCRIPT, "mine"] } } });
  return { cwd, own: { ...env, HOME: join(cwd, "home") }, asked, close: () => server.close() };
}

test("an address of a project's file gets no variables without consent, and their values are not printed", async () => {
  const { cwd, own, asked, close } = await strange();
  const secret = { ...own, PRIVATE: "s3cret-of-mine" };
  for (const args of [["servers"], ["servers", "--json"], ["list", "weather"], ["bridge", "weather"]]) {
    const { stdout, stderr } = await cli(args, { env: secret, cwd });
    expect(stdout + stderr).toContain(`/${variable("PRIVATE")}`);
    expect(stdout + stderr).not.toContain("s3cret-of-mine");
  }
  expect(asked).toEqual([]);
  const { stdout, stderr } = await cli(["servers", "--yes"], { env: secret, cwd });
  expect(asked).toContain("/s3cret-of-mine Bearer s3cret-of-mine");
  expect(stdout + stderr).not.toContain("s3cret-of-mine");
  const missing = await cli(["servers", "--yes", "--json"], { env: own, cwd });
  expect(missing.stdout).toContain("which has no value.");
  close();
});

test("Ctrl-C at the question for consent ends the program", async () => {
  const { cwd, own, close } = await strange();
  using screen = new Screen(
    ["list", "claude-code:project:dice"],
    { HOME: own.HOME, XDG_CONFIG_HOME: "" },
    undefined,
    cwd,
  );
  await screen.shows("Use it?");
  screen.press(KEYS.ctrlC);
  expect(await screen.ended()).toBe(130);
  close();
});

test("a server of a project's file is used by its name only after consent", async () => {
  const { cwd, own, close } = await strange();
  const name = "claude-code:project:dice";
  for (const args of [["list"], ["ping"], ["call"], ["expose"]]) {
    const more = args[0] === "call" ? ["add"] : [];
    const { code, stderr } = await cli([...args, name, ...more], { env: own, cwd });
    expect([code, stderr]).toEqual([2, expect.stringContaining("Add --yes to use it")]);
  }
  const called = await cli(["call", name, "add", "--yes", "--a", "1", "--b", "2"], { env: own, cwd });
  expect(called).toMatchObject({ code: 0, stdout: "3\n" });
  expect(await cli(["ping", name, "--yes"], { env: own, cwd })).toMatchObject({ code: 0 });
  const strings = { HOME: own.HOME, XDG_CONFIG_HOME: "" };
  using refused = new Screen(["ping", name], strings, undefined, cwd);
  await refused.shows("Use it?");
  refused.press(KEYS.enter);
  expect(await refused.ended()).toBe(5);
  using agreed = new Screen(["ping", name], strings, undefined, cwd);
  await agreed.shows("Use it?");
  agreed.press("y");
  expect(await agreed.ended()).toBe(0);
  close();
});

test("a name that a host has for the user and for the project can be written for either", async () => {
  const { cwd, own, close } = await strange();
  for (const name of ["dice", "claude-code:dice"]) {
    const { code, stderr } = await cli(["ping", name], { env: own, cwd });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("Write one of: claude-code:user:dice, claude-code:project:dice"),
    ]);
  }
  expect(await cli(["ping", "claude-code:user:dice"], { env: own, cwd })).toMatchObject({ code: 0 });
  // The same server in both is the user's.
  write(join(cwd, ".mcp.json"), { mcpServers: { dice: { command: NODE, args: [SCRIPT, "mine"] } } });
  expect(await cli(["ping", "dice"], { env: own, cwd })).toMatchObject({ code: 0 });
  // What Claude Code has for this folder replaces what it has everywhere.
  write(join(own.HOME, ".claude.json"), {
    mcpServers: { dice: { command: "no-such-program-here" } },
    projects: { [cwd]: { mcpServers: { dice: { command: NODE, args: [SCRIPT] } } } },
  });
  expect(await cli(["ping", "claude-code:user:dice"], { env: own, cwd })).toMatchObject({ code: 0 });
  close();
});

describe("the files in which hosts keep their servers", () => {
  const at = (platform: NodeJS.Platform, more: Partial<Surroundings> = {}) =>
    hostFiles({ platform, home: "/h", env: {}, cwd: "/p", ...more }).map(({ path }) => path);

  test("are found on macOS", () => {
    expect(at("darwin")).toEqual(
      expect.arrayContaining([
        "/h/Library/Application Support/Claude/claude_desktop_config.json",
        "/h/.claude.json",
        "/p/.mcp.json",
        "/h/.cursor/mcp.json",
        "/p/.cursor/mcp.json",
        "/h/Library/Application Support/Code/User/mcp.json",
        "/p/.vscode/mcp.json",
        "/h/.codeium/windsurf/mcp_config.json",
        "/h/.config/zed/settings.json",
      ]),
    );
  });

  test("are found on Windows", () => {
    const paths = at("win32", { home: "C:\\h", cwd: "C:\\p", env: { APPDATA: "C:\\h\\AppData\\Roaming" } });
    expect(paths).toEqual(
      expect.arrayContaining([
        "C:\\h\\AppData\\Roaming\\Claude\\claude_desktop_config.json",
        "C:\\h\\AppData\\Roaming\\Code\\User\\mcp.json",
        "C:\\h\\AppData\\Roaming\\Zed\\settings.json",
        "C:\\h\\.cursor\\mcp.json",
        "C:\\p\\.vscode\\mcp.json",
      ]),
    );
  });

  test("are found on Linux, even with another folder for configurations", () => {
    expect(at("linux")).toContain("/h/.config/Code/User/mcp.json");
    expect(at("linux", { env: { XDG_CONFIG_HOME: "/x" } })).toContain("/x/Claude/claude_desktop_config.json");
  });
});

describe("a host's file", () => {
  const read = (entry: object, variables: Record<string, string> = {}) => {
    write(join(folder, "one/.mcp.json"), { mcpServers: { it: entry } });
    const around = { platform: "linux", home: join(folder, "none"), env: variables, cwd: join(folder, "one") } as const;
    return readHosts(around)[0]?.servers[0];
  };

  test("can use variables of the environment, with defaults", () => {
    const args = [variable("A"), variable("B:-b"), variable("env:A"), `${variable("workspaceFolder")}/x`];
    expect(read({ command: "c", args }, { A: "a" })?.resolve()).toMatchObject({
      args: ["a", "b", "a", `${folder}/one/x`],
    });
    const missing = read({ command: "c", args: [variable("A")] });
    expect(() => missing?.resolve()).toThrow(
      `The server "it" uses the variable ${variable("A")} in args[0], which has no value.`,
    );
  });

  test("has a problem for one server only if this server has neither a command nor a URL", () => {
    expect(read({ type: "stdio" })).toMatchObject({ problem: 'The server "it" has neither a command nor a url.' });
    expect(() => read({ url: "ftp://x" })?.resolve()).toThrow('"ftp://x" is not a URL.');
  });

  test.each([
    ["comments", '{ "a": 1, // one\n /* two */ "b": "// no comment" }', { a: 1, b: "// no comment" }],
    ["trailing commas", '{ "a": [1, 2, ], "b": ",]", }', { a: [1, 2], b: ",]" }],
    ["escaped quotes", '{ "a": "\\"//" }', { a: '"//' }],
  ])("can have %s", (_, text, value) => {
    expect(parseJsonc(text)).toEqual(value);
  });
});
