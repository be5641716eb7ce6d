// @module-tag long
/**
 * A project outside of this repository, made from the packed package with the code that the README begins with: its
 * types, `wrangler dev` with clients of every version, `wrangler deploy --dry-run`, and what is said when the export, the
 * migration or the flag is forgotten.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { choosePort } from "../../src/node/free-port.ts";
import { Listener, TOOLS } from "../conformance/listen-support.ts";
import { COMPILE_CACHE, NODE } from "../oracle/node.ts";
import { clientOf, LegacyClient, readAnswer, VERSIONS } from "../worker/client.ts";
import { answersTo, TaskClient } from "../worker/task-client.ts";

const ROOT = join(import.meta.dirname, "../..");
const FOLDER = mkdtempSync(join(tmpdir(), "mcp-edge-own-"));
const PACKAGE = join(FOLDER, "node_modules/mcp-edge");
/** Long enough for wrangler to bundle and start on a loaded machine. */
const LONG_MS = 120_000;

const INDEX = `import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { server } from "./server.ts";

const app = edge(server, { use: [durable()] });
export default app;
export class McpObject extends app.McpObject {}
`;
const SERVER = `import { McpServer } from "mcp-edge";

export const server = new McpServer<Env>({ name: "own", version: "1.0.0" });
server.tool("hello", {}, (_, ctx) => "Hello from " + ctx.env.CITY + "!");
server.tool("ask", { task: "optional" }, async (_, ctx) => {
  const { action } = await ctx.elicit("Sure?", { type: "object", properties: {} });
  return "It was " + action + ".";
});
server.tool("change", {}, () => {
  server.toolsChanged();
  return "changed";
});
`;
const FLAG = 'compatibility_flags = ["enable_request_signal"]\n';
const MIGRATION = '[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["McpObject"]\n';
const EXPORT = "export class McpObject extends app.McpObject {}\n";
const WRANGLER = `name = "own"\nmain = "src/index.ts"\ncompatibility_date = "2026-10-20"\n${FLAG}\n[vars]\nCITY = "Berlin"\n\n${MIGRATION}`;
const COMPILER_OPTIONS = {
  target: "es2024",
  lib: ["es2024"],
  module: "esnext",
  moduleResolution: "bundler",
  strict: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  types: ["./worker-configuration.d.ts"],
};

const ENV = {
  PATH: `${dirname(NODE)}:${process.env.PATH}`,
  HOME: FOLDER,
  WRANGLER_SEND_METRICS: "false",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  CI: "true",
  NODE_COMPILE_CACHE: COMPILE_CACHE,
};
const children: ChildProcess[] = [];

function write(file: string, text: string, folder = FOLDER): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

function link(name: string): void {
  mkdirSync(dirname(join(FOLDER, "node_modules", name)), { recursive: true });
  symlinkSync(join(ROOT, "node_modules", name), join(FOLDER, "node_modules", name));
}

/** Runs a tool of this repository in the project. */
function run(tool: string, ...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(NODE, [join(ROOT, "node_modules", tool), ...args], {
    cwd: FOLDER,
    env: ENV,
    encoding: "utf8",
  });
  return { status, output: `${stdout}${stderr}` };
}

const wrangler = (...args: string[]) => run("wrangler/bin/wrangler.js", ...args);
const checkConfig = (...args: string[]) => run("../bin/mcp-edge.js", "check-config", ...args);

/** `wrangler dev` on a configuration. @returns The endpoint's URL. */
async function dev(config: string): Promise<string> {
  const port = await choosePort();
  const args = [join(ROOT, "node_modules/wrangler/bin/wrangler.js"), "dev", "-c", config];
  const ports = ["--port", String(port), "--inspector-port", String(await choosePort())];
  const persist = ["--persist-to", join(FOLDER, `state-${port}`)];
  const child = spawn(NODE, [...args, ...ports, ...persist], { cwd: FOLDER, env: ENV, detached: true, stdio: "pipe" });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (data) => (output += data));
  const answers = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`).catch((cause: unknown) => {
      throw new Error(`wrangler dev does not answer: ${output}`, { cause });
    });
    await response.text();
  };
  await vi.waitFor(answers, { timeout: LONG_MS, interval: 200 });
  return `http://127.0.0.1:${port}/mcp`;
}

