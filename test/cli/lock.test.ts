/** `mcp-edge lock` and `mcp-edge check --lock`: the contract of a real server in both eras, and how it changes. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { serveHttp } from "../../src/node/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { edge } from "../../src/worker/index.ts";
import { cli } from "./run.ts";

const CITY = { type: "object", properties: { city: { type: "string" } } } as const;
const WEATHER = { type: "object", properties: { degrees: { type: "number" } }, required: ["degrees"] } as const;

/** Starts a server with a weather tool; `changes` are applied before it starts. */
async function serve({
  city = CITY as object,
  readOnlyHint = true,
  hasPrompt = true,
  extra = false,
  version = "1.0.0",
} = {}) {
  const server = new McpServer({ name: "weather", version });
  server.tool(
    "forecast",
    {
      description: "Returns the weather",
      input: jsonSchema(city as typeof CITY),
      output: jsonSchema(WEATHER),
      annotations: { readOnlyHint },
      _meta: { ui: { resourceUri: "ui://weather" } },
    },
    () => ({ degrees: 4 }),
  );
  if (extra) server.tool("extra", {}, () => "x");
  if (hasPrompt) server.prompt("ask", { arguments: [{ name: "topic", required: true }] }, () => "Hello");
  server.resource("weather:stations", { name: "stations", mimeType: "text/plain" }, () => "none");
  const app = edge(server);
  app.get("/.well-known/oauth-protected-resource/mcp", (context) => {
    const { origin } = new URL(context.req.url);
    return context.json({ resource: `${origin}/mcp`, scopes_supported: ["weather:write", "weather:read"] });
  });
  const { origin, close } = await serveHttp(app, { port: 0, log: () => undefined });
  return { url: `${origin}/mcp`, close };
}

