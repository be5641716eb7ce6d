// @module-tag long
/** `mcp-edge add`: a project with every part compiles, passes its tests and works; what does not fit is refused. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { diffLines } from "../../src/cli/commands/add/diff.ts";
import { withImport } from "../../src/cli/commands/add/project.ts";
import { connect } from "../../src/client/index.ts";
import { clientTasks, startTask } from "../../src/client/tasks/index.ts";
import { startWorker } from "../../src/testing/index.ts";
import { ignoreLogs } from "../harness/logs.ts";
import { startHttpTap } from "../oracle/http-tap.ts";
import { NODE } from "../oracle/node.ts";
import { KEYS, Screen } from "./pty.ts";
import { CLI, cli } from "./run.ts";
import { copyTemplateTo, ROOT, runIn, writeTypes } from "./template-copy.ts";

ignoreLogs(/^mcp-edge: tokens must have the issuer/);

// Inside the package, so that the modules of the projects can import it by name.
const base = mkdtempSync(join(ROOT, "dist/added-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));

let project: string;
let count = 0;
beforeEach(() => {
  project = join(base, String(count++));
  copyTemplateTo(project, "weather");
});

const add = (...args: readonly string[]) => cli(["add", ...args], { cwd: project });
const read = (path: string) => readFileSync(join(project, path), "utf8");
const write = (path: string, text: string) => writeFileSync(join(project, path), text);

/** Runs a tool of the root in the project. */
const run = (tool: string, ...args: readonly string[]) => runIn(project, tool, ...args);

test("add tasks, d1 and test together makes a project that compiles, passes its tests, and has working tools", {
  timeout: 240_000,
}, async () => {
  for (const part of ["tasks", "d1", "test"]) {
    const ran = await add(part, "--yes");
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([0, "", expect.stringContaining("Added. Next:")]);
  }
  expect(writeTypes(project).status).toBe(0);
  expect(run("tsc")).toEqual({ status: 0, output: "" });
  const tests = run("vitest", "run");
  // The template's own and the added one.
  expect([tests.status, tests.output]).toEqual([0, expect.stringContaining("2 passed")]);
  const checked = await cli(["check-config"], { cwd: project });
  expect([checked.code, checked.stderr]).toEqual([0, ""]);

  await using worker = await startWorker({ root: project, wrangler: join(project, "wrangler.toml") });
  const tap = await startHttpTap(worker.url("/mcp"));
  const client = await connect(tap.url, { name: "test", version: "1.0.0", use: [clientTasks()] });
  const text = async (name: string, args: Record<string, unknown>) =>
    JSON.stringify((await client.callTool(name, args)).content);
  expect(await text("find_notes", {})).toContain("no such notes");
  // Over stdio there is no database, and the tools return an error.
  const local = await cli(["call", "add_note", "--text", "Buy milk", "--", NODE, join(project, "src/stdio.ts")]);
  expect([local.code, local.stdout]).toEqual([1, expect.stringContaining("in the Worker's database")]);
  await client.callTool("add_note", { text: "Buy milk'); DROP TABLE notes" });
  expect(await text("find_notes", { containing: "milk" })).toContain("DROP TABLE notes");
  const task = await startTask(client, "make_report", { subject: "tides" });
  await worker.evict("McpObject");
  expect(JSON.stringify((await task.result()).content)).toContain("tides: a fact about tides");
  await client.close();
  await tap.close();
  tap.oracle.expectClean();
});

