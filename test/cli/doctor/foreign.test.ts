// @module-tag long
/** `mcp-edge doctor` raises no false alarm on released servers of other projects, and none on a server of mcp-edge on workerd. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { serveSessions, serveSse, serveStateless } from "../../client/fixtures/official.ts";
import { serveBoth } from "../../client/fixtures/official-2.ts";
import { startEverything } from "../../client/fixtures/reference-servers.ts";
import { Workerd } from "../../harness/workerd.ts";
import { NODE } from "../../oracle/node.ts";
import { doctor, doctorIn, idsOf, plant, recognized } from "./planted.ts";

const FIXTURES = join(import.meta.dirname, "../../client/fixtures");

/** Returns the program of a reference server. */
function reference(name: string): string {
  const manifest = createRequire(import.meta.url).resolve(`@modelcontextprotocol/${name}/package.json`);
  return join(manifest, "../dist/index.js");
}

interface Foreign {
  readonly name: string;
  /** The facts that the doctor reports, and that are true. */
  readonly found?: readonly string[];
  readonly open: () => Promise<AsyncDisposable & { readonly url: string }>;
}

const everything = async (transport: "sse" | "streamableHttp", path: string) => {
  const running = await startEverything(transport);
  return { url: running.origin + path, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
};

const OVER_HTTP: readonly Foreign[] = [
  {
    name: "server-everything, Streamable HTTP",
    // It responds with 400 to an unknown session; the specification requires 404.
    found: ["session-404 degrades"],
    open: () => everything("streamableHttp", "/mcp"),
  },
  {
    name: "server-everything, HTTP+SSE",
    found: ["legacy-transport degrades"],
    open: () => everything("sse", "/sse"),
  },
  { name: "SDK 1.32, sessions", open: serveSessions },
  { name: "SDK 1.32, without sessions", open: serveStateless },
  { name: "SDK 1.32, HTTP+SSE", found: ["legacy-transport degrades"], open: serveSse },
  { name: "SDK 2.4, both eras", open: serveBoth },
];

test.each(OVER_HTTP)("no false alarm on $name", { timeout: 60_000 }, async ({ open, found = [] }) => {
  await using server = await open();
  const report = await doctor(server.url);
  expect(idsOf(report)).toEqual(found);
  expect(report.code).toBe(0);
});

const PROGRAMS: readonly (readonly [name: string, ...command: string[]])[] = [
  ["server-everything, stdio", reference("server-everything"), "stdio"],
  ["server-filesystem", reference("server-filesystem"), tmpdir()],
  ["server-memory", reference("server-memory")],
  ["SDK 1.32, stdio", join(FIXTURES, "official-stdio.ts")],
  ["SDK 2.4, stdio", join(FIXTURES, "official-2-stdio.ts")],
];

test.each(PROGRAMS)("no false alarm on %s", { timeout: 60_000 }, async (_name, ...command) => {
  const report = await doctor("--", NODE, ...command);
  expect(idsOf(report)).toEqual([]);
  expect(report.code).toBe(0);
});

test("no false alarm on the reference server on workerd, with sessions and streams", { timeout: 60_000 }, async () => {
  const worker = await Workerd.start({ entry: "src/reference/index.ts", objects: ["McpObject"] });
  try {
    const report = await doctor(`${worker.origin}/mcp`);
    // A tool for the official suite has anyOf at the top level of its schema.
    expect(idsOf(report)).toEqual(["schema-combined degrades"]);
    expect(report.usesMcpEdge).toBe(true);
  } finally {
    await worker.stop();
  }
});

test("in a project, the configuration is checked as well", { timeout: 60_000 }, async () => {
  // Within node_modules, because the command loads the project's wrangler.
  const folder = mkdtempSync(join(import.meta.dirname, "../../../node_modules/.doctor-"));
  try {
    mkdirSync(join(folder, "src"));
    writeFileSync(join(folder, "package.json"), '{ "dependencies": { "mcp-edge": "*" } }');
    writeFileSync(join(folder, "src/index.ts"), 'import { durable } from "mcp-edge/worker/durable";');
    writeFileSync(
      join(folder, "wrangler.toml"),
      'name = "own"\nmain = "src/index.ts"\ncompatibility_date = "2026-11-18"\n',
    );
    await using other = await plant();
    expect(idsOf(await doctorIn(folder, other.url))).toEqual([]);
    await using server = await plant({ reply: recognized("not-jsonrpc") });
    const report = await doctorIn(folder, server.url);
    expect(idsOf(report)).toEqual(["config-export-missing breaks", "config-migration-missing breaks"]);
    expect(new Set(report.hosts.map(({ outcome }) => outcome))).toEqual(new Set(["works", "unreachable"]));
    expect(report.code).toBe(3);
    expect(report.findings[0]?.fix).toContain("export class McpObject extends app.McpObject {}");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
