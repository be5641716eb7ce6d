// @module-tag long
/**
 * Every folder of templates/: its files, and the tests of one. `npm run templates`, which CI also runs, tries each as a project
 * of its own with its tests.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { NODE } from "../oracle/node.ts";

const ROOT = join(import.meta.dirname, "../..");
const TEMPLATES = join(ROOT, "templates");
const names = readdirSync(TEMPLATES);
const output = mkdtempSync(join(tmpdir(), "mcp-edge-templates-"));
afterAll(() => rmSync(output, { recursive: true, force: true }));

/** Long enough for a loaded machine. */
const LIMIT_MS = 120_000;

interface Ran {
  readonly status: number;
  readonly output: string;
}

/** Runs a tool of the root's node_modules in a template's folder, without an account. */
function run(template: string, tool: string, ...args: readonly string[]): Promise<Ran> {
  const env = {
    PATH: `${dirname(NODE)}:${process.env.PATH}`,
    HOME: output,
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    CI: "true",
    NO_COLOR: "1",
  };
  const options = { cwd: join(TEMPLATES, template), env, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    execFile(NODE, [join(ROOT, "node_modules/.bin", tool), ...args], options, (error, stdout, stderr) => {
      if (error && typeof error.code !== "number") return reject(error);
      resolve({ status: Number(error?.code ?? 0), output: `${stdout}${stderr}` });
    });
  });
}

test("templates/weather passes its own tests", { timeout: LIMIT_MS }, async () => {
  const ran = await run("weather", "vitest", "run", "--maxWorkers=1");
  expect(ran.status, ran.output).toBe(0);
});

describe.each(names)("templates/%s", (name) => {
  test("has a test that evicts objects", () => {
    const tests = join(TEMPLATES, name, "test");
    const files = readdirSync(tests).filter((file) => file.endsWith(".ts"));
    const texts = files.map((file) => readFileSync(join(tests, file), "utf8"));
    expect(texts.some((text) => text.includes(".evict("))).toBe(true);
  });

  const read = (file: string) => readFileSync(join(TEMPLATES, name, file), "utf8");

  test("is complete in itself: it refers to mcp-edge by version and to no path outside its folder", () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
    const manifest = JSON.parse(read("package.json")) as {
      name: string;
      scripts: Record<string, string>;
      dependencies: Record<string, string>;
      devDependencies: Record<string, string>;
    };
    expect(manifest.name).toBe(name);
    // Without an entry, `npm ci` fails: npm install --package-lock-only adds it.
    const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as { packages: object };
    expect(lock.packages).toHaveProperty([`templates/${name}`]);
    const versions = { ...manifest.dependencies, ...manifest.devDependencies };
    expect(versions["mcp-edge"]).toBe(`^${version}`);
    for (const [dependency, wanted] of Object.entries(versions))
      expect(wanted, dependency).toMatch(/^\^?\d+\.\d+\.\d+$/);
    expect(Object.keys(manifest.scripts)).toEqual(
      expect.arrayContaining(["start", "stdio", "test", "check", "deploy"]),
    );
    for (const file of ["tsconfig.json", "vitest.config.ts", "wrangler.toml"]) expect(read(file)).not.toContain("../");
  });

  test("has the files of a project, and its README has its own two commands and the deploy button", () => {
    const ignored = read(".gitignore").split("\n");
    expect(ignored).toEqual(expect.arrayContaining(["node_modules/", ".wrangler/", ".dev.vars*"]));
    expect(read("wrangler.toml")).toMatch(new RegExp(`^name = "${name}"$`, "m"));
    const readme = read("README.md");
    expect(readme).toContain("npm install && npm start");
    expect(readme).toContain("npm install && npm test");
    expect(readme).toContain("https://deploy.workers.cloudflare.com/?url=");
  });
});

test("each example is in the file that the guide specifies", () => {
  const guide = readFileSync(join(ROOT, "docs/guides/projects.md"), "utf8");
  const rows = [...guide.matchAll(/^\| (.*) \| \[.*\]\(\.\.\/\.\.\/(templates\/.*\.ts)\) \|$/gm)];
  expect(rows.length).toBeGreaterThan(5);
  for (const [, example = "", file = ""] of rows) {
    const text = readFileSync(join(ROOT, file), "utf8");
    for (const [, name] of example.matchAll(/`([^`]+)`/g)) expect(text, file).toContain(`"${name}"`);
  }
});
