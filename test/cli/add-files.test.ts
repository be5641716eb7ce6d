// @module-tag long
/** `mcp-edge add files`: a project with files compiles, passes its tests, and has a tool that takes and returns files. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, expect, test } from "vitest";
import { NODE } from "../oracle/node.ts";
import { cli } from "./run.ts";
import { copyTemplateTo, ROOT, runIn, writeTypes } from "./template-copy.ts";

// Inside the package, so that the modules of the projects can import it by name.
const base = mkdtempSync(join(ROOT, "dist/added-files-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));

let project: string;
let count = 0;
beforeEach(() => copyTemplate("weather"));

function copyTemplate(name: string): void {
  project = join(base, String(count++));
  copyTemplateTo(project, name);
}

const add = (...args: readonly string[]) => cli(["add", "files", ...args], { cwd: project });
const read = (path: string) => readFileSync(join(project, path), "utf8");
const write = (path: string, text: string) => writeFileSync(join(project, path), text);

/** Runs a tool of the root in the project. */
const run = (tool: string, ...args: readonly string[]) => runIn(project, tool, ...args);

/** Checks that the project compiles. */
function expectCompiles(): void {
  expect(writeTypes(project).status).toBe(0);
  expect(run("tsc")).toEqual({ status: 0, output: "" });
}

/** Calls the tool over stdio with a file in the open folder. Returns the text of the file that it returns. */
async function sortOverStdio(rows: string): Promise<string> {
  const folder = join(project, "open");
  mkdirSync(folder);
  writeFileSync(join(folder, "report.csv"), rows);
  const args = ["--report", "report.csv", "--descending", "--json"];
  const server = ["--env", `FILES_FOLDER=${folder}`, "--", NODE, join(project, "src/stdio.ts")];
  const { code, stdout, stderr } = await cli(["call", "sort_report", ...args, ...server]);
  expect([code, stderr]).toEqual([0, ""]);
  const [link] = (JSON.parse(stdout) as { content: { uri: string }[] }).content;
  return readFileSync(fileURLToPath(link?.uri ?? ""), "utf8");
}

test("add files makes a project that compiles and passes its tests, with a tool that also works over stdio", {
  timeout: 240_000,
}, async () => {
  const ran = await add("--yes");
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([0, "", expect.stringContaining("create_upload")]);
  expect(ran.stderr).toContain("~/mcp-files, or in FILES_FOLDER: see src/local-files.ts");
  expect(read("src/index.ts")).toContain("use: [durable(), files(store), page(), anonymous()]");
  expect(read("wrangler.toml")).not.toContain("FILES");
  expectCompiles();
  const tests = run("vitest", "run", "files");
  expect([tests.status, tests.output]).toEqual([0, expect.stringContaining("1 passed")]);
  const checked = await cli(["check-config"], { cwd: project });
  expect([checked.code, checked.stderr]).toEqual([0, ""]);
  expect(await sortOverStdio("name,price\r\na,1\r\nb,2")).toBe("name,price\nb,2\na,1\n");

  // Once more changes nothing.
  const [server, entry] = [read("src/weather.ts"), read("src/index.ts")];
  expect(await add("--yes")).toMatchObject({ code: 2, stderr: expect.stringContaining("already has files") });
  expect([read("src/weather.ts"), read("src/index.ts")]).toEqual([server, entry]);
  // Except for the bucket.
  expect(await add("--bucket", "--yes")).toMatchObject({ code: 0 });
  expect(read("src/weather.ts")).toBe(server);
  expect(read("src/index.ts")).toBe(entry.replace("files(store)", "files<Env>(store, { bucket: (env) => env.FILES })"));
  expect(await add("--bucket", "--yes")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("The files of this project already have a bucket. Nothing was changed."),
  });
});

test("add files --bucket stores a larger file in a bucket", { timeout: 240_000 }, async () => {
  const ran = await add("--bucket", "--yes");
  expect([ran.code, ran.stderr]).toEqual([
    0,
    expect.stringContaining("npx wrangler r2 bucket lifecycle add weather-files expire --expire-days 1"),
  ]);
  expect(read("wrangler.toml")).toContain('[[r2_buckets]]\nbinding = "FILES"\nbucket_name = "weather-files"\n');
  expectCompiles();
  const checked = await cli(["check-config"], { cwd: project });
  expect([checked.code, checked.stderr]).toEqual([0, ""]);
  // The added test, with more than 1 MB.
  const rows = '"name,price\\n" + "b,2\\n".repeat(500_000) + "a,1\\n"';
  const sorted = '"name,price\\na,1\\n" + "b,2\\n".repeat(500_000)';
  const text = read("test/files.test.ts");
  const larger = text.replace('"name,price\\nb,2\\na,1\\n"', rows).replace('"name,price\\na,1\\nb,2\\n"', sorted);
  expect(larger.match(/500_000/g)).toHaveLength(2);
  write("test/files.test.ts", larger);
  const tests = run("vitest", "run", "files");
  expect([tests.status, tests.output]).toEqual([0, expect.stringContaining("1 passed")]);
});

test.each(["assistant", "gateway", "jobs", "oauth"])(
  "the template %s compiles with files",
  {
    timeout: 240_000,
  },
  async (template) => {
    copyTemplate(template);
    const ran = await add("--yes");
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("Added. Next:")]);
    expect(ran.stderr.includes("Give the test a token")).toBe(template === "gateway" || template === "oauth");
    expect(read("src/stdio.ts")).toMatch(/^openLocalFiles\((store|fileStore)\);\nawait serveStdio\(/m);
    expectCompiles();
  },
);

