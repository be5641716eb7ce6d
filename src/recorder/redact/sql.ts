/**
 * Removes literals from SQL statements.
 *
 * @module
 */
import { isName } from "./words.ts";

/** Matches strings, blobs, numbers, comments and quoted names. One pattern ensures that no match begins inside another token. */
const TOKENS =
  /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|[xX]?'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b|\b0x[\da-f]+\b/g;

const STATEMENT_MAX = 1_000;

/** Returns a statement on one line, with `?` in place of its literals. */
export function hideLiterals(sql: string): string {
  const shown = sql.slice(0, STATEMENT_MAX * 4).replace(TOKENS, (found) => {
    if (found.startsWith("--") || found.startsWith("/*")) return " ";
    // SQLite treats an identifier in double quotes as a string if no such name exists.
    return found.startsWith('"') && isName(found.slice(1, -1)) ? found : "?";
  });
  const line = shown.replace(/\s+/g, " ").trim();
  return line.length > STATEMENT_MAX ? `${line.slice(0, STATEMENT_MAX)}…` : line;
}

const TABLE =
  /\b(?:FROM|INTO|UPDATE(?:\s+OR\s+\w+)?|JOIN|(?:CREATE|DROP|ALTER)\s+TABLE(?:\s+IF\s+(?:NOT\s+)?EXISTS)?)\s+(?:"([^"]+)"|`([^`]+)`|\[([^\]]+)\]|([\w$]+))/i;

/** Returns the first table in a statement. */
export function findTable(sql: string): string | undefined {
  const found = TABLE.exec(sql.slice(0, STATEMENT_MAX * 4));
  return found?.[1] ?? found?.[2] ?? found?.[3] ?? found?.[4];
}
