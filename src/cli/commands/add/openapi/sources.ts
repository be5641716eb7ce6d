/**
 * The source files of a project, except those of one API.
 *
 * @module
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readBytes } from "../../../files/files.ts";

/** A file of the project. */
export interface ProjectFile {
  readonly path: string;
  readonly text: string;
}

/** Returns the sources in `src`, without the folder of an API. */
export function otherSources(name: string): ProjectFile[] {
  return readdirSync("src", { recursive: true, encoding: "utf8" })
    .map((path) => `src/${path.replaceAll("\\", "/")}`)
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path) && !path.startsWith(`src/${name}/`))
    .map((path) => ({ path, text: projectText(path) }));
}

/** Returns the text of a file of the project; an empty text if it does not exist. */
export function projectText(path: string): string {
  return readBytes(join(process.cwd(), path))?.toString() ?? "";
}

/** Matches the name of a tool in a call of `server.tool()`, or of a function of the author that calls it. */
const TOOL = /\.\w{0,40}[tT]ool\w{0,40}\(\s*(["'`])([\w.-]{1,128})\1/g;

/**
 * Returns the names of the tools that the project has, apart from those of one API, with the files that define them. A server refuses two
 * tools of one name.
 */
export function takenNames(name: string): Map<string, string> {
  const found = otherSources(name).flatMap(({ path, text }) => {
    return [...text.matchAll(TOOL)].map((match): [string, string] => [match[2] ?? "", path]);
  });
  // If several files define a tool, the first one is reported.
  return new Map(found.reverse());
}