test("add app makes a project that compiles, with a tool whose view is the one that npm run view builds", {
  timeout: 240_000,
}, async () => {
  const ran = await add("app", "--yes");
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([0, "", expect.stringContaining("npm run view")]);
  // The page is one line, of which only the beginning and the end are shown.
  expect(ran.stderr).toMatch(/^\+ {3}"<!doctype html>.*\.\.\. \(\d+ characters\) \.\.\..*$/m);
  expect(JSON.parse(read("package.json"))).toMatchObject({
    scripts: { view: "node view/build.ts", test: "vitest run" },
    devDependencies: { esbuild: expect.any(String), vitest: expect.any(String) },
  });
  expect(writeTypes(project).status).toBe(0);
  expect(run("tsc")).toEqual({ status: 0, output: "" });
  expect(run("tsc", "--project", "view")).toEqual({ status: 0, output: "" });
  const added = read("src/view-html.ts");
  expect(spawnSync(NODE, ["view/build.ts"], { cwd: project, encoding: "utf8" })).toMatchObject({ status: 0 });
  expect(read("src/view-html.ts")).toBe(added);

  await using worker = await startWorker({ root: project, wrangler: join(project, "wrangler.toml") });
  const tap = await startHttpTap(worker.url("/mcp"));
  const client = await connect(tap.url, { name: "test", version: "1.0.0" });
  const tool = (await client.tools().all()).find(({ name }) => name === "roll_dice");
  const { resourceUri = "" } = (tool?._meta?.ui ?? {}) as { resourceUri?: string };
  expect((await client.readResource(resourceUri)).contents).toMatchObject([
    { mimeType: "text/html;profile=mcp-app", text: expect.stringContaining("ui/initialize") },
  ]);
  expect((await client.callTool("roll_dice", { sides: 2 })).structuredContent).toMatchObject({ sides: 2 });
  await client.close();
  await tap.close();
  tap.oracle.expectClean();
  expect(await add("app", "--yes")).toMatchObject({ code: 2, stderr: expect.stringContaining("added before") });
});

const WEATHER = "edge(server, { use: [durable(), page(), anonymous()] })";

test.each([
  [WEATHER, "edge(server, { use: [durable(), page(), AUTH] })"],
  ["edge(server, { use: [durable(), page()] })", "edge(server, { use: [AUTH, durable(), page()] })"],
  ["edge(server, { use: [durable()] })", "edge(server, { use: [AUTH, durable()] })"],
  ["edge(server)", "edge(server, { use: [AUTH] })"],
])("add auth changes %s", async (before, after) => {
  write("src/index.ts", read("src/index.ts").replace(WEATHER, before));
  const ran = await add("auth", "--issuer", "https://login.example.com", "--yes");
  expect(ran.code).toBe(0);
  const text = read("src/index.ts");
  expect(text).toContain(after.replace("AUTH", 'bearer({ issuer: "https://login.example.com" })'));
  expect(text).toContain('import { bearer } from "mcp-edge/worker/auth";\n');
  expect(await add("auth", "--issuer", "https://login.example.com", "--yes")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("already authenticates callers"),
  });
});

test("add auth says which issuer it refuses, and why", async () => {
  expect(await add("auth", "--issuer", "http://login.example.com", "--yes")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("http://login.example.com is not an https: URL. Name the issuer of the tokens:"),
  });
});

test("a project with auth refuses callers without a token", { timeout: 60_000 }, async () => {
  await add("auth", "--issuer", "https://login.example.com", "--yes");
  await using worker = await startWorker({ root: project, wrangler: join(project, "wrangler.toml") });
  const answer = await fetch(worker.url("/mcp"), { method: "POST", body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
  expect(answer.status).toBe(401);
});

test("add recorder adds a Worker that compiles and can be deployed, and does not change the server's own bundle", {
  timeout: 240_000,
}, async () => {
  const issuer = ["--issuer", "https://login.example.com"];
  const bundled = (config: string) => {
    const ran = run("wrangler", "deploy", "--dry-run", "--outdir", "out", "--config", config);
    expect([ran.status, ran.output]).toEqual([0, expect.stringContaining("--dry-run")]);
    return readFileSync(join(project, "out", config === "wrangler.toml" ? "index.js" : "recorder.js"), "utf8");
  };
  const before = bundled("wrangler.toml");
  expect(await add("recorder", "--yes")).toMatchObject({ code: 2, stderr: expect.stringContaining("--issuer") });
  const ran = await add("recorder", ...issuer, "--yes");
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([0, "", expect.stringContaining("experimental in production")]);
  expect(ran.stderr).toContain("[observability] enabled = true");
  expect(read("wrangler.toml")).toContain('[[streaming_tail_consumers]]\nservice = "weather-recorder"\n');
  expect(read("wrangler.recorder.toml")).toContain('name = "weather-recorder"');
  expect(writeTypes(project).status).toBe(0);
  expect(run("tsc")).toEqual({ status: 0, output: "" });
  expect(bundled("wrangler.toml")).toBe(before);
  expect(bundled("wrangler.recorder.toml")).toContain("tailStream");
  expect(await add("recorder", ...issuer, "--yes")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("already"),
  });

  await using worker = await startWorker({ root: project, wrangler: join(project, "wrangler.recorder.toml") });
  const answer = await fetch(worker.url("/mcp"), { method: "POST", body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
  expect(answer.status).toBe(401);
});

test("add test replaces the script of npm init, and reports that a server with auth needs a token", async () => {
  write(
    "package.json",
    read("package.json").replace('"vitest run"', '"echo \\"Error: no test specified\\" && exit 1"'),
  );
  rmSync(join(project, "test"), { recursive: true });
  await add("auth", "--issuer", "https://login.example.com", "--yes");
  const ran = await add("test", "--yes");
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("Give the test a token, see ")]);
  expect(JSON.parse(read("package.json")).scripts.test).toBe("vitest run");
});

test("a project whose lines end with CR and LF keeps them, and is changed in the same places", async () => {
  const files = ["wrangler.toml", "package.json", "src/weather.ts", "src/index.ts"];
  for (const file of files) write(file, read(file).replaceAll("\n", "\r\n"));
  const ran = await add("d1", "--yes");
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("Added.")]);
  for (const file of files) expect(read(file).replaceAll("\r\n", ""), file).not.toContain("\n");
  expect(read("wrangler.toml")).toContain('[[d1_databases]]\r\nbinding = "DB"\r\n');
  expect(read("src/weather.ts")).toContain('import { addNotes } from "./notes.ts";\r\n');
});

