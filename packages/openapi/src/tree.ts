/**
 * Parses untrusted JSON and YAML into values with bounded size and depth.
 *
 * @module
 */
import { parseDocument } from "yaml";
import { ALIASES_MAX, DEPTH_MAX, TEXT_CHARS_MAX, VALUES_MAX } from "./limits.ts";
import { DescriptionError } from "./text.ts";

/** An object of a description. It has no prototype, so no member name has a special meaning. */
export type Tree = { readonly [name: string]: unknown };

/** Whether a value is an object, and not a list. */
export function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a member that is an object; an empty one if it is missing. */
export function treeOf(value: unknown): Tree {
  return isTree(value) ? value : {};
}

/** Returns a list; an empty one if the value is something else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns a string; undefined if the value is something else. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Returns a string, number or boolean as text; an empty text if the value is something else. */
export function scalarText(value: unknown): string {
  return ["string", "number", "boolean"].includes(typeof value) ? String(value) : "";
}

/** Reads a document. @throws {DescriptionError} if it is not valid, or exceeds a limit. */
export function readTree(text: string): Tree {
  if (text.length > TEXT_CHARS_MAX)
    throw new DescriptionError(`The description has ${text.length} characters; at most ${TEXT_CHARS_MAX} are read.`);
  const value = copy(parse(text), 0, { left: VALUES_MAX });
  if (!isTree(value)) throw new DescriptionError("The description is not an object.");
  return value;
}

function parse(text: string): unknown {
  let whyNotJson: string | undefined;
  try {
    if (/^\uFEFF?\s*[{[]/.test(text)) return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    // A YAML document may begin with a brace too.
    whyNotJson = messageOf(error);
  }
  try {
    const document = parseDocument(text, { prettyErrors: false, merge: true, logLevel: "silent", uniqueKeys: false });
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`${messageOf(error)} (line ${lineAt(text, error.pos[0])})`);
    return document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch (error) {
    const why = whyNotJson ?? messageOf(error);
    throw new DescriptionError(`The description is neither JSON nor YAML that can be read: ${why}`);
  }
}

/** The maximum length of the message of a parser, in characters. */
const MESSAGE_CHARS_MAX = 200;

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split("\n")[0] ?? "").slice(0, MESSAGE_CHARS_MAX);
}

/** Returns the number of the line of a position in a text. */
function lineAt(text: string, position: number): number {
  return text.slice(0, position).split("\n").length;
}

/** Copies plain values. Aliases of YAML become copies, whose number and depth are limited, so cycles are refused too. */
function copy(value: unknown, depth: number, values: { left: number }): unknown {
  values.left -= 1;
  if (values.left < 0) throw new DescriptionError(`The description has more than ${VALUES_MAX} values.`);
  if (depth > DEPTH_MAX) throw new DescriptionError(`The description is nested deeper than ${DEPTH_MAX} levels.`);
  if (typeof value === "bigint") return Number(value);
  // An unpaired surrogate cannot be encoded.
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => copy(each, depth + 1, values));
  if (value instanceof Date) return value.toISOString();
  const copied: Record<string, unknown> = Object.create(null);
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  for (const [name, each] of entries)
    if (name !== "__proto__") copied[String(name).toWellFormed()] = copy(each, depth + 1, values);
  return copied;
}
