/** Parses CSV (RFC 4180) that is separated by commas, semicolons or tabs. */
import { ToolError } from "mcp-edge";

export type Value = string | number | null;

export interface Csv {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Value[])[];
  /** The columns that contain only numbers. */
  readonly numeric: ReadonlySet<string>;
}

/** The maximum number of columns. D1 allows at most 100 parameters in a statement, and an import needs one for each column. */
const COLUMNS_MAX = 90;
/** Matches valid column names. A name that begins with _ could conflict with a name of SQLite, such as _rowid_. */
const COLUMN = /^[^_\p{Cc}][^\p{Cc}]{0,59}$/u;

/** Writes CSV. A spreadsheet could run a cell that begins like a formula, so it gets an apostrophe. */
export function formatCsv(records: readonly (readonly unknown[])[]): string {
  const toField = (value: unknown) => {
    const text = typeof value === "string" ? value.replace(/^[=+\-@\t\r]/, "'$&") : String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return records.map((record) => `${record.map(toField).join(",")}\r\n`).join("");
}

/** Parses CSV. @throws {ToolError} naming the line, so that the model can correct the text. */
export function parseCsv(text: string): Csv {
  const [header, ...records] = splitRecords(text.replace(/^\uFEFF/, ""));
  const columns = (header ?? []).map((name) => name.trim());
  if (columns.length > COLUMNS_MAX) throw new ToolError(`The header has more than ${COLUMNS_MAX} columns.`);
  const names = new Set(columns.map((name) => name.toLowerCase()));
  if (names.size < columns.length || !columns.every((name) => COLUMN.test(name))) {
    throw new ToolError(
      "The first line must contain a unique name for each column, with 1 to 60 characters, not beginning with _.",
    );
  }
  const wrong = records.findIndex((record) => record.length !== columns.length);
  if (wrong >= 0) {
    const found = records[wrong]?.length;
    throw new ToolError(`Record ${wrong + 1} has ${found} fields, but the header has ${columns.length}.`);
  }
  const isNumeric = columns.map((_, at) => records.every((record) => isNumberOrEmpty(record[at] ?? "")));
  const toValue = (field: string, at: number): Value => {
    if (field.trim() === "") return null;
    return isNumeric[at] ? Number(field) : field;
  };
  return {
    columns,
    rows: records.map((record) => record.map(toValue)),
    numeric: new Set(columns.filter((_, at) => isNumeric[at])),
  };
}

const isNumberOrEmpty = (field: string) => /^\s*([-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d{1,3})?)?\s*$/i.test(field);

/** Splits text into records, and records into fields. Empty lines are ignored. */
function splitRecords(text: string): string[][] {
  const separator = detectSeparator(text.slice(0, text.search(/[\r\n]|$/)));
  // A field in quotes may contain any character, with quotes doubled. A field without quotes ends at a separator or line break.
  const field = new RegExp(`(?:"((?:[^"]|"")*)"|([^"${separator}\\r\\n]*))(${separator}|\\r\\n|\\r|\\n|$)`, "y");
  const records: string[][] = [];
  let record: string[] = [];
  while (field.lastIndex < text.length || record.length > 0) {
    const start = field.lastIndex;
    const [, quoted, plain = "", end] = field.exec(text) ?? [];
    if (end === undefined) {
      const line = text.slice(0, start).split(/\r\n|\r|\n/).length;
      throw new ToolError(`Line ${line} has a quote in a field without quotes, or quotes that are not closed.`);
    }
    record.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === separator) continue;
    if (record.length > 1 || record[0] !== "") records.push(record);
    record = [];
    if (end === "") break;
  }
  if (records.length === 0) throw new ToolError("The CSV is empty. Its first line must name the columns.");
  return records;
}

function detectSeparator(header: string): string {
  const count = (separator: string) => header.split(separator).length;
  return [",", ";", "\t"].reduce((best, each) => (count(each) > count(best) ? each : best));
}
