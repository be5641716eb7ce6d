/**
 * The files of the page that the recorder shows.
 *
 * @module
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** A file with its type. */
export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The files by their paths in `/__mcp-edge/`. */
const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "": ["index.html", "text/html; charset=utf-8"],
  "app.js": ["app.js", "text/javascript; charset=utf-8"],
  "app.css": ["app.css", "text/css; charset=utf-8"],
};

/** Where the build puts them: beside this room in the package, or in `dist` of the repository. */
const FOLDERS = ["../../page-app", "../../../dist/page-app"].map((path) => join(import.meta.dirname, path));

/** Returns a file of the page. Undefined if there is none of this path. */
export async function readPageFile(path: string): Promise<PageFile | undefined> {
  const [name, type] = FILES[path] ?? [];
  if (name === undefined || type === undefined) return undefined;
  for (const folder of FOLDERS) {
    const bytes = await readFile(join(folder, name)).catch(() => undefined);
    if (bytes) return { type, bytes };
  }
  return undefined;
}
