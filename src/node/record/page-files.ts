/**
 * The files of the page that the recorder shows, with the headers that the build has written for them.
 *
 * @module
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** A file with its headers. */
export interface PageFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

/** Where the build puts the files: beside this room in the package, or in `dist` of the repository. */
const FOLDERS = ["../../page-app", "../../../dist/page-app"].map((path) => join(import.meta.dirname, path));

/** The file that has the headers of each file of the page. It is not served itself. */
const HEADERS = "headers.json";

/** Returns a file of the page. Undefined if there is none of this path. */
export async function readPageFile(path: string): Promise<PageFile | undefined> {
  const name = path === "" ? "index.html" : path;
  for (const folder of FOLDERS) {
    const listed = await readFile(join(folder, HEADERS), "utf8").catch(() => undefined);
    if (listed === undefined) continue;
    const all = new Map(Object.entries(JSON.parse(listed) as Record<string, PageFile["headers"]>));
    const headers = all.get(name);
    return headers && { headers, bytes: await readFile(join(folder, name)) };
  }
  return undefined;
}
