/**
 * The files of a project that parts can change.
 *
 * @module
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { printable } from "../../../core/basics/quote.ts";
import { isObject } from "../../../core/protocol/jsonrpc.ts";
import { usageError } from "../../exit.ts";
import { readText } from "../../files/files.ts";

/** A change to one file. */
export interface Change {
  /** The path relative to the project's folder, with `/`. */
  readonly path: string;
  /** The current text; empty for a new file. */
  readonly before: string;
  readonly after: string;
  /** Whether only the path and the number of lines are shown. */
  readonly isBrief?: boolean;
}

/** The changes that add a part, and what the user should do next. */
export interface Addition {
  readonly changes: readonly Change[];
  readonly next: readonly string[];
}

/** A file with its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** The files of a project that parts can change. */
export interface Project {
  /** The file that `main` in wrangler.toml names. */
  readonly entry: SourceFile;
  /** The file that creates the server, with the name of the server's variable. */
  readonly server: SourceFile & { readonly variable: string };
  /** All files in `src`. */
  readonly sources: readonly SourceFile[];
  readonly wrangler: SourceFile;
  readonly manifest: SourceFile;
  /** The entry for stdio, where the Worker's bindings do not exist; undefined if there is none. */
  readonly stdio: SourceFile | undefined;
}

const SERVER = /export const (\w+) = new McpServer\b/;

/**
 * Reads the project in a folder.
 *
 * @throws {CliError} naming what is missing.
 */
export function readProject(folder: string): Project {
  // Git on Windows may have converted the line ends.
  const read = (path: string) => ({
    path,
    text: (readText(join(folder, path)) ?? "").replaceAll("\r\n", "\n"),
  });
  for (const path of ["wrangler.toml", "package.json"]) {
    if (!existsSync(join(folder, path)))
      throw usageError(`This folder has no ${path}. Run the command in an mcp-edge project.`);
  }
  const wrangler = read("wrangler.toml");
  const main = /^main = "([^"]+)"/m.exec(wrangler.text)?.[1];
  if (main === undefined || !existsSync(join(folder, main))) {
    throw usageError("wrangler.toml has no main, or main names a file that does not exist.");
  }
  if (!existsSync(join(folder, "src")))
    throw usageError("This project has no folder src. Move its sources there, and change main in wrangler.toml.");
  const sources = readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => read(`src/${name.replaceAll("\\", "/")}`));
  const found = sources.find(({ text }) => SERVER.test(text));
  const variable = SERVER.exec(found?.text ?? "")?.[1];
  if (!found || variable === undefined) {
    throw usageError('No file in src contains "export const server = new McpServer(...)".');
  }
  const stdio = sources.find(({ path }) => path === "src/stdio.ts");
  return {
    entry: read(main),
    server: { ...found, variable },
    sources,
    wrangler,
    manifest: read("package.json"),
    stdio,
  };
}

/** Matches an import with its line end. Some projects write no semicolons, so only the line end shows where it ends. */
const IMPORT = /^import (?:[^;"'`()=]{0,2000}\bfrom )?\s*["'][^"'\n]*["'][^\n]*\n/gm;

/** What parts read in package.json. */
export interface Manifest {
  readonly scripts?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** Reads package.json. @throws {CliError} if it is not JSON of the usual form, so that a change would damage it. */
export function readManifest({ manifest }: Project): Manifest {
  let whole: unknown;
  try {
    whole = JSON.parse(manifest.text);
  } catch (error) {
    throw usageError(`${manifest.path} is not JSON: ${printable((error as Error).message)}. Nothing was changed.`);
  }
  const isFit = (value: unknown) =>
    value === undefined || (isObject(value) && Object.values(value).every((each) => typeof each === "string"));
  if (isObject(whole) && isFit(whole.scripts) && isFit(whole.devDependencies)) return whole;
  throw usageError(`${manifest.path} is not an object with scripts and devDependencies. Nothing was changed.`);
}

/** Inserts an import after the last one of a module. */
export function withImport(text: string, line: string): string {
  if (text.split("\n").includes(line)) return text;
  const imports = [...text.matchAll(IMPORT)];
  const last = imports.at(-1);
  const at = last ? last.index + last[0].length : 0;
  return `${text.slice(0, at)}${line}\n${text.slice(at)}`;
}

/** Returns the relative path with which one file imports another. */
export function importPath(from: string, to: string): string {
  const up = from.split("/").length - 2;
  // Both are in src/.
  return (up <= 0 ? "./" : "../".repeat(up)) + to.slice("src/".length);
}