type Served = Awaited<ReturnType<typeof serve>>;
let same: Served;
let broken: Served;
let grown: Served;
let folder: string;
beforeAll(async () => {
  same = await serve();
  const city = { ...CITY, required: ["city"] };
  broken = await serve({ city, readOnlyHint: false, hasPrompt: false });
  grown = await serve({ extra: true });
});
afterAll(async () => {
  for (const each of [same, broken, grown]) await each?.close();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mcp-edge-lock-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: readonly string[]) => cli(args, { cwd: folder });
const readLock = () => readFileSync(join(folder, "mcp.lock.json"), "utf8");

describe("mcp-edge lock", () => {
  test("writes the same sorted file in both eras, with tools, prompts, resources and scopes", async () => {
    const { code, stdout, stderr } = await run("lock", same.url);
    expect([code, stdout]).toEqual([0, ""]);
    expect(stderr).toBe("mcp.lock.json: 1 tool, 1 prompt, 1 resource, 0 templates\n");
    const text = readLock();
    expect(JSON.parse(text)).toEqual({
      lock: 1,
      server: { name: "weather" },
      scopes: ["weather:read", "weather:write"],
      tools: [
        {
          name: "forecast",
          description: "Returns the weather",
          inputSchema: expect.objectContaining(CITY),
          outputSchema: expect.objectContaining(WEATHER),
          annotations: { readOnlyHint: true, destructiveHint: true, idempotentHint: false, openWorldHint: true },
          _meta: { ui: { resourceUri: "ui://weather" } },
        },
      ],
      prompts: [{ name: "ask", arguments: [{ name: "topic", required: true }] }],
      resources: [{ uri: "weather:stations", name: "stations", mimeType: "text/plain" }],
      resourceTemplates: [],
    });
    expect((await run("lock", same.url, "--as", "2025-11-25", "--out", "legacy.json")).code).toBe(0);
    expect(readFileSync(join(folder, "legacy.json"), "utf8")).toBe(text);
    expect((await run("lock", same.url)).stderr).toContain("(unchanged)");
  });

  test("refuses to replace a file that differs, and replaces it with --update", async () => {
    await run("lock", same.url);
    const before = readLock();
    const refused = await run("lock", grown.url);
    expect(refused.code).toBe(2);
    expect(refused.stdout).toBe("compatible  tool extra: was added\n0 breaking, 0 to review, 1 compatible\n");
    expect(refused.stderr).toContain("mcp.lock.json differs from the server and was not changed.");
    expect(refused.stderr).toContain("run the same command again with --update");
    expect(readLock()).toBe(before);
    const updated = await run("lock", grown.url, "--update");
    expect([updated.code, updated.stdout]).toEqual([0, refused.stdout]);
    expect(readLock()).not.toBe(before);
    expect((await run("check", grown.url, "--lock")).code).toBe(0);
  });
});

describe("mcp-edge check --lock", () => {
  test("succeeds if the server is the same, also after a release with another version", async () => {
    await run("lock", same.url);
    const next = await serve({ version: "2.0.0" });
    const { code, stdout, stderr } = await run("check", next.url, "--lock").finally(() => next.close());
    expect([code, stdout, stderr]).toEqual([0, "", "The server matches mcp.lock.json.\n"]);
  });

  test("names each change with its meaning, and fails with its own exit code if one breaks callers", async () => {
    await run("lock", same.url, "-o", "contract.json");
    const { code, stdout } = await run("check", broken.url, "--lock", "contract.json");
    expect(stdout.split("\n")).toEqual([
      "breaking    tool forecast input.city: is now required",
      "breaking    tool forecast readOnlyHint: was true and is false, so the tool may have side effects now",
      "breaking    prompt ask: was removed",
      "3 breaking, 0 to review, 0 compatible",
      "",
    ]);
    expect(code).toBe(7);
  });

  test("prints JSON, and only --strict fails for a change that is compatible", async () => {
    await run("lock", same.url);
    const { code, stdout } = await run("check", grown.url, "--lock", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      server: grown.url,
      file: "mcp.lock.json",
      counts: { breaking: 0, review: 0, compatible: 1 },
      changes: [{ severity: "compatible", kind: "tool", name: "extra", path: "", reason: "was added" }],
    });
    expect((await run("check", grown.url, "--lock", "--strict")).code).toBe(7);
    expect((await run("check", same.url, "--lock", "--strict")).code).toBe(0);
  });

  test("says what to do if the file is missing, and that --strict is for --lock", async () => {
    const missing = await run("check", same.url, "--lock");
    expect(missing).toMatchObject({
      code: 2,
      stderr: "mcp-edge: mcp.lock.json does not exist. mcp-edge lock writes it.\n",
    });
    expect(await run("check", same.url, "--strict")).toMatchObject({
      code: 2,
      stderr: "mcp-edge: --strict is only for --lock.\n",
    });
  });
});

test.each<[string, string]>([
  [
    "{",
    "mcp.lock.json is not JSON, for example because of a merge conflict. Restore it from version control, or delete it",
  ],
  ["", "mcp.lock.json is not JSON"],
  ["[]", "mcp.lock.json is not a valid lock file: The contract is a list; it must be an object. Restore it"],
  [
    '{"lock":9}',
    'mcp.lock.json was written by a newer version of mcp-edge: "lock" is "9"; this version reads only the format 1. Update mcp-edge and try again.',
  ],
  [
    '{"lock":1,"tools":[{}]}',
    'mcp.lock.json is not a valid lock file: "tools[0].name" is missing; it must be a string.',
  ],
  [`{"lock":1,"tools":${"[".repeat(50_000)}${"]".repeat(50_000)}}`, '"tools[0]" is a list; it must be an object.'],
])(
  "a lock file %.30s is refused with its name and the member that is wrong, and is not replaced",
  async (text, problem) => {
    writeFileSync(join(folder, "mcp.lock.json"), text);
    for (const args of [
      ["lock", same.url, "--update"],
      ["check", same.url, "--lock"],
    ]) {
      const { code, stderr } = await run(...args);
      expect(stderr).toContain(problem);
      expect(code).toBe(2);
      expect(readLock()).toBe(text);
    }
  },
);

