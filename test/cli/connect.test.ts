/** `mcp-edge connect`: the entry of each host, and files that keep everything else. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { setEntry } from "../../src/cli/hosts/edit-jsonc.ts";
import { HOSTS } from "../../src/cli/hosts/entries.ts";
import { hostFiles } from "../../src/cli/hosts/files.ts";
import { parseJsonc } from "../../src/node/jsonc.ts";
import { NODE } from "../oracle/node.ts";
import { KEYS, Screen } from "./pty.ts";
import { CLI, cli, cliProcess, SERVER } from "./run.ts";

const base = mkdtempSync(join(tmpdir(), "mcp-edge-connect-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));

/** A separate home and project for each test. */
let home: string;
let project: string;
let env: Record<string, string | undefined>;
let count = 0;
beforeEach(() => {
  [home, project] = [join(base, `home${count}`), join(base, `project${count++}`)];
  for (const folder of [home, project]) mkdirSync(folder);
  env = { HOME: home, XDG_CONFIG_HOME: "", APPDATA: undefined, CLAUDE_CONFIG_DIR: undefined };
});

const run = (...args: readonly string[]) => cli(["connect", ...args], { cwd: project, env });

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

describe("setEntry", () => {
  const ENTRY = { url: "https://a.example/mcp" };

  test.each([
    ["an empty file", "", '{\n  "m": {\n    "n": {\n      "url": "https://a.example/mcp"\n    }\n  }\n}\n'],
    ["an empty object", "{}", '{\n  "m": {\n    "n": {\n      "url": "https://a.example/mcp"\n    }\n  }\n}'],
    [
      "other members, tabs and a comment at their end",
      '{\n\t"a": 1 // one\n}\n',
      '{\n\t"a": 1,\n\t"m": {\n\t\t"n": {\n\t\t\t"url": "https://a.example/mcp"\n\t\t}\n\t} // one\n}\n',
    ],
    [
      "an entry after which there is a comma and a comment",
      '{\n  // "m": no\n  "m": {\n    "x": {}, // last\n    // end\n  },\n}\n',
      '{\n  // "m": no\n  "m": {\n    "x": {},\n    "n": {\n      "url": "https://a.example/mcp"\n    }, // last\n    // end\n  },\n}\n',
    ],
    [
      "the entry itself, whose place it keeps",
      '{ "m": { "n": { "command": "x" } /* mine */, "y": [1, { "n": 2 }] } }',
      '{ "m": { "n": {\n      "url": "https://a.example/mcp"\n    } /* mine */, "y": [1, { "n": 2 }] } }',
    ],
    [
      "lines that end with a carriage return",
      '{\r\n  "m": {\r\n    "x": "}"\r\n  }\r\n}\r\n',
      '{\r\n  "m": {\r\n    "x": "}",\r\n    "n": {\r\n      "url": "https://a.example/mcp"\r\n    }\r\n  }\r\n}\r\n',
    ],
    [
      "an object with nothing but a comment",
      '{\n  "m": {\n    // none yet\n  }\n}',
      '{\n  "m": {\n    "n": {\n      "url": "https://a.example/mcp"\n    }\n    // none yet\n  }\n}',
    ],
  ])("adds to %s", (_, before, after) => {
    expect(setEntry(before, "m", "n", ENTRY)).toBe(after);
    expect(parseJsonc(after)).toMatchObject({ m: { n: ENTRY } });
  });

  test.each([
    "[]",
    "1",
    '{ "m": [] }',
    '{ "m": {} } {}',
    '{ "m": {',
    '{ "a" 1 }',
    "{ a: 1 }",
    '{ "a": tru }',
    '{ "a": "\n" }',
    '{ "m": {}, "m": {} }',
    '{ "m": { "n": 1, "n": 2 } }',
    "[".repeat(100_000),
  ])("refuses %j", (text) => {
    expect(() => setEntry(text, "m", "n", ENTRY)).toThrow(SyntaxError);
  });

  test("sets the entry and keeps all other values, whatever the file contains", { tags: "long" }, () => {
    const name = fc.string({ minLength: 1 }).filter((each) => each !== "__proto__");
    const file = fc.dictionary(
      name,
      fc.jsonValue().filter((each) => !JSON.stringify(each).includes("__proto__")),
    );
    const servers = fc.dictionary(name, fc.object());
    fc.assert(
      fc.property(file, fc.option(servers), name, fc.constantFrom(undefined, 1, 2, "\t"), (rest, held, own, space) => {
        const whole: Record<string, unknown> = held === null ? rest : { ...rest, m: held };
        if (held === null) delete whole.m;
        const text = setEntry(JSON.stringify(whole, undefined, space), "m", own, ENTRY);
        const { m, ...others } = JSON.parse(text);
        expect(m).toEqual({ ...JSON.parse(JSON.stringify(held ?? {})), [own]: ENTRY });
        const { m: _, ...before } = JSON.parse(JSON.stringify(whole));
        expect(others).toEqual(before);
      }),
    );
  });
});

