// @module-tag long
/** Compiles every block of code in documents for users and in doc comments, and runs those that are servers. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readSurface } from "../../scripts/api/surface.ts";
import { startWorker } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";
import { runToolQuietly } from "../harness/tools.ts";
import { commentBlocks, documentBlocks, isSnippet, moduleOf } from "./blocks.ts";

expectLogs(
  // bearer(), at the first request.
  /^mcp-edge: tokens must have the issuer/,
  // The hooks of the guides.
  /^server\/discover ok \d+$/,
  /^(call )?undefined (undefined )?ok$/,
  // serveHttp() in a doc comment.
  /^Serving at http:\/\/127\.0\.0\.1:8787|^On Node there are no Durable Objects|^http:\/\/127\.0\.0\.1:8787\/mcp/,
);

const ROOT = join(import.meta.dirname, "../..");
const exportsOf = new Map(readSurface().map(({ module, names }) => [module, names.map(({ name }) => name)]));
const documents = documentBlocks();
const programs = [...documents, ...commentBlocks()].filter(({ language }) => language === "ts" || language === "js");

/** Inside the package, so that imports of the package's name resolve to the build. */
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(ROOT, "dist/blocks-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Declarations that the program or the function around a block would contain. */
const GLOBALS = `
interface Env { readonly CITY: string; readonly FILES: R2Bucket }
declare const ctx: import("mcp-edge").HandlerContext;
declare const worker: import("mcp-edge/testing").TestWorker;
declare const call: object;
declare const body: string;
declare class SomeClient { constructor(url: string) }
`;

function fileOf(title: string): string {
  return `${title.replaceAll(/[^\w]+/g, "-")}.ts`;
}

test("finds blocks in the README, in doc comments and in the template", () => {
  for (const start of ["README.md", "src/core", "src/worker"]) {
    expect(programs.filter(({ title }) => title.startsWith(start)).length, start).toBeGreaterThan(0);
  }
  expect(documents.filter(({ title }) => title.startsWith("templates/")).length).toBeGreaterThan(0);
});

test("every program in the documentation type-checks against the built package", { timeout: 120_000 }, () => {
  for (const block of programs)
    writeFileSync(join(folder, fileOf(block.title)), moduleOf(block, exportsOf, folder).source);
  writeFileSync(join(folder, "globals.d.ts"), GLOBALS);
  const config = { extends: join(ROOT, "tsconfig.json"), include: ["."], exclude: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  expect(runToolQuietly("tsc", ["-p", folder, "--noEmit"])).toEqual({ status: 0, output: "" });
});

const COMMANDS = /^sh$|^bash$/;
/** Placeholders for the reader to fill in. */
const PLACE = /\.\.\./g;

test.each(documents.filter(({ language }) => language !== "ts"))("$title is valid $language", ({ language, text }) => {
  if (language === "json") JSON.parse(text);
  else if (COMMANDS.test(language)) {
    const { status, stderr } = spawnSync("sh", ["-n"], { input: text.replaceAll(PLACE, ""), encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  } else if (language === "toml") {
    expect(text).toMatch(/^(\[\[?[\w.]+\]?\]|\w+ = .+)$/m);
  } else expect(["mermaid", "text", "js"], `the language of ${text}`).toContain(language);
});

/** Servers that snippets.test.ts does not run. */
const servers = programs.filter((block) => {
  const { text } = block;
  const isServer = /\bserver\.\w+\(|\bedge\(|new McpServer/.test(text);
  return isServer && !isSnippet(block) && !/mcp-edge\/(node|testing)"|from "vitest"|^export const \{/m.test(text);
});

/** The binding of a class: its default name if it has one. */
function bindingOf(name: string): string {
  if (name === "McpTaskWorkflow") return "MCP_TASK_WORKFLOW";
  return name === "McpObject" ? "MCP" : name.toUpperCase();
}

describe("servers in the documentation", () => {
  test.each(servers)("$title serves requests on workerd", { timeout: 60_000 }, async (block) => {
    const { source } = moduleOf(block, exportsOf, folder);
    const hasServer = /^(?:export )?const (\w+) = new McpServer/m.exec(source)?.[1] ?? "server";
    const isWhole = /^export default /m.test(source);
    const started = isWhole || /^edge\(/m.test(source) ? source : `${source}\nexport default serve(${hasServer});\n`;
    const imports = [
      'import { edge as serve } from "mcp-edge/worker";',
      hasServer === "server" && !/\bserver\b.*from|const server/.test(source)
        ? `import { server } from "${join(import.meta.dirname, "fixtures/ambient.ts")}";`
        : "",
    ];
    const whole = `${imports.join("\n")}\n${started.replace(/^edge\(/m, "export default edge(")}`;
    const file = join(folder, `run-${fileOf(block.title)}`);
    writeFileSync(file, whole);
    expect(readFileSync(file, "utf8")).toContain("export default");
    const classes = [...source.matchAll(/^export class (\w+) extends \w+\.(\w+)/gm)];
    const named = (base: string) =>
      Object.fromEntries(classes.filter((found) => found[2] === base).map(([, name = ""]) => [bindingOf(name), name]));
    const [objects, workflows] = [named("McpObject"), named("McpTaskWorkflow")];
    await using worker = await startWorker({ entry: file, objects, workflows, bindings: { CITY: "Lisbon" } });
    const message = {
      jsonrpc: "2.0",
      id: 1,
      method: "server/discover",
      params: {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "reader", version: "1.0.0" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    };
    const [, path = "/mcp"] = (isWhole && /\bedge\(server, \{ path: "([^"]+)"/.exec(source)) || [];
    const response = await fetch(worker.url(path), {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "server/discover",
      },
      body: JSON.stringify(message),
    });
    // A server that requires a token responds with a challenge.
    if (
      /bearer\(|authenticate\(|authorizationServer\(|cloudflareAccess\(|userId/.test(source) &&
      response.status === 401
    )
      return expect(response.headers.get("WWW-Authenticate")).toMatch(/^Bearer\b/);
    expect(await response.json()).toMatchObject({ result: { supportedVersions: ["2026-07-28"] } });
  });
});
