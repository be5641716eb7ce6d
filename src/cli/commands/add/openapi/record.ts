/**
 * The record of a generated folder, `generated.json`: what was chosen, and the hashes of what was written. With it, the command can run
 * again without losing what the author has changed.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { isObject } from "../../../../core/protocol/jsonrpc.ts";
import { usageError } from "../../../exit.ts";
import type { Records } from "./generator.ts";

/** What is recorded. */
export interface Recorded {
  /** The file or URL of the description. */
  readonly source: string;
  readonly server: string;
  /** The server that the description named when `server` was chosen. */
  readonly described?: string | undefined;
  readonly access: "service" | "user";
  /** The names of the tools, by their operations. */
  readonly tools: Readonly<Record<string, string>>;
  /** The operations that existed but were not chosen. */
  readonly others?: readonly string[] | undefined;
  /** The hashes of the generated texts, by path. */
  readonly files: Records;
}

/** Returns the path of the record of a folder. */
export function recordPathOf(name: string): string {
  return `src/${name}/generated.json`;
}

/** Whether a path is one that the generator may write to. `name` is the name of the folder with the generated code. */
export function isOwnPath(path: string, name: string): boolean {
  if (path === `test/${name}.test.ts`) return true;
  return path.startsWith(`src/${name}/`) && /^[a-z\d-]{1,60}\.ts$/.test(path.slice(`src/${name}/`.length));
}

/** Returns the source as it is recorded. The query of a URL is left out, because it may contain a token. */
export function sourceOf(given: string): string {
  if (!/^https?:\/\//i.test(given) || !URL.canParse(given)) return given.replaceAll("\\", "/").replace(/^\.\//, "");
  const { origin, pathname } = new URL(given);
  return `${origin}${pathname}`;
}

/** Reads the record of a folder. @throws {CliError} if it is not valid. */
export function readRecord(text: string, name: string): Recorded {
  const path = recordPathOf(name);
  const problem = usageError(`${path} is not valid. Restore it, or remove the folder to begin again.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw problem;
  }
  if (!isObject(value) || !isObject(value.tools) || !isObject(value.files)) throw problem;
  const { source, server, described, access, tools, others, files } = value;
  if (typeof source !== "string" || typeof server !== "string" || !URL.canParse(server)) throw problem;
  const areRecords = Object.entries(files).every(([file, each]) => isOwnPath(file, name) && isFileRecord(each));
  const names = Object.values(tools);
  if (!areRecords || !names.every((each) => typeof each === "string") || new Set(names).size < names.length)
    throw problem;
  return {
    source,
    server,
    described: typeof described === "string" ? described : undefined,
    access: access === "user" ? "user" : "service",
    tools: tools as Record<string, string>,
    others: Array.isArray(others) ? others.filter((each) => typeof each === "string") : undefined,
    files: Object.fromEntries(Object.entries(files as Records).filter((entry) => isKnown(entry, tools))),
  };
}

/** Whether a file exists, or was deleted while its operations were chosen. A deleted file whose operations were dropped is forgotten. */
function isKnown([path, file]: readonly [string, object], tools: object): boolean {
  const regions = Object.keys((file as { readonly regions: object }).regions);
  return existsSync(path) || !regions.some((name) => name.includes(" /")) || regions.some((name) => name in tools);
}

function isFileRecord(value: unknown): boolean {
  if (!isObject(value) || typeof value.around !== "string" || !isObject(value.regions)) return false;
  return Object.values(value.regions).every((each) => typeof each === "string");
}

/** Writes a record. @param present The present text, which is kept if only its format differs. */
export function writeRecord(record: Recorded, present: string | undefined): string {
  const isSame = present !== undefined && JSON.stringify(JSON.parse(present)) === JSON.stringify(record);
  return isSame ? present : `${JSON.stringify(record, undefined, 2)}\n`;
}
