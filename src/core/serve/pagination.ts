/**
 * Pages of a list. A cursor names the endpoint, the list and the last entry of the page, so it works in any isolate,
 * and added entries do not cause repeated or skipped entries.
 *
 * @module
 * @see MCP 2026-07-28, server/utilities/pagination
 */

import { decodeBase64, encodeBase64, encodeText, fingerprint } from "../basics/bytes.ts";
import type { ListedEntry } from "../define/catalog.ts";
import { invalidParams } from "../protocol/errors.ts";

export interface Page {
  readonly entries: readonly ListedEntry[];
  /** The cursor of the next page; undefined on the last page. */
  readonly nextCursor: string | undefined;
}

export interface PageRequest {
  readonly cursor: unknown;
  /** The number of entries of a page; undefined for all of them. */
  readonly pageSize: number | undefined;
  /** The only endpoint at which the cursor of the next page is valid. */
  readonly endpoint?: string | undefined;
}

/**
 * Returns the page for a cursor, or the first page without one.
 *
 * @throws {McpError} -32602 if the cursor was not issued for this list, or its entry was removed.
 */
export function createPage(
  list: string,
  entries: readonly ListedEntry[],
  { cursor, pageSize, endpoint = "" }: PageRequest,
): Page {
  const start = cursor === undefined ? 0 : startAfter(list, entries, cursor, endpoint);
  const end = pageSize === undefined ? entries.length : start + pageSize;
  const last = entries[end - 1];
  const hasMore = end < entries.length && last !== undefined;
  return {
    entries: entries.slice(start, end),
    nextCursor: hasMore ? encodeCursor(list, last.key, endpoint) : undefined,
  };
}

function startAfter(list: string, entries: readonly ListedEntry[], cursor: unknown, endpoint: string): number {
  const named = typeof cursor === "string" ? readKey(cursor) : undefined;
  // Each cursor has one valid encoding, so a cursor that encodeCursor would not produce was never issued.
  const index = entries.findIndex(({ key }) => key === named && encodeCursor(list, key, endpoint) === cursor);
  if (index >= 0) return index + 1;
  throw invalidParams(
    `params.cursor was not issued for ${list}, or its entry was removed. Start again without a cursor.`,
    {
      field: "cursor",
    },
  );
}

/** The endpoint is hashed, because its name need not be the path that clients know. */
function encodeCursor(list: string, key: string, endpoint: string): string {
  return encodeBase64(encodeText(JSON.stringify([list, key, fingerprint(endpoint)])));
}

/** Returns the key in a cursor, which is not verified. */
function readKey(cursor: string): unknown {
  try {
    const [, key] = JSON.parse(new TextDecoder().decode(decodeBase64(cursor))) as readonly unknown[];
    return key;
  } catch {
    // The cursor is not base64 or not JSON. No entry has this key, so the caller refuses it.
    return undefined;
  }
}