const URL_OF = "https://example.com/mcp";
const LOCAL = { command: SERVER[0], args: [SERVER[1]] };

/** What each host reads, as its documentation says. */
const FORMATS: Readonly<Record<string, { file: string; member: string; remote: object; local: object }>> = {
  "claude-desktop": {
    file: ".config/Claude/claude_desktop_config.json",
    member: "mcpServers",
    remote: { command: "npx", args: ["-y", "mcp-edge", "bridge", URL_OF] },
    local: LOCAL,
  },
  "claude-code": {
    file: ".claude.json",
    member: "mcpServers",
    remote: { type: "http", url: URL_OF },
    local: { type: "stdio", ...LOCAL },
  },
  cursor: { file: ".cursor/mcp.json", member: "mcpServers", remote: { url: URL_OF }, local: LOCAL },
  vscode: {
    file: ".config/Code/User/mcp.json",
    member: "servers",
    remote: { type: "http", url: URL_OF },
    local: { type: "stdio", ...LOCAL },
  },
  windsurf: {
    file: ".codeium/windsurf/mcp_config.json",
    member: "mcpServers",
    remote: { serverUrl: URL_OF },
    local: LOCAL,
  },
  zed: { file: ".config/zed/settings.json", member: "context_servers", remote: { url: URL_OF }, local: LOCAL },
};

test.each(Object.entries(FORMATS))("writes the entry of a URL and of a command for %s", async (host, format) => {
  const remote = await run(host, URL_OF, "--yes");
  expect([remote.code, remote.stdout]).toEqual([0, ""]);
  const local = await run(host, "--yes", "--name", "lab", "--", ...SERVER);
  expect([local.code, local.stdout]).toEqual([0, ""]);
  const path = join(home, format.file);
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
    [format.member]: { "example.com": format.remote, lab: format.local },
  });
  // It may hold tokens later.
  expect(statSync(path).mode & 0o077).toBe(0);
  // The command that lists the servers of hosts finds both there.
  const listed = await cli(["servers", "--no-try", "--json"], { cwd: project, env });
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { host, name: "example.com" },
    { host, name: "lab" },
  ]);
});

test("every host with a file is in both tables", () => {
  const withFile = HOSTS.filter(({ entry }) => entry).map(({ name }) => name);
  const around = { platform: "linux", home: "/h", env: {}, cwd: "/c" } as const;
  expect(new Set(withFile)).toEqual(new Set(hostFiles(around).map(({ host }) => host)));
  expect(Object.keys(FORMATS)).toEqual(withFile);
});

test("--print prints the entry without changing files", async () => {
  const ran = await run("vscode", URL_OF, "--print", "--project");
  expect(ran.code).toBe(0);
  expect(JSON.parse(ran.stdout)).toEqual({ servers: { "example.com": { type: "http", url: URL_OF } } });
  expect(ran.stderr).toContain(join(project, ".vscode/mcp.json"));
  expect(existsSync(join(project, ".vscode"))).toBe(false);
});

test("hosts without a file get instructions", async () => {
  const inspector = await run("inspector", "--", "node", "it's.js");
  expect(inspector.stdout).toMatch(/^Run: npx @modelcontextprotocol\/inspector \S*node 'it'\\''s\.js'\n$/);
  expect((await run("inspector", URL_OF)).stdout).toContain(`--transport http --server-url ${URL_OF}`);
  expect((await run("chatgpt", URL_OF)).stdout).toContain(`MCP server URL: ${URL_OF}`);
  expect((await run("chatgpt", "http://127.0.0.1:8787/mcp")).stdout).toContain(
    "an address on this machine does not work",
  );
});

test("a server on this machine gets the name of the project in this folder", async () => {
  const address = "http://127.0.0.1:8787/mcp";
  expect(JSON.parse((await run("cursor", address, "--print")).stdout)).toHaveProperty(["mcpServers", "127.0.0.1"]);
  write(join(project, "package.json"), '{ "name": "dice" }');
  expect(JSON.parse((await run("cursor", address, "--print")).stdout)).toHaveProperty(["mcpServers", "dice"]);
  expect(JSON.parse((await run("cursor", URL_OF, "--print")).stdout)).toHaveProperty(["mcpServers", "example.com"]);
});

test("without a server connect uses a project's own stdio entry, under the name of the project", async () => {
  write(join(project, "package.json"), '{ "name": "@me/dice" }');
  write(join(project, "src/stdio.ts"), "");
  const { code, stdout } = await run("cursor", "--print");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    mcpServers: { dice: { command: NODE, args: [join(project, "src/stdio.ts")] } },
  });
});

