/** Imports, lists and reads the tables of the database. All values are passed as parameters of statements. */
import { ToolError } from "mcp-edge";
import { runSql, type SqlStatement, sql, sqlName } from "mcp-edge/safe";
import * as z from "zod";
import type { Csv } from "./csv.ts";

interface Statement {
  bind(...parameters: unknown[]): Statement;
  all(): Promise<{ results: unknown[] }>;
}

/** The part of D1's interface that the server uses. Over stdio, sqlite-file.ts implements it. */
export interface Database {
  prepare(text: string): Statement;
  /** Runs all statements in a single transaction. */
  batch(statements: Statement[]): Promise<unknown>;
}

export type Row = Record<string, unknown>;

/** The schema of table names: safe in statements, and not reserved by SQLite or D1. */
export const tableName = z
  .string()
  .regex(/^(?!sqlite_|d1_)[a-z][a-z0-9_]{0,39}$/, "Use 1 to 40 characters of a-z, 0-9 and _, beginning with a letter")
  .describe("The name of a table, such as sales");

/** Quotes a name for use in a statement. */
const quoted = (name: string) => sqlName(name, [name]);

export async function listTables(db: Database): Promise<string[]> {
  const rows = await runSql<{ name: string }>(
    db,
    sql`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`,
  );
  return rows.map(({ name }) => name).filter((name) => tableName.safeParse(name).success);
}

export interface Column {
  readonly name: string;
  readonly type: string;
}

/** Returns the columns of a table; an empty list if the table does not exist. */
export async function listColumns(db: Database, table: string): Promise<Column[]> {
  return runSql<Column>(db, sql`SELECT name, type FROM pragma_table_info(${table})`);
}

export async function countRows(db: Database, table: string): Promise<number> {
  const [row] = await runSql<{ n: number }>(db, sql`SELECT COUNT(*) AS n FROM ${quoted(table)}`);
  return row?.n ?? 0;
}

/** Returns rows in the order of import, each with its number as `_row`. @param after The number of the previous page's last row. */
export async function readRows(db: Database, table: string, after: number, rowsMax: number): Promise<Row[]> {
  return runSql(
    db,
    sql`SELECT _rowid_ AS _row, * FROM ${quoted(table)} WHERE _rowid_ > ${after} ORDER BY _rowid_ LIMIT ${rowsMax}`,
  );
}

/** Returns the columns of a table. @throws {ToolError} naming the existing tables, if the table does not exist. */
export async function needTable(db: Database, table: string): Promise<Column[]> {
  const columns = await listColumns(db, table);
  if (columns.length > 0) return columns;
  const tables = await listTables(db);
  throw new ToolError(
    `There is no table "${table}". Existing tables: ${tables.join(", ") || "none; import one first"}.`,
  );
}

/** The maximum number of characters of a parameter. D1 allows 2 MB. */
const CHUNK_CHARACTERS = 500_000;

/**
 * Stores a CSV as a table, replacing an existing table with the same name. It is a single transaction: if the Worker is lost in the
 * middle, the database is unchanged.
 */
export async function importTable(db: Database, table: string, { columns, rows, numeric }: Csv): Promise<void> {
  const name = quoted(table);
  const definitions = columns.map((column) =>
    numeric.has(column) ? sql`${quoted(column)} REAL` : sql`${quoted(column)} TEXT`,
  );
  const fields = columns.map((_, at) => sql`json_extract(value, ${`$[${at}]`})`);
  // Many rows are passed as a single JSON parameter, because a statement of D1 can have at most 100 parameters.
  const inserts = splitChunks(rows.map((row) => JSON.stringify(row))).map(
    (chunk) => sql`INSERT INTO ${name} SELECT ${commas(fields)} FROM json_each(${`[${chunk.join(",")}]`})`,
  );
  const statements = [
    sql`DROP TABLE IF EXISTS ${name}`,
    sql`CREATE TABLE ${name} (${commas(definitions)})`,
    ...inserts,
  ];
  await db.batch(statements.map(({ text, parameters }) => db.prepare(text).bind(...parameters)));
}

/** Joins parts of a statement with commas. */
const commas = (parts: readonly SqlStatement[]): SqlStatement =>
  parts.reduce((joined, part) => sql`${joined}, ${part}`);

function splitChunks(texts: readonly string[]): string[][] {
  const chunks: string[][] = [];
  let size = CHUNK_CHARACTERS;
  for (const text of texts) {
    if (size + text.length > CHUNK_CHARACTERS) {
      chunks.push([]);
      size = 0;
    }
    chunks.at(-1)?.push(text);
    size += text.length;
  }
  return chunks;
}
