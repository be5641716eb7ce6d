/**
 * The frontmatter of a `SKILL.md`.
 *
 * @module
 * @see io.modelcontextprotocol/skills, "Frontmatter Verification"
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";

/** The two parts of a `SKILL.md`. */
export interface Manifest {
  /** The YAML between the two `---` lines. */
  readonly yaml: string;
  /** The text after the frontmatter. */
  readonly body: string;
}

/** Splits a `SKILL.md`. Returns undefined if it does not begin with frontmatter. */
export function splitManifest(text: string): Manifest | undefined {
  const found = /^\uFEFF?---[ \t]*\r?\n((?:[\s\S]*?\r?\n)?)---[ \t]*(?:\r?\n|$)/.exec(text);
  return found ? { yaml: found[1] ?? "", body: text.slice(found[0].length) } : undefined;
}

/** Returns the name of the first field that differs between two frontmatters, or undefined if they are equal. */
export function findDifference(one: JsonObject, other: JsonObject): string | undefined {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].find((name) => !isEqual(own(one, name), own(other, name)));
}

function own(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Whether two JSON values are equal. The order of members does not matter. */
function isEqual(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, at) => isEqual(item, other[at]));
  }
  if (!isObject(one) || !isObject(other)) return Object.is(one, other) || one === other;
  return findDifference(one, other) === undefined && Object.keys(one).length === Object.keys(other).length;
}
