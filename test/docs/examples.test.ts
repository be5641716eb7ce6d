// @module-tag long
/** The tests that the documents print are run, as printed, in projects like those of their readers. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readSurface } from "../../scripts/api/surface.ts";
import { runToolQuietly } from "../harness/tools.ts";
import { type Block, documentBlocks, moduleOf } from "./blocks.ts";

const ROOT = join(import.meta.dirname, "../..");
const exportsOf = new Map(readSurface().map(({ module, names }) => [module, names.map(({ name }) => name)]));
const blocks = documentBlocks().filter(({ language, title }) => language === "ts" && /^docs\//.test(title));

/** The README's server of dice, with the tools that the examples call. */
const SERVER = `
import { McpServer, ToolError } from "mcp-edge";
import * as z from "zod";
export const server = new McpServer({ name: "dice", version: "1.0.0" });
server.tool("hello", {}, () => "Hello!");
server.tool("roll", {
  annotations: { readOnlyHint: true },
  input: z.object({ count: z.number().int().min(1).max(100).default(1), sides: z.number().int().min(2).default(6) }),
  output: z.object({ rolls: z.array(z.number()), sum: z.number() }),
}, ({ count, sides }) => {
  if (sides > 1000) throw new ToolError("No dice have more than 1000 sides. Ask for fewer.");
  const rolls = Array.from({ length: count }, () => 1 + Math.floor(Math.random() * sides));
  return { rolls, sum: rolls.reduce((sum, roll) => sum + roll, 0) };
});
server.tool("order", {}, async (_, ctx) => {
  const answer = await ctx.elicit("Which size?", z.object({ size: z.enum(["S", "M"]) }));
  return answer.action === "accept" ? answer.content.size : "Nothing.";
});
`;
const WORKER = `
import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { server } from "./server.ts";
const app = edge(server, { use: [durable()] });
export default app;
export class McpObject extends app.McpObject {}
`;
const CONFIGURATION = `
name = "dice"
main = "src/index.ts"
compatibility_date = "2026-10-20"
compatibility_flags = ["enable_request_signal"]
[exports.McpObject]
type = "durable-object"
storage = "sqlite"
`;

/** Inside the package, so that its modules can import the package by name. */
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(ROOT, "dist/examples-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs tests in a project with a Worker, all of which must pass, and returns their names. Only their time limits are changed. */
function passedTests(name: string, worker: string, tests: readonly Block[], server: string = SERVER): string[] {
  const project = join(folder, name);
  const files: Record<string, string> = {
    "package.json": '{ "type": "module" }',
    "wrangler.toml": CONFIGURATION,
    "vitest.config.mjs": "export default {};",
    "src/server.ts": server,
    "src/index.ts": worker,
  };
  for (const [at, { text: printed }] of tests.entries()) {
    const text = printed.replaceAll(/\{ timeout: [\d_]+ \}/g, "{ timeout: 200_000 }");
    // Some tests are printed with all of their imports.
    if (isOfFiles({ title: "", language: "ts", text })) {
      files[`test/${at}.test.ts`] = text;
      continue;
    }
    const own = /\bserver\b/.test(text) ? 'import { server } from "../src/server.ts";\n' : "";
    files[`test/${at}.test.ts`] =
      own + moduleOf({ title: "", language: "ts", text: own + text }, exportsOf, project).source.replace(own, "");
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  }
  const report = join(project, "report.json");
  const args = [
    "run",
    "--reporter=json",
    `--outputFile=${report}`,
    "--testTimeout=200000",
    "--maxWorkers=1",
    "--no-isolate",
  ];
  const { output } = runToolQuietly("vitest", args, project);
  expect(existsSync(report), output).toBe(true);
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
  expect(testResults.flatMap(({ message, assertionResults }) => [message, ...assertionResults.map(problemOf)])).toEqual(
    testResults.flatMap(({ assertionResults }) => ["", ...assertionResults.map(() => "")]),
  );
  return testResults.flatMap(({ assertionResults }) => assertionResults.map(({ title }) => title));
}

interface Report {
  readonly testResults: readonly { readonly message: string; readonly assertionResults: readonly Assertion[] }[];
}
interface Assertion {
  readonly title: string;
  readonly status: string;
  readonly failureMessages?: readonly string[];
}

/** Returns why a test did not pass, or an empty string. */
function problemOf({ title, status, failureMessages = [] }: Assertion): string {
  return status === "passed" ? "" : [title, status, ...failureMessages].join(": ");
}

const tests = blocks.filter(({ text }) => text.includes('from "vitest"'));
/** Tests of a Worker that their document prints, too. */
const ofOwnWorker = (marker: string) => (block: Block) => block.text.includes(marker);
const isProtected = ofOwnWorker("https://tokens.example.com");
const isTemperature = ofOwnWorker("to_celsius");
const isOfFiles = ofOwnWorker("sort_report");

test("the tests of a server without authorization pass as printed", { timeout: 900_000 }, () => {
  const open = tests.filter((block) => ![isProtected, isTemperature, isOfFiles].some((isPart) => isPart(block)));
  expect(passedTests("open", WORKER, open)).toEqual(
    expect.arrayContaining([
      "adds",
      "orders the size that the user chose",
      "a session survives a crash of the server",
      "refuses other web pages and invalid arguments, and does not reveal its code",
      "serves 1,000 calls of 50 clients without a session",
      "a modern call needs no session",
      "a session outlives the process of its server",
      "says hello to a client of 2025-11-25",
      "says hello to a client of 2026-07-28",
    ]),
  );
});

test.each([
  { name: "a protected server", isPart: isProtected, title: "admits only callers with a token" },
  { name: "the server for coding agents", isPart: isTemperature, title: "converts" },
])("the test of $name passes as printed", { timeout: 900_000 }, ({ name, isPart, title }) => {
  const [worker = ""] = blocks
    .filter(({ text }) => isPart({ title: "", language: "ts", text }) && text.includes("export default"))
    .map(({ text }) => text);
  const needsServer = /edge\(server/.test(worker) && !/const server/.test(worker);
  const source = needsServer ? `import { server } from "./server.ts";\n${worker}` : worker;
  expect(passedTests(name.replaceAll(" ", "-"), source, tests.filter(isPart))).toEqual([title]);
});

test("the tests of the server with files pass as printed, with the server of the guide", { timeout: 900_000 }, () => {
  const guide = blocks.filter(({ title }) => title.startsWith("docs/guides/files.md"));
  const [server = ""] = guide.filter(({ text }) => text.includes("addFiles(server)")).map(({ text }) => text);
  const [worker = ""] = guide.filter(({ text }) => text.includes("export default")).map(({ text }) => text);
  const titles = ["sorts an uploaded report", "sorts a report in a folder"];
  expect(passedTests("files", worker, tests.filter(isOfFiles), server)).toEqual(titles);
});
