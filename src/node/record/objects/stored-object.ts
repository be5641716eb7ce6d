/**
 * Reads the database of an object without waking the object. workerd stores one SQLite file for each object.
 *
 * @module
 */
import type { DatabaseSync } from "node:sqlite";
import { deserialize } from "node:v8";
import { NAME_TABLE } from "../../../recorder/assemble/spans.ts";

/** The contents of a database. The values are not redacted yet. */
export interface StoredObject {
  /** The name from which the object's id was created. */
  readonly name: string | undefined;
  readonly tables: readonly {
    readonly name: string;
    readonly rows: number;
    readonly columns: readonly string[];
    readonly first: readonly (readonly unknown[])[];
  }[];
  readonly keys: readonly { readonly key: string; readonly bytes: number; readonly value: unknown }[];
  /** The number of keys by their first part, such as `call:` or `entry/`. */
  readonly prefixes: ReadonlyMap<string, number>;
}

/** The maximum numbers of tables, rows and keys that are read, and the maximum size of a decoded value in bytes. */
const [TABLES_MAX, ROWS_MAX, KEYS_MAX, VALUE_BYTES_MAX] = [20, 20, 50, 64 * 1024];

/** The maximum length of a string in a row, in characters. */
const CELL_MAX = 2_000;

/** The platform's table of keys and values. */
const KEY_TABLE = "_cf_KV";

export function readStored(database: DatabaseSync): StoredObject {
  const names = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map(({ name }) => String(name));
  const own = names.filter((name) => !/^(?:_cf_|__miniflare_|sqlite_)/.test(name)).slice(0, TABLES_MAX);
  const hasKeys = names.includes(KEY_TABLE);
  return {
    name: names.includes(NAME_TABLE) ? readName(database) : undefined,
    tables: own.map((name) => readTable(database, name)),
    keys: hasKeys ? readKeys(database) : [],
    prefixes: hasKeys ? readPrefixes(database) : new Map(),
  };
}

function readName(database: DatabaseSync): string | undefined {
  const name = database.prepare(`SELECT name FROM ${NAME_TABLE} LIMIT 1`).get()?.name;
  return typeof name === "string" ? name : undefined;
}

function readTable(database: DatabaseSync, name: string): StoredObject["tables"][number] {
  const quoted = `"${name.replaceAll('"', '""')}"`;
  const rows = Number(database.prepare(`SELECT count(*) AS rows FROM ${quoted}`).get()?.rows ?? 0);
  const statement = database.prepare(`SELECT * FROM ${quoted} LIMIT ${ROWS_MAX}`);
  statement.setReadBigInts(true);
  const columns = statement.columns().map((column) => column.name);
  const first = statement.all().map((row) => columns.map((column) => toCell(row[column])));
  return { name, rows, columns, first };
}

function toCell(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (value instanceof Uint8Array) return `<bytes, ${value.length}>`;
  return typeof value === "string" ? value.slice(0, CELL_MAX) : value;
}

function readKeys(database: DatabaseSync): StoredObject["keys"] {
  const rows = database
    .prepare(
      `SELECT key, length(value) AS bytes, substr(value, 1, ${VALUE_BYTES_MAX}) AS value FROM ${KEY_TABLE} LIMIT ${KEYS_MAX}`,
    )
    .all();
  return rows.map(({ key, bytes, value }) => ({
    key: String(key),
    bytes: Number(bytes),
    value:
      value instanceof Uint8Array && Number(bytes) <= VALUE_BYTES_MAX ? decode(value) : `<bytes, ${Number(bytes)}>`,
  }));
}

/** Decodes a value in V8's structured clone format, which workerd uses. */
function decode(value: Uint8Array): unknown {
  try {
    return toJson(deserialize(value), 0);
  } catch {
    // The value contains an object of workerd, or this version of Node.js does not support the version of the format.
    return `<bytes, ${value.length}>`;
  }
}

/** Returns a value as JSON. */
function toJson(value: unknown, depth: number): unknown {
  if (depth > 32) return "<nested deeper>";
  if (typeof value === "bigint") return Number(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Map) return [...value].map(([key, each]) => [toJson(key, depth + 1), toJson(each, depth + 1)]);
  if (value instanceof Set) return [...value].map((each) => toJson(each, depth + 1));
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `<bytes, ${value.byteLength}>`;
  if (Array.isArray(value)) return value.map((each) => toJson(each, depth + 1));
  if (typeof value !== "object" || value === null) return value === undefined ? null : value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toJson(member, depth + 1)]));
}

/** Counts the keys by their prefix, which ends with the first separator. */
function readPrefixes(database: DatabaseSync): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { key } of database.prepare(`SELECT key FROM ${KEY_TABLE} LIMIT 10000`).iterate()) {
    const [prefix = ""] = /^[^:/]*[:/]?/.exec(String(key)) ?? [];
    if (counts.size < 100 || counts.has(prefix)) counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
  }
  return counts;
}
