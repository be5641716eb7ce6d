/**
 * Pages of a list. A cursor names the endpoint, the list and the entry it follows, so it works in any isolate, and what
 * is defined between two pages neither repeats nor skips others.
 *
 * @module
 * @see MCP 2026-07-28, server/utilities/pagination
 */

import type { ListedEntry } from "../define/catalog.ts";
import { decodeBase64, encodeBase64, encodeText, fingerprint } from "../protocol/bytes.ts";
import { invalidParams } from "../protocol/errors.ts";

export interface Page {
  readonly entries: readonly ListedEntry[];
  /** Only while more remains. */
  readonly nextCursor: string | undefined;
}

/**
 * The page a cursor asks for; the first without one.
 *
 * @param pageSize Entries on a page; undefined is all at once.
 * @param endpoint The only endpoint at which the cursor of the next page will be good.
 * @throws {McpError} -32602 when the cursor is not one this list issued, or its entry is gone.
 */
export function pageOf(
  list: string,
  entries: readonly ListedEntry[],
  cursor: unknown,
  pageSize: number | undefined,
  endpoint = "",
): Page {
  const start = cursor === undefined ? 0 : placeAfter(list, entries, cursor, endpoint);
  const end = pageSize === undefined ? entries.length : start + pageSize;
  const last = entries[end - 1];
  const hasMore = end < entries.length && last !== undefined;
  return {
    entries: entries.slice(start, end),
    nextCursor: hasMore ? encodeCursor(list, last.key, endpoint) : undefined,
  };
}

function placeAfter(list: string, entries: readonly ListedEntry[], cursor: unknown, endpoint: string): number {
  const key = typeof cursor === "string" ? decodeCursor(list, cursor, endpoint) : undefined;
  const place = key === undefined ? -1 : entries.findIndex((entry) => entry.key === key);
  if (place >= 0) return place + 1;
  throw invalidParams(
    `params.cursor was not issued for ${list}, or what it pointed to is gone. Start again without it.`,
    { field: "cursor" },
  );
}

/** With a hash of the endpoint: its name need not be the path that clients know. */
function encodeCursor(list: string, key: string, endpoint: string): string {
  return encodeBase64(encodeText(JSON.stringify([list, key, fingerprint(endpoint)])));
}

function decodeCursor(list: string, cursor: string, endpoint: string): string | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(decodeBase64(cursor)));
    if (!Array.isArray(value)) return undefined;
    // One spelling per cursor: what is not what encodeCursor gives was not issued.
    return value[0] === list && typeof value[1] === "string" && encodeCursor(list, value[1], endpoint) === cursor
      ? value[1]
      : undefined;
  } catch {
    // Not base64, or not JSON: garbage, which the caller answers.
    return undefined;
  }
}
