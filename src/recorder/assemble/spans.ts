/**
 * Reads the spans that workerd reports: which are shown, which counts they increase, and what their attributes mean.
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

/** Spans that only wrap another span. */
const WRAPPERS: ReadonlySet<string> = new Set(["jsRpcSession", "jsRpcCall"]);

/** Returns the displayed name of a span. */
export function toSpanName(name: string): string {
  if (name === OBJECT_CALL) return "object";
  return name.startsWith(STORAGE) ? name.slice(STORAGE.length) : name;
}

/** Returns whether a span is an implementation detail of its parent, such as the fetch of a D1 query, and is not shown. */
export function isHidden(name: string, parent: string | undefined): boolean {
  if (WRAPPERS.has(name)) return true;
  return name === "fetch" && parent !== undefined && (parent === OBJECT_CALL || /^(d1|kv|r2|queue|ai)_/.test(parent));
}

/**
 * The count that a span increases when it begins: rows of the key-value store and of alarms, as Cloudflare bills them. SQL
 * reports its rows at the end. workerd does not report the rows that `list()` reads.
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

/** Updates the counts when a span begins. */
export function countOpened(entry: LiveEntry, name: string): void {
  const counted = OPENED[name];
  if (counted) entry.counts[counted] += 1;
  if (name === `${STORAGE}setAlarm`) entry.counts.alarmsSet += 1;
  // The harness runs an alarm as the runtime does, which deletes it first.
  if (entry.isControl && name === `${STORAGE}deleteAlarm`) entry.counts.alarmsRun += 1;
}

/** The table in which miniflare stores the name of an object. */
export const NAME_TABLE = "__miniflare_do_name";

/** Returns whether a span is an SQL statement that miniflare adds to an object. Cloudflare neither runs nor bills it. */
export function isLocalStatement({ "db.query.text": sql }: Readonly<Record<string, AttributeValue>>): boolean {
  return typeof sql === "string" && sql.includes(NAME_TABLE);
}

/** The attributes of a span. `span` is the visible span to which it belongs, if it is stored. */
interface SpanAttributes {
  readonly name: string;
  readonly span: LiveSpan | undefined;
  readonly entry: LiveEntry;
  readonly values: Readonly<Record<string, AttributeValue>>;
}

/** The role that attributes reveal, and the number of characters that were stored. */
interface AttributeEffects {
  readonly role?: string | undefined;
  readonly characters: number;
}

/** Applies attributes to a span and to the counts. */
export function applyAttributes({ name, span, entry, values }: SpanAttributes, redactor: Redactor): AttributeEffects {
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
  // The attributes of a call to an object belong to the span of the caller, which shows the method.
  if (!span || (toSpanName(name) !== span.name && span.name !== "object")) return { role, characters: 0 };
  if (rowsRead !== undefined) span.rowsRead = rowsRead;
  if (rowsWritten !== undefined) span.rowsWritten = rowsWritten;
  const databaseBytes = number("cloudflare.durable_object.response.db_size");
  if (databaseBytes !== undefined) span.databaseBytes = databaseBytes;
  const status = number("http.response.status_code");
  if (status !== undefined) span.status = status;
  const due = text("cloudflare.durable_object.alarm.scheduled_time");
  if (due !== undefined) span.dueAtMs = Date.parse(due);
  const sql = text("db.query.text");
  const table = sql === undefined ? undefined : findTable(sql);
  if (table !== undefined) span.table = isName(table) || redactor.contents ? table : redactor.name(table);
  const shown = describe(sql, key ?? text("cloudflare.kv.query.keys", "cloudflare.r2.request.key"), text, redactor);
  if (shown !== undefined) span.text = shown;
  return { role, characters: shown?.length ?? 0 };
}

/** Returns the text of a span, redacted: the statement, the key, the RPC method or the URL. */
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
