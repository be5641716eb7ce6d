// @module-tag long
/** The published package: its manifest, its types in a user's project, and its documents. */
import { execFileSync } from "node:child_process";
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
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runToolQuietly } from "../harness/tools.ts";

const ROOT = join(import.meta.dirname, "../..");
const PROJECT = mkdtempSync(join(tmpdir(), "mcp-edge-package-"));
const PACKAGE = join(PROJECT, "node_modules/mcp-edge");

/** The parts of the two checkers' results that are used here. */
interface Publint {
  publint(options: { pack: { tarball: ArrayBuffer }; strict: boolean }): Promise<{ messages: readonly unknown[] }>;
}
interface AreTheTypesWrong {
  createPackageFromTarballData(tarball: Uint8Array): object;
  checkPackage(checked: object): Promise<{
    types: unknown;
    problems?: readonly { kind: string; resolutionKind?: string; entrypoint?: string }[];
  }>;
}

/** Imports a module by a computed name, so that the types of the checkers are not part of the type check. */
async function load<Module>(name: string): Promise<Module> {
  return (await import(name)) as Module;
}

let tarball: Buffer;
let modules: readonly string[];

function link(name: string): void {
  const path = join(PROJECT, "node_modules", name);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules", name), path);
}

beforeAll(() => {
  const packed = execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", PROJECT], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const [{ filename = "" } = {}] = JSON.parse(packed) as { filename?: string }[];
  const path = join(PROJECT, filename);
  tarball = readFileSync(path);
  mkdirSync(PACKAGE, { recursive: true });
  execFileSync("tar", ["-xzf", path, "--strip-components=1", "-C", PACKAGE]);
  const { exports, dependencies } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as {
    exports: Record<string, unknown>;
    dependencies: Record<string, string>;
  };
  modules = Object.keys(exports).filter((entry) => entry !== "./package.json");
  for (const name of Object.keys(dependencies)) link(name);
});
afterAll(() => rmSync(PROJECT, { recursive: true, force: true }));

test("publint reports no problem in the packed package", async () => {
  const { publint } = await load<Publint>("publint");
  const bytes = new Uint8Array(tarball).buffer;
  expect((await publint({ pack: { tarball: bytes }, strict: true })).messages).toEqual([]);
});

test("attw resolves the types of every entry, for ES modules", { timeout: 120_000 }, async () => {
  const { checkPackage, createPackageFromTarballData } = await load<AreTheTypesWrong>("@arethetypeswrong/core");
  const { types, problems = [] } = await checkPackage(createPackageFromTarballData(new Uint8Array(tarball)));
  expect(types).toMatchObject({ kind: "included" });
  // The package has only ES modules, and uses `exports`, which "moduleResolution": "node10" does not read.
  const isExpected = ({ kind, resolutionKind }: { kind: string; resolutionKind?: string }) =>
    resolutionKind === "node10" || (kind === "CJSResolvesToESM" && resolutionKind === "node16-cjs");
  expect(problems.filter((problem) => !isExpected(problem))).toEqual([]);
});

/** Type-checks a program that imports modules of the package. Declarations of libraries are checked too. */
function check(imported: readonly string[], options: object): ReturnType<typeof runToolQuietly> {
  const lines = imported.map((entry, index) => `import * as m${index} from "${join("mcp-edge", entry)}";`);
  const names = imported.map((_, index) => `m${index}`);
  writeFileSync(join(PROJECT, "index.ts"), `${lines.join("\n")}\nexport const all = [${names}];\n`);
  const base = { target: "ES2024", lib: ["ES2024"], strict: true, skipLibCheck: false, noEmit: true };
  const config = { compilerOptions: { ...base, ...options }, files: ["index.ts"] };
  writeFileSync(join(PROJECT, "tsconfig.json"), JSON.stringify(config));
  return runToolQuietly("tsc", ["-p", PROJECT]);
}

/** The entries of code that runs in Workers only, and the entry with a plugin of `edge()`, whose type mentions types of Workers. */
const FOR_WORKERS = /^\.\/(worker|authorization-server|recorder|telemetry)/;

test("entries without Workers type-check in a project that has only the types of Node", () => {
  for (const name of ["@types/node", "undici-types"]) link(name);
  const found = modules.filter((entry) => !FOR_WORKERS.test(entry));
  expect(found).toContain("./testing");
  const options = { module: "NodeNext", types: ["node"] };
  expect(check(found, options)).toEqual({ status: 0, output: "" });
});

test("entries for Workers type-check in a project that has only the types of Workers", () => {
  link("@cloudflare/workers-types");
  const found = modules.filter((entry) => entry !== "./node" && entry !== "./testing");
  expect(found).toContain("./worker");
  const options = { module: "ESNext", moduleResolution: "Bundler", types: ["@cloudflare/workers-types"] };
  expect(check(found, options)).toEqual({ status: 0, output: "" });
});

test("the package contains the templates without secrets and installed files, and the links of its README are valid", () => {
  for (const file of ["package.json", "wrangler.toml", "README.md", "src/index.ts", "_gitignore"]) {
    expect(existsSync(join(PACKAGE, "dist/templates/weather", file)), file).toBe(true);
  }
  const files = readdirSync(join(PACKAGE, "dist/templates"), { recursive: true, encoding: "utf8" });
  const forbidden = /(^|\/)(\.dev\.vars(?!\.example)|\.wrangler|node_modules|worker-configuration\.d\.ts)/;
  expect(files.filter((file) => forbidden.test(file))).toEqual([]);
  const readme = readFileSync(join(PACKAGE, "README.md"), "utf8");
  const links = [...readme.matchAll(/\]\(((?!https?:|#)[^)\s#]+)/g)].map((match) => match[1] ?? "");
  expect(links.length).toBeGreaterThan(0);
  // In the package, the templates are beside the program that copies them.
  const isThere = (path: string) => [path, join("dist", path)].some((each) => existsSync(join(PACKAGE, each)));
  expect(links.filter((path) => !isThere(path))).toEqual([]);
});

test("npm ci installs one workerd and neither GitHub's client nor an image library", () => {
  const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Record<string, object>;
  };
  const installed = Object.keys(lock.packages);
  const copies = (name: string) => installed.filter((path) => path.endsWith(`node_modules/${name}`));
  for (const name of ["workerd", "wrangler", "miniflare", "esbuild"]) expect(copies(name), name).toHaveLength(1);
  expect(installed.filter((path) => path.includes("@img/") || path.includes("@octokit/plugin"))).toEqual([]);
});