test.each(["data", "app"])(
  "the template %s has files, and gets a bucket for them",
  {
    timeout: 240_000,
  },
  async (template) => {
    copyTemplate(template);
    expect(await add("--yes")).toMatchObject({ code: 2, stderr: expect.stringContaining("add files --bucket") });
    const ran = await add("--bucket", "--yes");
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("npx wrangler types")]);
    expectCompiles();
  },
);

test("a server and its Worker in one file get their store between them", { timeout: 120_000 }, async () => {
  const server = read("src/weather.ts");
  const entry = read("src/index.ts").replace(/^import \{ server \}.*\n/m, "");
  write("src/index.ts", `${server}\n${entry}`);
  rmSync(join(project, "src/weather.ts"));
  rmSync(join(project, "src/stdio.ts"));
  const ran = await add("--yes");
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("Added. Next:")]);
  expect(existsSync(join(project, "src/local-files.ts"))).toBe(false);
  expectCompiles();
  const tests = run("vitest", "run", "files");
  expect([tests.status, tests.output]).toEqual([0, expect.stringContaining("1 passed")]);
});

test("an entry for stdio of another form is not changed, and the command says what to write", async () => {
  write(
    "src/stdio.ts",
    'import { serveStdio } from "mcp-edge/node";\nserveStdio((await import("./weather.ts")).server);\n',
  );
  const before = read("src/stdio.ts");
  const ran = await add("--yes");
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("In src/stdio.ts, call openFolders()")]);
  expect(read("src/stdio.ts")).toBe(before);
  expect(existsSync(join(project, "src/local-files.ts"))).toBe(false);
});

const USED = "const app = edge(server, { use: [durable(), page(), anonymous()] });";

test.each<[string, (text: string) => string, string]>([
  ["a Worker without objects", (text) => text.replace(/^export class.*$/m, ""), "Files need Durable Objects"],
  ["two endpoints", (text) => text.replace(USED, `${USED}\nedge(server, { path: "/b" });`), "has several calls"],
  ["no endpoint", (text) => text.replace(USED, "const app = serve();"), "has no call of edge(server)"],
  [
    "options in a variable",
    (text) => text.replace(/edge\(server, .*\)/, "edge(server, options)"),
    "of an unknown form",
  ],
  ["another import", (text) => text.replace("{ server }", "* as all"), "does not import { server }"],
  ["a name that is taken", (text) => `${text}\nconst files = 1;\n`, "uses the name files for something else"],
])("add files with %s is refused, and no file changes", async (_, change, problem) => {
  write("src/index.ts", change(read("src/index.ts")));
  const before = ["src/index.ts", "src/weather.ts", "src/stdio.ts", "wrangler.toml"].map(read);
  const { code, stderr } = await add("--bucket", "--yes");
  expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
  expect(["src/index.ts", "src/weather.ts", "src/stdio.ts", "wrangler.toml"].map(read)).toEqual(before);
  expect(["src/sort-report.ts", "test/files.test.ts"].filter((path) => existsSync(join(project, path)))).toEqual([]);
});

test("a binding with the name of the bucket is not replaced", async () => {
  write("wrangler.toml", `${read("wrangler.toml")}\n[[kv_namespaces]]\nbinding = "FILES"\n`);
  const { code, stderr } = await add("--bucket", "--yes");
  expect([code, stderr]).toEqual([2, expect.stringContaining("already has a binding named FILES")]);
});

test("the plugin is added to the endpoint of the server, and not to another one", async () => {
  const admin = 'const admin = edge(adminServer, { path: "/admin", use: [durable()] });';
  const entry = read("src/index.ts");
  for (const [own, expected] of [
    [USED, "const app = edge(server, { use: [durable(), files(store), page(), anonymous()] });"],
    ['const app = edge(server, { path: "/mcp" });', 'const app = edge(server, { use: [files(store)], path: "/mcp" });'],
  ] as const) {
    for (const both of [`${admin}\n${own}`, `${own}\n${admin}`]) {
      copyTemplate("weather");
      write(
        "src/index.ts",
        entry.replace(USED, () => both),
      );
      const ran = await add("--yes");
      expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("Added. Next:")]);
      expect(read("src/index.ts")).toContain(both.replace(own, expected));
    }
  }
});

test("imports are added after the others, also without semicolons and before a text with one", async () => {
  const text = read("src/weather.ts").replace(/^(import .*);$/gm, "$1");
  write("src/weather.ts", `${text}\nexport const SQL = \`\nselect 1;\n\`;\n`);
  expect((await add("--yes")).code).toBe(0);
  expect(read("src/weather.ts")).toContain("`\nselect 1;\n`;\n");
  expect(read("src/weather.ts")).toMatch(/^import .*\nimport \{ addFiles \} from "mcp-edge\/files";\nimport .*\n\n/m);
});

test("a source that is not UTF-8 is refused, because a change would damage it", async () => {
  const bytes = Buffer.from(`// caf\xe9\n${read("src/weather.ts")}`, "latin1");
  writeFileSync(join(project, "src/weather.ts"), bytes);
  const { code, stderr } = await add("--yes");
  expect([code, stderr]).toEqual([2, expect.stringContaining("is not UTF-8 text")]);
  expect(readFileSync(join(project, "src/weather.ts")).equals(bytes)).toBe(true);
});

test.each(["null", "[]", "{", '{ "scripts": { "test": 5 } }', '{ "devDependencies": "none" }'])(
  "a package.json of another form is refused: %s",
  async (text) => {
    write("package.json", text);
    const { code, stderr } = await add("--yes");
    expect([code, stderr]).toEqual([2, expect.stringMatching(/package\.json is not .*\. Nothing was changed\.$/m)]);
    expect(read("package.json")).toBe(text);
  },
);