test("a server that cannot be reached writes no file and is not compared, and has the exit code for that", async () => {
  const hint = "If the server should be reachable, run mcp-edge doctor to find out why it is not.";
  const locked = await run("lock", "http://127.0.0.1:9/mcp", "--timeout", "2s");
  expect(locked.stderr).toContain(`\nmcp.lock.json was not written. ${hint}`);
  expect(locked.code).toBe(4);
  expect(existsSync(join(folder, "mcp.lock.json"))).toBe(false);
  writeFileSync(join(folder, "mcp.lock.json"), '{"lock":1}');
  const checked = await run("check", "http://127.0.0.1:9/mcp", "--lock", "--timeout", "2s");
  expect(checked.stderr).toContain(`\nThe server was not compared with mcp.lock.json. ${hint}`);
  expect(checked.code).toBe(4);
});

describe("a lock file that cannot be used", () => {
  test.each<[string, readonly string[], string]>([
    [
      "is a folder",
      ["check", "--lock", "."],
      ". cannot be read: . is not a file. Name another file, or repair this one.",
    ],
    ["has no name", ["lock", "--out", ""], "The name of the lock file is empty. Write the name of a file."],
    [
      "is in a folder that does not exist",
      ["lock", "--out", "none/lock.json"],
      "none/lock.json cannot be written: ENOENT: no such file or directory. Choose another file with --out.",
    ],
  ])("because it %s is named with what to do", async (_, args, text) => {
    const { code, stderr } = await run(...args.slice(0, 1), same.url, ...args.slice(1));
    expect(stderr).toBe(`mcp-edge: ${text}\n`);
    expect(code).toBe(2);
  });

  test("is read if it has a byte order mark and the line ends of Windows, and is then not written again", async () => {
    await run("lock", same.url);
    const text = `\ufeff${readLock().replaceAll("\n", "\r\n")}`;
    writeFileSync(join(folder, "mcp.lock.json"), text);
    expect((await run("check", same.url, "--lock", "--strict")).code).toBe(0);
    expect((await run("lock", same.url)).stderr).toContain("(unchanged)");
    expect(readLock()).toBe(text);
  });
});

describe("options of check that do not fit --lock", () => {
  test("--as chooses the version of the connection, and is refused without --lock", async () => {
    await run("lock", same.url);
    const { code, stderr } = await run("check", same.url, "--lock", "--as", "2025-11-25", "--debug");
    expect(code).toBe(0);
    expect(stderr).toContain('"protocolVersion":"2025-11-25"');
    expect(await run("check", same.url, "--as", "2025-11-25")).toMatchObject({
      code: 2,
      stderr: "mcp-edge: --as is only for --lock. Without --lock, every version of the server is checked.\n",
    });
  });

  test.each(["--no-suite", "--fetch"])("%s is refused", async (option) => {
    await run("lock", same.url);
    expect(await run("check", same.url, "--lock", option)).toMatchObject({
      code: 2,
      stderr: "mcp-edge: --no-suite and --fetch are not for --lock, which only compares the server with a file.\n",
    });
  });
});