test("a file keeps its comments, its mode and its link, the previous file is kept, and secrets are not shown", async () => {
  const [path, link] = [join(home, "dotfiles/mcp.json"), join(home, ".cursor/mcp.json")];
  const before = `{
  // My servers.
  "mcpServers": {
    "mail": { "command": "mail", "env": { "TOKEN": "s3cret-1" } },
    "example.com": { "url": "https://old.example/mcp", "headers": { "Authorization": "Bearer s3cret-2" } }, // old
  },
}
`;
  write(path, before);
  chmodSync(path, 0o640);
  mkdirSync(dirname(link));
  symlinkSync(path, link);
  const ran = await run("cursor", URL_OF, "--yes");
  expect(ran.code).toBe(0);
  expect(ran.stderr).toContain('-   "url": "https://old.example/mcp"');
  expect(ran.stderr).toContain(`+   "url": "${URL_OF}"`);
  expect(ran.stderr).not.toContain("s3cret");
  const after = readFileSync(path, "utf8");
  expect(after).toBe(before.replace(/\{ "url".*\} \}/, `{\n      "url": "${URL_OF}"\n    }`));
  expect(readFileSync(`${path}.backup`, "utf8")).toBe(before);
  expect([statSync(path).mode & 0o777, lstatSync(link).isSymbolicLink()]).toEqual([0o640, true]);
  const again = await run("cursor", URL_OF, "--yes");
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining("already has this entry")]);
});

test.each([
  [["cursr", URL_OF], 'Did you mean "cursor"?'],
  [[], "Name a host: claude-desktop, claude-code,"],
  [["cursor"], "has no src/stdio.ts"],
  [["cursor", URL_OF], "Add --yes to change the file, or --print to only print the entry."],
  [["windsurf", URL_OF, "--project"], "Windsurf has no file in a project."],
  [["cursor", URL_OF, "--name", "a b"], "--name"],
])("connect %j is a wrong command line and does not write files", async (args, text) => {
  const { code, stderr } = await run(...args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
  expect(existsSync(join(home, ".cursor"))).toBe(false);
});

describe("a project from an untrusted source", () => {
  const SCRIPT = "// { \n echo harmless\n";

  test("connect does not write files through a backup that is a link", async () => {
    const victim = join(home, ".bashrc");
    write(victim, SCRIPT);
    write(join(project, ".mcp.json"), '{ "mcpServers": {} } // $(touch owned)');
    symlinkSync(victim, join(project, ".mcp.json.backup"));
    const { code } = await run("claude-code", URL_OF, "--project", "--yes");
    expect(code).toBe(0);
    expect(readFileSync(victim, "utf8")).toBe(SCRIPT);
    expect(readFileSync(join(project, ".mcp.json.backup-2"), "utf8")).toBe('{ "mcpServers": {} } // $(touch owned)');
  });

  test.each([
    ["claude-code", ".mcp.json"],
    ["cursor", ".cursor/mcp.json"],
    ["vscode", ".vscode/mcp.json"],
    ["zed", ".zed/settings.json"],
  ])("connect does not change the file of %s through a link, and names the target", async (host, file) => {
    const victim = join(home, "settings.json");
    const text = '{ "secret": "s3cret" }';
    write(victim, text);
    mkdirSync(dirname(join(project, file)), { recursive: true });
    symlinkSync(victim, join(project, file));
    const { code, stderr } = await run(host, URL_OF, "--project", "--yes");
    expect([code, stderr]).toEqual([2, expect.stringContaining(`leads to ${victim}, outside of this project`)]);
    expect([readFileSync(victim, "utf8"), readdirSync(home)]).toEqual([text, ["settings.json"]]);
    expect(stderr).not.toContain("s3cret");
  });

  test("connect refuses a folder that is a link out of the project, even if the file does not exist", async () => {
    mkdirSync(join(home, "outside"));
    symlinkSync(join(home, "outside"), join(project, ".cursor"));
    const { code, stderr } = await run("cursor", URL_OF, "--project", "--yes");
    expect([code, stderr]).toEqual([2, expect.stringContaining(join(home, "outside/mcp.json"))]);
    expect(readdirSync(join(home, "outside"))).toEqual([]);
  });

  test("connect refuses a link to another file of the project as well", async () => {
    write(join(project, "hook.sh"), "{}");
    symlinkSync(join(project, "hook.sh"), join(project, ".mcp.json"));
    const { code, stderr } = await run("claude-code", URL_OF, "--project", "--yes");
    expect([code, stderr]).toEqual([2, expect.stringContaining("is a link to")]);
    expect(readFileSync(join(project, "hook.sh"), "utf8")).toBe("{}");
  });

  test.each([
    ["keys --file .dev.vars", ".dev.vars"],
    ["skills skills --out src/skills.ts", "src/skills.ts"],
    ["server-json --name io.github.me/lab --url https://example.com/mcp --out server.json", "server.json"],
    ["types --out src/lab.ts", "src/lab.ts"],
  ])("mcp-edge %s does not write through a link", { tags: "long" }, async (line, file) => {
    write(join(project, "skills/dice/SKILL.md"), "---\nname: dice\ndescription: Rolls dice.\n---\nRoll.\n");
    mkdirSync(join(project, "src"));
    const victim = join(home, ".bashrc");
    symlinkSync(victim, join(project, file));
    const words = line.split(" ");
    const server = words[0] === "types" || words[0] === "server-json" ? ["--", ...SERVER] : [];
    const { code, stderr } = await cli([...words, ...server], { cwd: project, env });
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining("is a broken link")]);
    expect(existsSync(victim)).toBe(false);
  });
});

