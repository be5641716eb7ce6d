/**
 * Masks the values that differ between repetitions of an exchange: ids, times and references.
 *
 * @module
 */
import { isObject } from "../../core/protocol/jsonrpc.ts";

/** Varying parts of strings, and for each, the regular expression that matches all values of its kind. */
const VARIES: readonly (readonly [found: RegExp, pattern: string])[] = [
  [/\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/i, "[\\da-fA-F-]{36}"],
  [/\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})?\b/, "\\d{4}-\\d{2}-\\d{2}T[\\d:.+Z-]+"],
  [/\b[\da-f]{32,}\b/i, "[\\da-fA-F]{32,}"],
  [/\b1[5-9]\d{11}\b/, "\\d{13}"],
  [/(?<=\b(?:localhost|127\.0\.0\.1|\[::1\]):)\d{2,5}\b/, "\\d{2,5}"],
];

/** Matches any varying part. */
const ANY = new RegExp(VARIES.map(([found]) => `(${found.source})`).join("|"), "gi");

/** Replaces a varying value. */
const MASK = "<varies>";

/** Returns a regular expression that matches a string with other values in its varying parts. Undefined if it has none. */
export function patternOf(text: string): string | undefined {
  let pattern = "";
  let end = 0;
  for (const match of text.matchAll(ANY)) {
    const kind = match.slice(1).findIndex((group) => group !== undefined);
    pattern += escapePattern(text.slice(end, match.index)) + (VARIES[kind]?.[1] ?? "");
    end = match.index + match[0].length;
  }
  return end === 0 ? undefined : `^${pattern}${escapePattern(text.slice(end))}$`;
}

/** Returns whether a number is probably a time, in milliseconds since 1970. */
export function isTime(value: number): boolean {
  return Number.isInteger(value) && value >= 1.5e12 && value < 2e12;
}

/** Returns a value in which varying values, including the ids of messages, are replaced. */
export function masked(value: unknown): unknown {
  if (typeof value === "string") return value.replace(ANY, MASK);
  if (typeof value === "number") return isTime(value) ? MASK : value;
  if (Array.isArray(value)) return value.map(masked);
  if (!isObject(value)) return value;
  const isMessage = value.jsonrpc === "2.0";
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, isMessage && name === "id" ? MASK : masked(member)]),
  );
}

/** Escapes a string for a regular expression literal. */
function escapePattern(text: string): string {
  return text
    .replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")
    .replace(/[\p{Cc}\u2028\u2029]/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