describe("a server whose lists are odd", () => {
  const TOOL = { name: "a", inputSchema: { type: "object" } };

  /** Returns a command that answers each request with the result in a table, or with -32601. */
  function command(results: object, ...args: readonly string[]): readonly string[] {
    const script = join(folder, "server.mjs");
    writeFileSync(join(folder, "results.json"), JSON.stringify(results));
    writeFileSync(
      script,
      `import { readFileSync, writeFileSync } from "node:fs"; import { createInterface } from "node:readline";
      const { capabilities, ...results } = JSON.parse(readFileSync(${JSON.stringify(join(folder, "results.json"))}, "utf8"));
      results.initialize = { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "s", version: "1" } };
      createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        const body = results[method] ? { result: results[method] } : { error: { code: -32601, message: "no" } };
        if (method === "tools/list" && process.argv[2]?.endsWith("mcp.lock.json"))
          writeFileSync(process.argv[2], "by another process");
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
      });`,
    );
    return ["--", process.execPath, script, ...args];
  }

  test("is neither locked nor checked if a list does not end", async () => {
    const server = command({ capabilities: { tools: {} }, "tools/list": { tools: [TOOL], nextCursor: "1" } });
    writeFileSync(join(folder, "old.json"), '{"lock":1}');
    for (const args of [["lock"], ["check", "--lock", "old.json"]]) {
      const { code, stderr } = await run(...args, ...server);
      expect(stderr).toContain(
        "The list of tools/list could not be read completely: the server returned a cursor twice.",
      );
      expect(code).toBe(3);
    }
    expect(existsSync(join(folder, "mcp.lock.json"))).toBe(false);
  });

  test.each<[string, string | undefined]>([
    ["replaces", '{"lock":1}'],
    ["creates", undefined],
  ])("is not locked if another process %s the file meanwhile", async (_, before) => {
    const file = join(folder, "mcp.lock.json");
    if (before !== undefined) writeFileSync(file, before);
    const server = command({ capabilities: { tools: {} }, "tools/list": { tools: [TOOL] } }, file);
    const { code, stderr } = await run("lock", "--update", ...server);
    expect(stderr).toContain(
      "mcp.lock.json was changed by another process while the server was read, and was left as it is. Run the same command again.",
    );
    expect(code).toBe(2);
    expect(readLock()).toBe("by another process");
    expect(readdirSync(folder).filter((name) => name.endsWith(".partial"))).toEqual([]);
  });

  test("is printed with its invisible characters as escapes", async () => {
    const locked = (name: string, description: string) =>
      command({ capabilities: { tools: {} }, "tools/list": { tools: [{ ...TOOL, name, description }] } });
    await run("lock", ...locked("a", "Adds"));
    const { stdout } = await run("check", "--lock", ...locked("a", "Ad\u200bds"));
    expect(stdout).toContain('review      tool a: its description was "Adds" and is "Ad\\u200bds"');
    const renamed = await run("check", "--lock", ...locked("a\u200b", "Adds"));
    expect(renamed.stdout).toContain("compatible  tool a\\u200b: was added");
  });

  test("is locked if it has resources without templates, and warns of a name that is listed twice", async () => {
    const lists = {
      "tools/list": { tools: [TOOL, { ...TOOL, description: "b" }] },
      "resources/list": { resources: [] },
    };
    const { code, stderr } = await run("lock", ...command({ capabilities: { tools: {}, resources: {} }, ...lists }));
    expect(stderr).toContain("the server does not have the method resources/templates/list");
    expect(stderr).toContain("Warning: the server lists tool a more than once.");
    expect(code).toBe(0);
  });

  test("writes no file that check --lock would refuse", async () => {
    const tools = Array.from({ length: 20_001 }, (_, at) => ({ ...TOOL, name: `t${at}` }));
    const { code, stderr } = await run("lock", ...command({ capabilities: { tools: {} }, "tools/list": { tools } }));
    expect(stderr).toContain('mcp.lock.json was not written: "tools" has 20001 entries, but at most 20000 are read.');
    expect(code).toBe(3);
    expect(existsSync(join(folder, "mcp.lock.json"))).toBe(false);
  });

  test("has no secrets of its command in the JSON of the check", async () => {
    writeFileSync(join(folder, "mcp.lock.json"), '{"lock":1}');
    const server = command({ capabilities: { tools: {} }, "tools/list": { tools: [] } }, "--token", "hunter2hunter2");
    const { stdout } = await run("check", "--lock", "--json", ...server);
    expect(JSON.parse(stdout)).toMatchObject({ server: expect.stringContaining("--token [redacted]") });
    expect(stdout).not.toContain("hunter2");
  });
});
