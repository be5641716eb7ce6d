/**
 * Runs read-only queries that were written by a model.
 *
 * @module
 */
import { checkOptions, type OptionTable, SIZE } from "../core/protocol/check-options.ts";
import { RefusedError } from "./refused.ts";
import { runSql, type SqlDatabase, type SqlRow, SqlStatement, type SqlValue } from "./sql.ts";
import { type SqlToken, sqlTokens } from "./sql-tokens.ts";

/** Options of {@link readSql}. */
export interface ReadSqlOptions {
  /** The values of the parameters (`?`) of a query that is given as a string. @default none */
  readonly parameters?: readonly SqlValue[];
  /** The maximum number of rows that are returned. @default 100 */
  readonly rowsMax?: number;
  /** The maximum number of characters of the query. @default 10,000 */
  readonly charactersMax?: number;
}

/** The rows of a query. */
export interface SqlRows<Row> {
  /** At most `rowsMax` rows. */
  readonly rows: Row[];
  /** Whether the query has more rows. */
  readonly isTruncated: boolean;
}

const OPTIONS: OptionTable<ReadSqlOptions> = { parameters: null, rowsMax: SIZE, charactersMax: SIZE };

/**
 * Runs an untrusted query, which must be a single SELECT (WITH and VALUES are allowed too). Multiple statements, statements that
 * write, PRAGMA, ATTACH, and functions and tables that read the configuration are refused. A string that begins with `pragma_` is
 * also refused where SQLite might take it for a table, as in a list. Pass such a value as a parameter.
 *
 * The query is parsed into tokens, comments are removed, and the remaining query runs inside `SELECT * FROM (...) LIMIT n`. The
 * grammar of SQLite allows only a SELECT there, so no other statement can run, even if its keyword is missing from the list in
 * this file, and the number of rows is limited.
 *
 * The function limits neither which tables are read nor how long a query runs. The time limits of D1 and Durable Objects apply.
 * Use it for a database in which the caller may read everything, such as a separate database for each principal.
 *
 * @throws {RefusedError} `sql` for a query that is refused, and the errors of the database.
 */
export async function readSql<Row = SqlRow>(
  database: SqlDatabase,
  query: string | SqlStatement,
  options: ReadSqlOptions = {},
): Promise<SqlRows<Row>> {
  checkOptions("readSql(): ", options, OPTIONS);
  const { parameters = [], rowsMax = 100, charactersMax = 10_000 } = options;
  const isText = typeof query === "string";
  const select = asSelect(isText ? query : query.text, charactersMax);
  const text = `SELECT * FROM (${select}) LIMIT ${rowsMax + 1}`;
  const rows = await runSql<Row>(database, new SqlStatement(text, isText ? parameters : query.parameters));
  return { rows: rows.slice(0, rowsMax), isTruncated: rows.length > rowsMax };
}

/**
 * Returns a query without comments and final semicolons, and with one space between its tokens. @throws {RefusedError} if it is not
 * a single SELECT.
 */
function asSelect(text: string, charactersMax: number): string {
  if (text.length > charactersMax) throw refused(`it has more than ${charactersMax} characters`);
  const tokens = sqlTokens(text);
  if (!tokens) throw refused("a part of it is not SQL");
  const last = tokens.findLastIndex((token) => token.text !== ";");
  const statement = tokens.slice(0, last + 1);
  const problem = findProblem(statement);
  if (problem) throw refused(problem);
  return statement.map((token) => token.text).join(" ");
}

/** Keywords of statements that are not queries. Columns with these names must be quoted. */
const REFUSED = new Set(
  (
    "ALTER ANALYZE ATTACH BEGIN COMMIT CREATE DELETE DETACH DROP EXPLAIN INSERT PRAGMA REINDEX RELEASE " +
    "ROLLBACK SAVEPOINT UPDATE VACUUM"
  ).split(" "),
);

function findProblem(tokens: readonly SqlToken[]): string | undefined {
  const [first] = tokens;
  if (first?.kind !== "word" || !["SELECT", "WITH", "VALUES"].includes(first.text.toUpperCase())) {
    return "it does not begin with SELECT, WITH or VALUES";
  }
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    if (token.text === ";") return "it has more than one statement";
    if (token.text === "(") depth++;
    if (token.text === ")" && --depth < 0) return "its parentheses do not match";
    const problem =
      token.kind === "other" ? undefined : findNameProblem(token, tokens[at - 1]?.text, tokens[at + 1]?.text);
    if (problem) return problem;
  }
  return depth === 0 ? undefined : "its parentheses do not match";
}

/**
 * The tokens after which a string in single quotes is a value. After any other token, such as FROM, JOIN, IN, a dot or a comma, SQLite
 * may take it for a name.
 */
const BEFORE_VALUE = /^(?:SELECT|WHERE|AND|OR|NOT|LIKE|GLOB|IS|WHEN|THEN|ELSE|[-+*/%<>=!|]+)$/i;

function findNameProblem({ kind, text }: SqlToken, previous = "", next?: string): string | undefined {
  const name = (kind === "quoted" ? text.slice(1, -1) : text).toUpperCase();
  // Checked in quotes too, because these are names of functions and tables and not keywords. In a string value they are harmless.
  if (!text.startsWith("'") || next === "(" || !BEFORE_VALUE.test(previous)) {
    if (name.startsWith("PRAGMA_")) return "it reads a PRAGMA";
    if (name === "LOAD_EXTENSION") return "it loads an extension";
  }
  if (kind === "quoted") return undefined;
  // REPLACE is a statement, and replace() is a function.
  const isStatement = REFUSED.has(name) || (name === "REPLACE" && next !== "(");
  return isStatement ? `it has the keyword ${name}` : undefined;
}

function refused(why: string): RefusedError {
  return new RefusedError("sql", `The query was refused: ${why}. Write a single SELECT.`);
}
