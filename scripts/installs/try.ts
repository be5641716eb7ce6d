/** Installs the packed files in an empty folder, and uses them as a user would. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { type Manager, managerFor } from "./managers.ts";

const STEP_MS = 300_000;
const runFile = promisify(execFile);

/** The packed files, by the names of their packages. */
export type Packed = Readonly<Record<string, string>>;

/** The outcome of an installation. */
export interface Tried {
  readonly manager: string;
  readonly node: number;
  readonly seconds: number;
  /** The last lines of the step that failed. */
  readonly failure?: string;
}

/** A program that imports every entry that runs on Node, and calls a server over stdio. */
const USE = `import { McpServer } from "mcp-edge";
import { connect } from "mcp-edge/client";
import { clientCredentials } from "mcp-edge/client/oauth";
import { serveStdio, stdio } from "mcp-edge/node";
import "mcp-edge/client/skills";
import "mcp-edge/client/tasks";
import "mcp-edge/client/validation";
import "mcp-edge/json-schema";
import "mcp-edge/lock";
import "mcp-edge/safe";
import "mcp-edge/skills";
import { edge } from "mcp-edge/worker";

if (process.argv[2] === "server") {
  const server = new McpServer({ name: "installed", version: "1.0.0" });
  server.tool("add", {}, () => "It works.");
  await serveStdio(server);
} else {
  if (typeof edge !== "function" || typeof clientCredentials !== "function") throw new Error("An export is missing.");
  const client = await connect(stdio({ command: process.execPath, args: ["use.js", "server"] }), { name: "use", version: "1.0.0" });
  const { content } = await client.callTool("add", {});
  console.log(content[0].text);
  await client.close();
}
`;

/** Installs with a package manager on a Node, and checks what was installed. */
export async function tryInstall(
  folder: string,
  packed: Packed,
  { manager, node, path }: { readonly manager: Manager; readonly node: number; readonly path: string },
): Promise<Tried> {
  const startMs = performance.now();
  const { version, command, args } = managerFor(manager, path);
  const place = join(folder, `${manager}-${node}`);
  write(place, packed);
  const env = {
    ...process.env,
    PATH: [dirname(path), process.env.PATH].join(delimiter),
    CI: "true",
    NO_COLOR: "1",
    YARN_ENABLE_TELEMETRY: "0",
    YARN_ENABLE_IMMUTABLE_INSTALLS: "false",
    COREPACK_ENABLE_STRICT: "0",
  };
  const run = async (program: string, ...more: readonly string[]): Promise<string> => {
    const { stdout } = await runFile(program, more, { cwd: place, env, timeout: STEP_MS, maxBuffer: 2 ** 26 });
    return stdout;
  };
  const bin = (name: string) => join(place, "node_modules/.bin", process.platform === "win32" ? `${name}.cmd` : name);
  const done = (failure?: string): Tried => ({
    manager: `${manager} ${version}`,
    node,
    seconds: Math.round((performance.now() - startMs) / 1000),
    ...(failure === undefined ? {} : { failure }),
  });
  try {
    await run(command, ...args, "install");
    const used = await run(path, "use.js");
    if (used.trim() !== "It works.") return done(`use.js printed ${used}`);
    const help = await run(bin("mcp-edge"), "--help");
    if (!help.includes("Usage: mcp-edge")) return done(`mcp-edge --help printed ${help}`);
    const migrates = await run(bin("mcp-edge-migrate"), "--help");
    if (!migrates.includes("Usage: mcp-edge-migrate")) return done(`mcp-edge-migrate --help printed ${migrates}`);
    const tarball = packed["mcp-edge"] ?? "";
    const options = ["--template", "weather", "--package", tarball, "--no-install", "--no-git"];
    await run(bin("create-mcp-edge"), "dice", ...options);
    if (!existsSync(join(place, "dice/src/index.ts"))) return done("create-mcp-edge has not created a project.");
    return done();
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { readonly stdout?: string; readonly stderr?: string };
    return done(`${(error as Error).message}\n${stdout}${stderr}`.slice(-3_000));
  }
}

/**
 * Writes an empty project. The second package depends on a version of the first that is not published yet, so each package manager is told
 * to take the packed file instead.
 */
function write(place: string, packed: Packed): void {
  mkdirSync(place, { recursive: true });
  const files = Object.fromEntries(Object.entries(packed).map(([name, file]) => [name, `file:${file}`]));
  const replaced = { "mcp-edge": files["mcp-edge"] };
  const manifest = {
    name: "installed",
    version: "1.0.0",
    private: true,
    type: "module",
    dependencies: files,
    overrides: replaced,
    resolutions: replaced,
    pnpm: { overrides: replaced },
  };
  writeFileSync(join(place, "package.json"), JSON.stringify(manifest, null, 2));
  writeFileSync(join(place, "use.js"), USE);
  // An empty lock file makes the folder a project of its own for Yarn.
  writeFileSync(join(place, "yarn.lock"), "");
  writeFileSync(join(place, ".yarnrc.yml"), "nodeLinker: node-modules\nenableGlobalCache: false\n");
}
