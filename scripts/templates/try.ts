/** The steps of one template, from `mcp-edge new` to the size of its bundle. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { ROOT } from "../tools.ts";
import { tokenFor } from "./sign-in.ts";

/** The package, installed as npm packs it. */
export interface Installed {
  /** The folder for projects. */
  readonly folder: string;
  /** The file that npm packed. */
  readonly tarball: string;
  /** The program mcp-edge from it. */
  readonly program: string;
}

/** A template to try on a version of Node. */
export interface Job {
  readonly template: string;
  readonly major: number;
  /** Whether the official suite calls it over HTTP. */
  readonly withSuite: boolean;
}

/** The outcome of a template. */
export interface Tried {
  readonly template: string;
  readonly major: number;
  readonly steps: readonly { readonly name: string; readonly ms: number }[];
  /** The size of the bundle, as wrangler prints it. */
  readonly size?: string | undefined;
  readonly failure?: { readonly step: string; readonly output: string };
}

/** How long a step may take. */
const STEP_MS = 300_000;
const OUTPUT_CHARACTERS_MAX = 6_000;

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a program to its end; all its processes are ended when it takes too long. */
function run(program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Ran> {
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const output = collect(child);
  const timer = setTimeout(() => endGroup(child), STEP_MS);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ code, output: output() });
    });
  });
}

function collect(child: ChildProcess): () => string {
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (data: Buffer) => {
      output = (output + data).slice(-OUTPUT_CHARACTERS_MAX);
    });
  }
  return () => output;
}

function endGroup(child: ChildProcess): void {
  try {
    process.kill(-(child.pid ?? 0), "SIGKILL");
  } catch {
    // The process has already ended.
  }
}

/**
 * Packs the package and installs it in a folder of its own.
 *
 * @param isBuilt Whether it is packed as it was built last. Otherwise it is built, during which nothing else can use it.
 */
export async function installPackage(folder: string, isBuilt: boolean): Promise<Installed> {
  const without = isBuilt ? ["--ignore-scripts"] : [];
  await must(run("npm", ["pack", ...without, "--pack-destination", folder], ROOT, process.env));
  const tarball = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "");
  const place = join(folder, "package");
  mkdirSync(place);
  writeFileSync(join(place, "package.json"), '{ "private": true }');
  await must(run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", tarball], place, process.env));
  return { folder, tarball, program: join(place, "node_modules/mcp-edge/bin/mcp-edge.js") };
}

async function must(running: Promise<Ran>): Promise<void> {
  const { code, output } = await running;
  if (code !== 0) throw new Error(output);
}

/** Tries a template on one version of Node. Steps after a failed one do not run. */
export async function tryTemplate({
  folder,
  tarball,
  program,
  template,
  major,
  node,
  withSuite,
}: Installed & Job & { readonly node: string }): Promise<Tried> {
  const name = `my-${template}-${major}`;
  const project = join(folder, name);
  const env = {
    ...process.env,
    PATH: [dirname(node), process.env.PATH].join(delimiter),
    CI: "true",
    NO_COLOR: "1",
    WRANGLER_SEND_METRICS: "false",
    npm_config_prefer_offline: "true",
    // The programs of a project start several times: Node keeps what it compiled of their sources.
    NODE_COMPILE_CACHE: join(folder, "node-compile"),
  };
  const here = (command: string, ...args: readonly string[]) => run(command, args, project, env);
  // The official suite is installed in the repository, and needs a newer Node than 20.
  const check = (...args: readonly string[]) =>
    run(process.execPath, [join(project, "node_modules/mcp-edge/bin/mcp-edge.js"), "check", ...args], ROOT, env);
  let size: string | undefined;
  const steps: Readonly<Record<string, () => Promise<Ran>>> = {
    new: () => run(node, [program, "new", name, "--template", template, "--package", tarball], folder, env),
    check: () => here("npm", "run", "check"),
    test: () => here("npm", "test"),
    stdio: () => {
      // Uses the project's own Node, if it has one.
      const [brought, entry] = [join(project, "node_modules/.bin/node"), join(project, "src/stdio.ts")];
      return check("--", existsSync(brought) ? brought : node, entry);
    },
    // The official suite sees the same on every version of Node, because workerd serves the project.
    http: () => served(project, env, (url, ...args) => check(url, ...args, ...(withSuite ? [] : ["--no-suite"]))),
    deploy: async () => {
      const ran = await here("npx", "wrangler", "deploy", "--dry-run", "--outdir", "dist");
      size = /gzip: ([\d.]+ KiB)/.exec(ran.output)?.[1];
      return size === undefined ? { ...ran, code: ran.code || 1 } : ran;
    },
  };
  const done: { name: string; ms: number }[] = [];
  for (const [step, start] of Object.entries(steps)) {
    const startMs = performance.now();
    const { code, output } = await start();
    done.push({ name: step, ms: performance.now() - startMs });
    console.log(`${code === 0 ? "✓" : "✗"} ${template} on Node ${major}: ${step}`);
    if (code !== 0) return { template, major, steps: done, failure: { step, output } };
  }
  return { template, major, steps: done, size };
}

/** Starts the project as `npm start` does, and passes on its URL, and a header if it wants a token. */
async function served(
  project: string,
  env: NodeJS.ProcessEnv,
  use: (url: string, ...header: string[]) => Promise<Ran>,
): Promise<Ran> {
  const args = ["start", "--", "--port", "0", "--ip", "127.0.0.1"];
  const child = spawn("npm", args, { cwd: project, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const output = collect(child);
  try {
    const deadlineMs = performance.now() + STEP_MS;
    // The last line that it prints, also if the server has a problem.
    while (!/^To add it to |is not working/m.test(output())) {
      if (child.exitCode !== null || performance.now() > deadlineMs) return { code: 1, output: output() };
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const url = /^http:\/\/127\.0\.0\.1:\d+\/mcp$/m.exec(output())?.[0];
    if (url === undefined) return { code: 1, output: output() };
    if (!output().includes("The endpoint requires a token")) return await use(url);
    return await use(url, "--header", `Authorization: Bearer ${await tokenFor(url)}`);
  } finally {
    endGroup(child);
  }
}
