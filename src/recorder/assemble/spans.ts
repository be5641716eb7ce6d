/**
 * The spans that workerd reports: which are shown, what they count, and what their attributes say.
 *
 * @module
 */
import type { Redactor } from "../redact/redactor.ts";
import { findTable } from "../redact/sql.ts";
import { isName } from "../redact/words.ts";
import type { AttributeValue } from "../tail/tail-event.ts";
import type { LiveEntry } from "./live-entry.ts";
import type { LiveSpan } from "./live-invocation.ts";
import { roleOfKey } from "./roles.ts";

const STORAGE = "durable_object_storage_";
const OBJECT_CALL = "durable_object_subrequest";

/** Spans that only wrap another one. */
const WRAPPERS: ReadonlySet<string> = new Set(["jsRpcSession", "jsRpcCall"]);

/** Returns the name of a span as it is shown. */
export function toSpanName(name: string): string {
  if (name === OBJECT_CALL) return "object";
  return name.startsWith(STORAGE) ? name.slice(STORAGE.length) : name;
}

/** Whether a span is a part of another one, and is not shown: the fetch with which D1 is queried, the call in a call to an object. */
export function isHidden(name: string, parent: string | undefined): boolean {
  if (WRAPPERS.has(name)) return true;
  return name === "fetch" && parent !== undefined && (parent === OBJECT_CALL || /^(d1|kv|r2|queue|ai)_/.test(parent));
}

/**
 * What is counted when a span begins: rows of the key-value store and of alarms, as Cloudflare bills them. SQL reports its rows at
 * the end. How many rows a list of keys reads is not reported.
 */
const OPENED: Readonly<Record<string, "rowsRead" | "rowsWritten">> = {
  [`${STORAGE}kv_get`]: "rowsRead",
  [`${STORAGE}get`]: "rowsRead",
  [`${STORAGE}getAlarm`]: "rowsRead",
  [`${STORAGE}kv_put`]: "rowsWritten",
  [`${STORAGE}put`]: "rowsWritten",
  [`${STORAGE}kv_delete`]: "rowsWritten",
  [`${STORAGE}delete`]: "rowsWritten",
  [`${STORAGE}setAlarm`]: "rowsWritten",
};

/** Counts a span that begins. */
export function countOpened(entry: LiveEntry, name: string): void {
  const counted = OPENED[name];
  if (counted) entry.counts[counted] += 1;
  if (name === `${STORAGE}setAlarm`) entry.counts.alarmsSet += 1;
  // The harness runs an alarm as the runtime does, which deletes it first.
  if (entry.isControl && name === `${STORAGE}deleteAlarm`) entry.counts.alarmsRun += 1;
}

/** The table in which miniflare stores the name of an object. */
export const NAME_TABLE = "__miniflare_do_name";

/** Whether a span is a statement that miniflare adds to an object. Cloudflare neither runs nor bills it. */
export function isLocalStatement({ "db.query.text": sql }: Readonly<Record<string, AttributeValue>>): boolean {
  return typeof sql === "string" && sql.includes(NAME_TABLE);
}

/** A span and the attributes that were reported for it. `span` is the visible one, if it is stored. */
interface Described {
  readonly name: string;
  readonly span: LiveSpan | undefined;
  readonly entry: LiveEntry;
  readonly values: Readonly<Record<string, AttributeValue>>;
}

/** What attributes say about the object, and how many characters were stored. */
interface Applied {
  readonly role?: string | undefined;
  readonly characters: number;
}

/** Applies attributes to a span and to the counts. */
export function applyAttributes({ name, span, entry, values }: Described, redactor: Redactor): Applied {
  const number = (...names: readonly string[]) => {
    const found = names.map((each) => values[each]).find((value) => typeof value === "number");
    return typeof found === "number" ? found : undefined;
  };
  const text = (...names: readonly string[]) => {
    const found = names.map((each) => values[each]).find((value) => typeof value === "string");
    return typeof found === "string" ? found : undefined;
  };
  const rowsRead = number("cloudflare.durable_object.response.rows_read", "cloudflare.d1.response.rows_read");
  const rowsWritten = number("cloudflare.durable_object.response.rows_written", "cloudflare.d1.response.rows_written");
  entry.counts.rowsRead += rowsRead ?? 0;
  entry.counts.rowsWritten += rowsWritten ?? 0;
  const key = text("cloudflare.durable_object.kv.query.keys", "cloudflare.durable_object.kv.query.prefix");
  const role = key === undefined ? undefined : roleOfKey(key);
  // The attributes of a call to an object belong to the span of the caller, whose text is the method.
  if (!span || (toSpanName(name) !== span.name && span.name !== "object")) return { role, characters: 0 };
  if (rowsRead !== undefined) span.rowsRead = rowsRead;
  if (rowsWritten !== undefined) span.rowsWritten = rowsWritten;
  const databaseBytes = number("cloudflare.durable_object.response.db_size");
  if (databaseBytes !== undefined) span.databaseBytes = databaseBytes;
  const due = text("cloudflare.durable_object.alarm.scheduled_time");
  if (due !== undefined) span.dueAtMs = Date.parse(due);
  const sql = text("db.query.text");
  const table = sql === undefined ? undefined : findTable(sql);
  if (table !== undefined) span.table = isName(table) || redactor.contents ? table : redactor.name(table);
  const shown = describe(sql, key ?? text("cloudflare.kv.query.keys", "cloudflare.r2.request.key"), text, redactor);
  if (shown !== undefined) span.text = shown;
  return { role, characters: shown?.length ?? 0 };
}

/** Returns what a span did, redacted. */
function describe(
  sql: string | undefined,
  key: string | undefined,
  text: (...names: readonly string[]) => string | undefined,
  redactor: Redactor,
): string | undefined {
  if (sql !== undefined) return redactor.statement(sql);
  if (key !== undefined) return redactor.key(key);
  const method = text("jsrpc.method");
  if (method !== undefined) return redactor.name(method);
  const url = text("url.full");
  return url === undefined ? undefined : `${text("http.request.method") ?? "GET"} ${redactor.url(url)}`;
}
