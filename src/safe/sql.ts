/**
 * SQL statements whose values are always parameters, for D1 and for the SQL storage of Durable Objects.
 *
 * @module
 */
import { KitError } from "../core/protocol/errors.ts";

/** A value of a parameter. Booleans are stored as 1 and 0. */
export type SqlValue = string | number | boolean | null | Uint8Array | ArrayBuffer;

/** A row of a result. */
export type SqlRow = Record<string, unknown>;

/** A statement and its parameters. Created only by {@link sql} and {@link sqlName}. */
export class SqlStatement {
  /** A private field, so that an object from a peer is never accepted as a statement. */
  readonly #text: string;
  readonly #parameters: readonly SqlValue[];

  /** Use {@link sql} instead of this constructor. */
  constructor(text: string, parameters: readonly SqlValue[]) {
    this.#text = text;
    this.#parameters = parameters;
  }

  /** The statement, with a question mark for each parameter. */
  get text(): string {
    return this.#text;
  }

  /** The parameters in the order of their question marks. */
  get parameters(): readonly SqlValue[] {
    return this.#parameters;
  }
}

/**
 * Creates a statement from a tagged template. Every value becomes a parameter, so values cannot change the statement.
 *
 * ```ts
 * import { sql } from "mcp-edge/safe";
 *
 * const found = sql`SELECT title FROM notes WHERE owner = ${"ada"} AND id IN ${[1, 2, 3]}`;
 * ```
 *
 * A list becomes `(?, ?, ?)`. A nested statement, or a name from {@link sqlName}, is inserted with its parameters.
 *
 * @throws {KitError} `options-invalid` for any other value, such as undefined, NaN, a Date or a plain object.
 */
export function sql(
  strings: TemplateStringsArray,
  ...values: readonly (SqlValue | SqlStatement | readonly SqlValue[])[]
): SqlStatement {
  const parts = values.map(toPart);
  const text = strings.map((string, at) => string + (parts[at]?.text ?? "")).join("");
  return new SqlStatement(
    text,
    parts.flatMap(({ parameters }) => parameters),
  );
}

interface SqlPart {
  readonly text: string;
  readonly parameters: readonly SqlValue[];
}

function toPart(value: unknown, at: number): SqlPart {
  if (value instanceof SqlStatement) return value;
  if (!Array.isArray(value)) return { text: "?", parameters: [toParameter(value, at)] };
  return { text: `(${value.map(() => "?").join(", ")})`, parameters: value.map((each) => toParameter(each, at)) };
}

function toParameter(value: unknown, at: number): SqlValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (value === null || typeof value === "string" || Number.isFinite(value)) return value as SqlValue;
  if (value instanceof Uint8Array || value instanceof ArrayBuffer) return value;
  const what =
    typeof value === "number" ? String(value) : value === undefined ? "undefined" : `of type ${typeof value}`;
  const text = `sql: value number ${at + 1} is ${what}; give a string, a finite number, a boolean, null, bytes, a list of these, or another statement.`;
  throw new KitError("options-invalid", text);
}

/**
 * Returns the quoted name of a table or column for a statement of {@link sql}. Names cannot be parameters, so only names from
 * the list are accepted.
 *
 * ```ts
 * import { sql, sqlName } from "mcp-edge/safe";
 *
 * const sorted = (column: string) => sql`SELECT * FROM notes ORDER BY ${sqlName(column, ["title", "created"])}`;
 * ```
 *
 * @throws {KitError} `options-invalid` if the name is not on the list.
 */
export function sqlName(name: string, allowed: readonly string[]): SqlStatement {
  if (!allowed.includes(name)) {
    const text = `sqlName(): ${JSON.stringify(name)} is not one of ${allowed.join(", ")}.`;
    throw new KitError("options-invalid", text);
  }
  return new SqlStatement(`"${name.replaceAll('"', '""')}"`, []);
}

/** A D1 database or a D1 session. */
export interface D1Like {
  /** Prepares a statement. */
  prepare(text: string): { bind(...parameters: unknown[]): { all(): Promise<{ results: unknown[] }> } };
}

/** The SQL storage of a Durable Object, `ctx.storage.sql`. */
export interface SqlStorageLike {
  /** Runs a statement. */
  exec(text: string, ...parameters: unknown[]): { toArray(): unknown[] };
}

/** A database that runs statements. */
export type SqlDatabase = D1Like | SqlStorageLike;

/**
 * Runs a statement and returns its rows.
 *
 * @param statement A statement of {@link sql}. Strings are not accepted, because values may have been concatenated into them.
 * @throws {KitError} `options-invalid` for any other value, and the errors of the database.
 */
export async function runSql<Row = SqlRow>(database: SqlDatabase, statement: SqlStatement): Promise<Row[]> {
  if (!(statement instanceof SqlStatement)) {
    throw new KitError("options-invalid", "runSql(): the statement was not created with sql`...`.");
  }
  const { text, parameters } = statement;
  if ("exec" in database && !("prepare" in database)) return database.exec(text, ...parameters).toArray() as Row[];
  const { results } = await (database as D1Like)
    .prepare(text)
    .bind(...parameters)
    .all();
  return results as Row[];
}
