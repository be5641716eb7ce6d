/**
 * The name of the generated folder in `src`, and the description from which the folder was generated.
 *
 * @module
 */
import { existsSync, readdirSync } from "node:fs";
import { usageError } from "../../../exit.ts";
import { readText } from "../../../files/files.ts";
import { oneLine } from "../../../terminal/terminal.ts";
import { type Recorded, readRecord, recordPathOf, sourceOf } from "./record.ts";

/** The maximum number of characters of a title that are used for a name. */
const TITLE_CHARS_MAX = 300;
/** The maximum length of a name, in characters. */
const NAME_CHARS_MAX = 30;
/** Names that are devices on Windows. */
const DEVICES = /^(?:con|prn|aux|nul|com\d|lpt\d)$/;

/** Returns a name of a folder that is made from a title. */
export function folderName(title: string): string {
  const words = title
    .slice(0, TITLE_CHARS_MAX)
    .normalize("NFKD")
    .replace(/([a-z\d])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== "" && !/^(api|apis|rest|the|openapi|swagger|v?\d+)$/.test(word));
  const name = words.slice(0, 3).join("-").slice(0, NAME_CHARS_MAX).replace(/-$/, "") || "api";
  return DEVICES.test(name) ? `${name}-api` : name;
}

/** @throws {CliError} if a name from the user is not valid for the folder. */
export function checkName(name: string | undefined): void {
  if (name === undefined) return;
  if (/^[a-z][a-z\d]*(?:-[a-z\d]+)*$/.test(name) && name.length <= NAME_CHARS_MAX && !DEVICES.test(name)) return;
  throw usageError(
    `${JSON.stringify(oneLine(name, 100))} cannot be the name of the folder in src. Write at most ${NAME_CHARS_MAX} lower-case letters, digits and single dashes, and a letter first: --name gear-hub`,
  );
}

/** A record, with the text of its file. */
export interface ReadRecord {
  readonly record: Recorded | undefined;
  readonly text: string | undefined;
}

/** Reads the record of a folder, if there is one. @throws {CliError} if it is not valid. */
export function readRecordOf(name: string): ReadRecord {
  // Git on Windows may have converted the ends of its lines.
  const text = readText(recordPathOf(name))?.replaceAll("\r\n", "\n");
  return { text, record: text === undefined ? undefined : readRecord(text, name) };
}

/**
 * Checks a folder whose name was made from the title.
 *
 * @throws {CliError} if the folder was generated from another description, which may have the same title on purpose, or if this
 *   description already has another folder.
 */
export function checkSource(record: Recorded | undefined, given: string, name: string): void {
  const source = sourceOf(given);
  if (record?.source === source) return;
  if (record !== undefined)
    throw usageError(
      `src/${name} was made from ${oneLine(record.source, 200)}, and not from ${oneLine(source, 200)}. If this is the description of the same API, add --name ${name}. Otherwise choose another name with --name.`,
    );
  const folders = foldersFrom(source);
  const [first] = folders;
  if (first === undefined) return;
  throw usageError(
    `${folders.map((each) => `src/${each}`).join(" and ")} ${folders.length === 1 ? "was" : "were"} made from ${oneLine(source, 200)}. To run it again, add --name ${first}. For a second folder, add --name ${name}.`,
  );
}

/** Returns the folders that were made from a description. */
function foldersFrom(source: string): string[] {
  if (!existsSync("src")) return [];
  const folders = readdirSync("src", { withFileTypes: true }).filter((each) => each.isDirectory());
  return folders.map(({ name }) => name).filter((name) => readSource(name) === source);
}

/** Returns the source of a record; undefined if there is none, or it is not valid. */
function readSource(name: string): unknown {
  try {
    return (JSON.parse(readText(recordPathOf(name)) ?? "{}") as { readonly source?: unknown } | null)?.source;
  } catch {
    return undefined;
  }
}