beforeAll(() => {
  const packed = execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", FOLDER], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const [{ filename = "" } = {}] = JSON.parse(packed) as { filename?: string }[];
  mkdirSync(PACKAGE, { recursive: true });
  execFileSync("tar", ["-xzf", join(FOLDER, filename), "--strip-components=1", "-C", PACKAGE]);
  const { dependencies } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as { dependencies: object };
  for (const name of [...Object.keys(dependencies), "wrangler"]) link(name);
  write("package.json", JSON.stringify({ name: "own", private: true, type: "module" }));
  write("src/index.ts", INDEX);
  write("src/server.ts", SERVER);
  write("wrangler.toml", WRANGLER);
  write("tsconfig.json", JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ["src"] }));
}, LONG_MS);
afterAll(async () => {
  for (const child of children) {
    if (child.exitCode !== null) continue;
    const ended = new Promise((resolve) => child.once("close", resolve));
    process.kill(-(child.pid ?? 0), "SIGKILL");
    await ended;
  }
  rmSync(FOLDER, { recursive: true, force: true });
});

test("wrangler types writes types that compile with and without skipLibCheck", { timeout: LONG_MS }, () => {
  const types = wrangler("types");
  expect(types.status, types.output).toBe(0);
  const generated = readFileSync(join(FOLDER, "worker-configuration.d.ts"), "utf8");
  expect(generated).toContain('durableNamespaces: "McpObject"');
  for (const skipLibCheck of ["true", "false"]) {
    expect(run("typescript/bin/tsc", "-p", ".", "--skipLibCheck", skipLibCheck)).toEqual({ status: 0, output: "" });
  }
});

test("a binding to the class takes one more line, and wrangler types refers to it", { timeout: LONG_MS }, () => {
  const binding = '[[durable_objects.bindings]]\nname = "MCP"\nclass_name = "McpObject"\n';
  write("bound.toml", `${WRANGLER}${binding}`);
  const types = wrangler("types", "-c", "bound.toml");
  expect(types.status, types.output).toBe(0);
  expect(readFileSync(join(FOLDER, "worker-configuration.d.ts"), "utf8")).toMatch(
    /MCP: DurableObjectNamespace<import\("\.\/src\/index"\)\.McpObject>/,
  );
  expect(run("typescript/bin/tsc", "-p", ".", "--skipLibCheck", "false")).toEqual({ status: 0, output: "" });
});

test("wrangler deploy --dry-run accepts the project", { timeout: LONG_MS }, () => {
  const deploy = wrangler("deploy", "--dry-run", "--outdir", "out");
  expect(deploy.status, deploy.output).toBe(0);
});

describe("wrangler dev", () => {
  let url: string;
  beforeAll(async () => {
    url = await dev("wrangler.toml");
  }, LONG_MS);

  test.each(VERSIONS)("serves a client of %s", async (version) => {
    const client = await clientOf(version, url);
    expect((await readAnswer(client.call("hello"))).text).toBe("Hello from Berlin!");
  });

  test("runs a task that asks, and notifies a session of a change", { timeout: LONG_MS }, async () => {
    const tasks = new TaskClient(url);
    const taskId = await tasks.start("ask");
    const asked = await tasks.reaches(taskId, "input_required");
    await tasks.update(
      taskId,
      answersTo(asked, () => "yes"),
    );
    expect(await tasks.finish(taskId)).toBe("It was accept.");
    const client = await LegacyClient.open(url);
    const listener = await Listener.ofSession(client);
    expect((await readAnswer(client.call("change"))).text).toBe("changed");
    await listener.hears(TOOLS);
    listener.leave();
  });
});