test("--print shows the changes without making them", async () => {
  const before = read("wrangler.toml");
  const { code, stdout, stderr } = await add("d1", "--print");
  expect([code, stdout]).toEqual([0, ""]);
  expect(stderr).toContain('+ [[d1_databases]]\n+ binding = "DB"\n+ database_name = "weather-notes"\n');
  expect(stderr).toContain("new src/notes.ts\n");
  expect(stderr).toContain("- export const server = new McpServer({\n+ export const server = new McpServer<Env>({\n");
  expect([read("wrangler.toml"), existsSync(join(project, "src/notes.ts"))]).toEqual([before, false]);
});

test.each<[string, readonly string[], () => void, string]>([
  ["auth without an issuer", ["auth"], () => undefined, "--issuer https://login.example.com"],
  ["an issuer without https", ["auth", "--issuer", "http://a.example"], () => undefined, "--issuer"],
  ["a part that is unknown", ["login"], () => undefined, "Allowed choices are auth, tasks, d1, app, files, test"],
  ["a part without --yes or a terminal", ["tasks"], () => undefined, "Add --yes"],
  ["a file that exists", ["d1", "--yes"], () => write("src/notes.ts", "mine"), "src/notes.ts already exists"],
  ["a project without a server", ["tasks", "--yes"], () => rmSync(join(project, "src/weather.ts")), "new McpServer"],
  ["a folder without a project", ["tasks", "--yes"], () => rmSync(join(project, "wrangler.toml")), "no wrangler.toml"],
  [
    "tasks without objects",
    ["tasks", "--yes"],
    () => write("src/index.ts", "export default edge(server);"),
    "need Durable Objects",
  ],
  [
    "an edge() it does not know",
    ["auth", "--issuer", "https://a.example", "--yes"],
    () => write("src/index.ts", "edge(server, options)"),
    "has an unknown form",
  ],
])("add with %s is refused, and no file changes", async (_, args, prepare, text) => {
  prepare();
  const before = read("package.json");
  const { code, stderr } = await add(...args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
  expect(read("package.json")).toBe(before);
  expect(existsSync(join(project, "src/report.ts"))).toBe(false);
});

test("in a terminal the answer no leaves all files unchanged", async () => {
  using screen = new Screen(["add", "tasks"], {}, [NODE, CLI], project);
  await screen.shows("Make these changes?");
  screen.press("n");
  expect(await screen.ended()).toBe(5);
  expect(existsSync(join(project, "src/report.ts"))).toBe(false);
  using interrupted = new Screen(["add", "tasks"], {}, [NODE, CLI], project);
  await interrupted.shows("Make these changes?");
  interrupted.press(KEYS.ctrlC);
  expect(await interrupted.ended()).toBe(130);
  expect(existsSync(join(project, "src/report.ts"))).toBe(false);
});

describe("helpers of add", () => {
  const same = (text: string) => text;
  const paint = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same };

  test("find every removed and added line of a difference, in order", () => {
    const lines = fc.array(fc.constantFrom("a", "b", "c", "d"), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const shown = diffLines(`${before.join("\n")}\n`, `${after.join("\n")}\n`, paint).split("\n");
        const marked = (mark: string) => shown.filter((line) => line.startsWith(mark)).length;
        // What is not marked is common, so the lengths agree; equal texts have no marks.
        expect(before.length - marked("-")).toBe(after.length - marked("+"));
        if (before.join() === after.join()) expect(marked("-") + marked("+")).toBe(0);
        for (const line of shown.filter((each) => each.startsWith("-"))) expect(before).toContain(line.slice(2));
        for (const line of shown.filter((each) => each.startsWith("+"))) expect(after).toContain(line.slice(2));
      }),
    );
  });

  test.each([
    ["", 'import "x";\n'],
    ["const a = 1;\n", 'import "x";\nconst a = 1;\n'],
    [
      'import a from "a";\nimport {\n  b,\n} from "b";\n\nrun();\n',
      'import a from "a";\nimport {\n  b,\n} from "b";\nimport "x";\n\nrun();\n',
    ],
    ['import "x";\n', 'import "x";\n'],
  ])("add an import to %j", (before, after) => {
    expect(withImport(before, 'import "x";')).toBe(after);
  });
});
