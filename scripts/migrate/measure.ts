/** Measures the migration of public servers: whether they compile, and whether they answer as before. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { readProject, writeChanges } from "../../packages/migrate/src/files.ts";
import { migrate } from "../../packages/migrate/src/migrate.ts";
import { ROOT } from "../tools.ts";
import { type Answers, askFetch, askPort, askProcess } from "./ask.ts";
import { differences, normalize } from "./compare.ts";
import { PUBLIC_SERVERS, type PublicServer } from "./servers.ts";

/** The outcome for one server. */
export interface Row {
  readonly server: string;
  readonly files: number;
  /** The number of notes for the author. */
  readonly notes: number;
  readonly compiles: string;
  readonly equal: string;
  readonly failure: string;
}

interface Options {
  readonly packages: string;
  readonly only?: string;
  readonly keep?: string;
}

/** Measures all servers and prints a row for each. */
export async function measure(sources: string, { packages, only = "", keep }: Options): Promise<Row[]> {
  const work = keep ?? mkdtempSync(join(tmpdir(), "migrate-"));
  const rows: Row[] = [];
  console.log("| server | files | notes | compiles | equal | failure |\n| --- | --- | --- | --- | --- | --- |");
  for (const server of PUBLIC_SERVERS.filter(({ folder }) => folder.includes(only))) {
    const row = await measureServer(server, sources, packages, join(work, server.folder.replaceAll("/", "_")));
    rows.push(row);
    console.log(
      `| ${row.server} | ${row.files} | ${row.notes} | ${row.compiles} | ${row.equal} | ${row.failure.replaceAll("|", "\\|")} |`,
    );
  }
  if (keep === undefined) rmSync(work, { recursive: true, force: true });
  return rows;
}

async function measureServer(server: PublicServer, sources: string, packages: string, work: string): Promise<Row> {
  rmSync(work, { recursive: true, force: true });
  const [before, after] = [join(work, "before"), join(work, "after")];
  for (const folder of [before, after]) prepare(server, sources, packages, folder);
  const { folder, files } = readProject(after);
  const { changes, todos } = migrate(files, "0.1.0");
  writeChanges(folder, changes);
  const failures = todos.map(({ path, line, text }) => `${path}:${line} ${text}`);
  const errors = newErrors(
    before,
    after,
    changes.map(({ path }) => path),
    server.entry,
  );
  const equal = await compare(server, before, after).catch(
    (error: Error) => `no: ${error.message.replaceAll(/\s+/g, " ").slice(0, 300)}`,
  );
  return {
    server: server.folder.replace(/^[^+]*\+/, ""),
    files: changes.length,
    notes: todos.length,
    compiles: errors.length === 0 ? "yes" : `no (${errors.length})`,
    equal,
    failure: [...errors, ...failures].slice(0, 6).join("; "),
  };
}

/** Copies a server, and links the packages. The built kit is linked as `mcp-edge`. */
function prepare(server: PublicServer, sources: string, packages: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  cpSync(join(sources, server.folder), folder, {
    recursive: true,
    filter: (path) =>
      !path.includes("node_modules") && path !== join(sources, server.folder, server.without ?? "node_modules"),
  });
  const target = join(folder, "node_modules");
  mkdirSync(target);
  for (const name of readdirSync(packages)) {
    if (name.startsWith(".") || (name.startsWith("@") && server.links)) continue;
    symlinkSync(join(packages, name), join(target, name));
  }
  if (server.links) linkScopes(packages, target);
  if (!existsSync(join(target, "mcp-edge"))) symlinkSync(ROOT, join(target, "mcp-edge"));
  for (const [name, from] of Object.entries(server.links ?? {})) {
    mkdirSync(dirname(join(target, name)), { recursive: true });
    symlinkSync(join(sources, from), join(target, name));
  }
}

function linkScopes(packages: string, target: string): void {
  for (const scope of readdirSync(packages).filter((name) => name.startsWith("@"))) {
    mkdirSync(join(target, scope));
    for (const name of readdirSync(join(packages, scope)))
      symlinkSync(join(packages, scope, name), join(target, scope, name));
  }
}

