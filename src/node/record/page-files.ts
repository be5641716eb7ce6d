/**
 * The files of the recorder's page, with the headers that the build wrote for them.
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

/** The folders in which the files can be: in the package, or in `dist` of the repository. */
const FOLDERS = ["../../page-app", "../../../dist/page-app"].map((path) => join(import.meta.dirname, path));

/** The file that contains the headers of all files of the page. It is not served. */
const HEADERS = "headers.json";

/** Returns a file of the page. Undefined if it does not exist. */
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
