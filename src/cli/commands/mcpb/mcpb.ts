/**
 * `mcp-edge mcpb`: bundles the stdio entry of a project into one file, starts it to list its tools, and packs the file and a manifest
 * into an archive.
 *
 * @module
 * @see https://github.com/modelcontextprotocol/mcpb, manifest 0.3
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { zipSync } from "fflate";
import { type Client, connect } from "../../../client/index.ts";
import { stdio } from "../../../node/index.ts";
import { loadEsbuild } from "../../../testing/tools.ts";
import { CliError, Exit, usageError } from "../../exit.ts";
import { writeProjectFile } from "../../files/files.ts";
import { readJsonFile } from "../../files/json-file.ts";
import { closeInTime } from "../../server/connection.ts";
import { listenForSignals, untilInterrupted } from "../../terminal/signals.ts";
import { counted, createTerminal } from "../../terminal/terminal.ts";
import { packageVersion } from "../../version.ts";
import type { McpbOptions } from "./options.ts";

/** The path of the program in the archive. */
const PROGRAM = "server/index.mjs";

/**
 * The modification time of all files, so that the same files give the same archive: the earliest time that the format supports. ZIP
 * archives store local time without a time zone.
 */
const MTIME = new Date(1980, 0, 1);

/** The members of package.json that the manifest needs. */
interface PackageFacts {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly license?: string;
  readonly author: string;
  /** The supported versions of Node, from `engines`. */
  readonly node: string;
}

/** The oldest version of Node that mcp-edge supports. The program is bundled for it. */
const NODE_MIN = 20;

/** Runs the command and returns its exit code. */
export async function packMcpb({ entry, out }: McpbOptions): Promise<number> {
  const terminal = createTerminal();
  if (!existsSync(entry)) throw usageError(`${entry} does not exist. Name the file that calls serveStdio(): --entry`);
  const project = readProject();
  const interruption = listenForSignals();
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-mcpb-"));
  try {
    const program = await untilInterrupted(bundle(entry), interruption.signal);
    const path = join(folder, basename(PROGRAM));
    writeFileSync(path, program);
    const manifest = await describe(path, project, interruption.signal);
    const files = {
      "manifest.json": Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`),
      [PROGRAM]: program,
    };
    const archive = zipSync(files, { level: 9, mtime: MTIME });
    const target = out ?? `${project.name}-${project.version}.mcpb`;
    writeProjectFile(target, archive);
    terminal.note(`${target}: ${counted(manifest.tools.length, "tool")}, ${(archive.length / 1024).toFixed(1)} KiB`);
    return Exit.ok;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    interruption.stop();
  }
}

/** @throws {CliError} naming the member that is missing in package.json. */
function readProject(): PackageFacts {
  const manifest = readJsonFile("package.json");
  if (!manifest) throw usageError("This folder has no package.json. Run the command in your project.");
  const text = (name: string) => (typeof manifest[name] === "string" ? (manifest[name] as string) : "");
  const { author } = manifest;
  const authorName =
    typeof author === "string" ? author.replace(/\s*[<(].*$/, "") : (author as { name?: string } | undefined)?.name;
  for (const [name, value] of Object.entries({ name: text("name"), version: text("version"), author: authorName })) {
    if (!value)
      throw usageError(`package.json has no ${name}, which the manifest requires. Run: npm pkg set ${name}="..."`);
  }
  const [description, license] = [text("description"), text("license")];
  const { node = `>=${NODE_MIN}` } = (manifest.engines ?? {}) as { node?: string };
  return {
    name: text("name").replace(/^@.*\//, ""),
    version: text("version"),
    author: authorName ?? "",
    node,
    ...(description ? { description } : {}),
    ...(license ? { license } : {}),
  };
}

/** Bundles a module with everything that it imports. */
async function bundle(entry: string): Promise<Uint8Array> {
  const { build } = await loadEsbuild(process.cwd());
  try {
    const { outputFiles } = await build({
      entryPoints: [resolve(entry)],
      bundle: true,
      write: false,
      platform: "node",
      format: "esm",
      target: `node${NODE_MIN}`,
      logLevel: "silent",
      // Bundled CommonJS packages call require, which ES modules do not have.
      banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    });
    return outputFiles[0]?.contents ?? new Uint8Array();
  } catch (error) {
    throw new CliError(Exit.usage, `${entry} cannot be bundled: ${(error as Error).message}`);
  }
}

/** Starts the bundled server, and returns its manifest. */
async function describe(path: string, project: PackageFacts, signal: AbortSignal) {
  const { name, version, description, license, author, node } = project;
  const transport = stdio({ command: process.execPath, args: [path] });
  const facts = { name: "mcp-edge", version: packageVersion() };
  let client: Client | undefined;
  try {
    client = await untilInterrupted(connect(transport, facts), signal);
    const { info, capabilities, instructions } = client.server;
    const tools = capabilities.tools ? await client.tools({ signal }).all() : [];
    return {
      manifest_version: "0.3",
      name,
      ...(info?.title === undefined ? {} : { display_name: info.title }),
      version,
      description: description ?? info?.description ?? firstSentence(instructions) ?? `The MCP server ${name}`,
      author: { name: author },
      ...(license === undefined ? {} : { license }),
      server: {
        type: "node",
        entry_point: PROGRAM,
        // The host replaces __dirname with the folder of the bundle.
        mcp_config: { command: "node", args: [`$\{__dirname}/${PROGRAM}`], env: {} },
      },
      tools: tools.map((tool) => ({ name: tool.name, ...(tool.description ? { description: tool.description } : {}) })),
      // The manifest would have to contain the text of prompts, which only the server can create.
      ...(capabilities.prompts ? { prompts_generated: true } : {}),
      compatibility: { runtimes: { node } },
    };
  } catch (error) {
    signal.throwIfAborted();
    throw new CliError(Exit.connection, `The bundled server does not start: ${(error as Error).message}`);
  } finally {
    await closeInTime(client, transport);
  }
}

function firstSentence(text: string | undefined): string | undefined {
  return text === undefined ? undefined : /^[^.\n]+\.?/.exec(text)?.[0];
}