/** The errors of the type checker that the server did not have before. */
function newErrors(before: string, after: string, changed: readonly string[], entry: string): string[] {
  const old = new Set(typeErrors(before, changed, entry).map(withoutLine));
  return typeErrors(after, changed, entry).filter((error) => !old.has(withoutLine(error)));
}

const withoutLine = (error: string) => error.replace(/\(\d+,\d+\)/, "");

function typeErrors(folder: string, changed: readonly string[], entry: string): string[] {
  const compilerOptions = {
    ...{ target: "ES2024", lib: ["ES2024", "DOM"], module: "ESNext", moduleResolution: "Bundler", jsx: "react-jsx" },
    ...{
      noEmit: true,
      strict: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      esModuleInterop: true,
      allowJs: true,
    },
    types: [
      "node",
      ...(readdirSync(folder).includes("worker-configuration.d.ts") ? [] : ["@cloudflare/workers-types"]),
    ],
  };
  const declarations = readdirSync(folder).filter((name) => name.endsWith(".d.ts"));
  const files = [...new Set([entry, ...changed.filter((name) => /\.tsx?$/.test(name)), ...declarations])];
  writeFileSync(join(folder, "tsconfig.measure.json"), JSON.stringify({ compilerOptions, files, include: [] }));
  const { stdout } = spawnSync(`${ROOT}node_modules/.bin/tsc`, ["-p", "tsconfig.measure.json", "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
  });
  return stdout
    .split("\n")
    .filter((line) => /^\S.*error TS/.test(line))
    .map((line) => line.slice(0, 300));
}

async function compare(server: PublicServer, before: string, after: string): Promise<string> {
  if (server.run === "none") return `not asked: ${server.why}`;
  const old = await askServer(server, before);
  const again = await askServer(server, before);
  const migrated = await askServer(server, after);
  const different = differences(old, again, migrated);
  if (process.env.SHOW) {
    for (const key of different) {
      console.log(
        key,
        "\n OLD",
        JSON.stringify(normalize(key, old[key])).slice(0, 1500),
        "\n NEW",
        JSON.stringify(normalize(key, migrated[key])).slice(0, 1500),
      );
    }
  }
  const count = Object.keys(old).length;
  return different.length === 0
    ? `yes (${count})`
    : `no: ${different.length} of ${count}: ${different.join(", ").slice(0, 300)}`;
}

async function askServer(server: PublicServer, folder: string): Promise<Answers> {
  const outfile = join(folder, "bundle.mjs");
  const data = mkdtempSync(join(tmpdir(), "asked-"));
  try {
    const banner =
      "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";
    await build({
      ...{
        entryPoints: [join(folder, server.entry)],
        outfile,
        bundle: true,
        format: "esm",
        platform: "node",
        target: "node22",
      },
      ...{ banner: { js: banner }, logLevel: "silent", external: ["cloudflare:*"] },
      // Modules that Express requires have no such conditions, or the wrong ones.
      conditions: server.run === "http" ? [] : ["worker", "import"],
    });
    const args = (server.args ?? []).map((arg) => (arg === "FOLDER" ? data : arg));
    if (server.run === "stdio") return await askProcess([process.execPath, outfile, ...args], data);
    if (server.run === "http") return await askPort([process.execPath, outfile, ...args], data, server.port ?? 3000);
    const module = (await import(`${pathToFileURL(outfile).href}?${Math.random()}`)) as Record<string, unknown>;
    const handle = (module.POST ?? (module.default as { fetch?: unknown }).fetch) as (
      ...args: unknown[]
    ) => Promise<Response>;
    const execution = { waitUntil() {}, passThroughOnException() {}, props: {} };
    return await askFetch(
      (request) => Promise.resolve(handle.call(module.default, request, {}, execution)),
      "http://127.0.0.1/mcp",
    );
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}