test("each run of connect keeps its own copy of the previous file", async () => {
  const path = join(home, ".cursor/mcp.json");
  write(path, "{}\n");
  for (const name of ["a", "b", "c"]) expect((await run("cursor", URL_OF, "--yes", "--name", name)).code).toBe(0);
  const copies = ["", "-2", "-3"].map((end) => JSON.parse(readFileSync(`${path}.backup${end}`, "utf8")));
  expect(copies.map(({ mcpServers = {} }) => Object.keys(mcpServers))).toEqual([[], ["a"], ["a", "b"]]);
});

test.each([
  [
    "that is not UTF-8",
    (path: string) => writeFileSync(path, Buffer.from('{ "a": "\xff" }', "latin1")),
    "is not UTF-8 text",
  ],
  ["that is read-only", (path: string) => writeFileSync(path, "{}", { mode: 0o444 }), "is read-only"],
  ["that is a link to nothing", (path: string) => symlinkSync(join(home, "nothing"), path), "broken link"],
  ["that is a folder", (path: string) => mkdirSync(path), "is not a file"],
])("a file %s is not changed, and a message has the reason", async (_, prepare, reason) => {
  const path = join(home, ".cursor/mcp.json");
  mkdirSync(dirname(path));
  prepare(path);
  const before = lstatSync(path);
  const { code, stderr } = await run("cursor", URL_OF, "--yes");
  expect([code, stderr]).toEqual([2, expect.stringContaining(reason)]);
  expect([lstatSync(path).ino, readdirSync(dirname(path))]).toEqual([before.ino, ["mcp.json"]]);
});

test("if twelve processes add an entry at once, each reports success, and every entry is present", {
  tags: "long",
}, async () => {
  const names = Array.from({ length: 12 }, (_, at) => `server-${at}`);
  const ran = await Promise.all(
    names.map((name) => cliProcess(["connect", "cursor", URL_OF, "--yes", "--name", name], { cwd: project, env })),
  );
  expect(ran.map(({ code, stderr }) => [code, stderr.includes("was changed.")])).toEqual(names.map(() => [0, true]));
  const { mcpServers } = JSON.parse(readFileSync(join(home, ".cursor/mcp.json"), "utf8"));
  expect(Object.keys(mcpServers).sort()).toEqual(names.toSorted());
});

test("a file that is not JSON is not changed", async () => {
  const path = join(home, ".cursor/mcp.json");
  write(path, '{\n  "mcpServers": {\n');
  const { code, stderr } = await run("cursor", URL_OF, "--yes");
  expect([code, stderr]).toEqual([2, expect.stringContaining("The file is not valid JSON: error in line 2")]);
  expect(readFileSync(path, "utf8")).toBe('{\n  "mcpServers": {\n');
});

test("in a terminal, the host is chosen, the change is shown, and the answer no does not write files", async () => {
  const at = { HOME: home, XDG_CONFIG_HOME: "" };
  using screen = new Screen(["connect", "--name", "lab", "--", ...SERVER], at, [NODE, CLI], project);
  await screen.shows("To which host should the server be added?");
  screen.press(KEYS.down, KEYS.down);
  await screen.shows("● Cursor");
  screen.press(KEYS.enter);
  await screen.shows('+ "lab": {');
  await screen.shows("Change ");
  screen.press("n");
  expect(await screen.ended()).toBe(5);
  expect(existsSync(join(home, ".cursor"))).toBe(false);
});