describe("a project with missing parts", () => {
  const FORGOTTEN = {
    migration: { index: INDEX, toml: WRANGLER.replace(MIGRATION, ""), codes: ["migration-missing"] },
    all: {
      index: INDEX.replace(EXPORT, "").replace("use: [durable()] }", "use: [durable()], endpont: 1 } as object"),
      toml: WRANGLER.replace(MIGRATION, "").replace(FLAG, ""),
      codes: ["option-unknown", "export-missing"],
    },
  };

  test.each(Object.entries(FORGOTTEN))(
    "makes wrangler dev return every missing line in both eras, and check-config print what to add: %s",
    { timeout: LONG_MS },
    async (name, { index, toml, codes }) => {
      write(`${name}/index.ts`, index.replace("./server.ts", "../src/server.ts"));
      write(`${name}/wrangler.toml`, toml.replace("src/index.ts", "index.ts"));
      const checked = checkConfig("--config", `${name}/wrangler.toml`);
      const missing = name === "all" ? ["export-missing", "migration-missing", "flag-missing"] : codes;
      expect([...checked.output.matchAll(/^\[([\w-]+)\]/gm)].map(([, code]) => code)).toEqual(missing);
      expect(checked.status).toBe(1);
      const url = await dev(`${name}/wrangler.toml`);
      for (const version of ["2025-11-25", "2026-07-28"] as const) {
        const headers = { "content-type": "application/json", "mcp-protocol-version": version };
        const response = await fetch(url, { method: "POST", headers, body: "{}" });
        const { error } = (await response.json()) as { error: { message: string; data: { problems: string[] } } };
        expect([response.status, error.data.problems.map((line) => /^\[([\w-]+)\]/.exec(line)?.[1])]).toEqual([
          500,
          codes,
        ]);
        for (const line of error.data.problems) expect(error.message.split("\n")).toContain(line);
      }
    },
  );

  test("is served by wrangler dev without the flag, and check-config recommends the flag", {
    timeout: LONG_MS,
  }, async () => {
    write("flag/index.ts", INDEX.replace("./server.ts", "../src/server.ts"));
    write("flag/wrangler.toml", WRANGLER.replace(FLAG, "").replace("src/index.ts", "index.ts"));
    const checked = checkConfig("--config", "flag/wrangler.toml");
    expect(checked.output).toMatch(/^\[flag-missing\] Recommended: /);
    expect(checked.status).toBe(0);
    const client = await clientOf("2026-07-28", await dev("flag/wrangler.toml"));
    expect((await readAnswer(client.call("hello"))).text).toBe("Hello from Berlin!");
  });

  test("is not started by wrangler dev without the export, which it names, and check-config prints the line", {
    timeout: LONG_MS,
  }, async () => {
    write("export/index.ts", INDEX.replace(EXPORT, "").replace("./server.ts", "../src/server.ts"));
    write("export/wrangler.toml", WRANGLER.replace("src/index.ts", "index.ts"));
    const checked = checkConfig("--config", "export/wrangler.toml");
    expect(checked).toEqual({
      status: 1,
      output:
        "[export-missing] The Worker does not export the class McpObject.\nAdd to export/index.ts:\n\n  export class McpObject extends app.McpObject {}\n\n",
    });
    const started = wrangler("dev", "-c", "export/wrangler.toml", "--port", String(await choosePort()));
    expect(started.output).toContain('the class "McpObject", but no such Durable Object class is exported');
    expect(started.status).not.toBe(0);
  });

  test("is reported by check-config with the lines to paste, and a complete project has no problems", {
    timeout: LONG_MS,
  }, () => {
    expect(checkConfig()).toEqual({ status: 0, output: "wrangler.toml has everything that mcp-edge needs.\n" });
    expect(checkConfig("--config", "migration/wrangler.toml").output).toBe(
      '[migration-missing] The configuration does not create the class McpObject.\nAdd at the end of migration/wrangler.toml:\n\n  [exports.McpObject]\n  type = "durable-object"\n  storage = "sqlite"\n\n',
    );
    write("wrangler.jsonc", '{ "name": "own", "main": "src/index.ts", /* no date */ "compatibility_flags": [] }');
    const { status, output } = checkConfig("--config", "wrangler.jsonc");
    expect(output).toContain('"exports": { "McpObject": { "type": "durable-object", "storage": "sqlite" } }');
    expect(output).toContain('"compatibility_flags": ["enable_request_signal"]');
    expect(output).toContain('"compatibility_date": "2026-10-20"');
    expect(status).toBe(1);
    expect(checkConfig("--config", "none.toml").status).toBe(2);
  });
});
