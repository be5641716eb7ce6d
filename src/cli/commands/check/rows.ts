/**
 * The rows of the table that `mcp-edge check` prints.
 *
 * @module
 */
import { oneLine, type Paint, type Terminal } from "../../terminal/terminal.ts";

/** The outcome of a check. A warning does not fail the command. */
export type Status = "passed" | "failed" | "warning" | "not-applicable";

/** One row of the table. */
export interface CheckRow {
  /** The protocol version of the connection. */
  readonly version: string;
  /** The name of a check of mcp-edge, or of a scenario of the official suite. */
  readonly name: string;
  readonly source: "mcp-edge" | "official";
  readonly status: Status;
  /** What the check found, or why it failed or does not apply. */
  readonly detail?: string;
}

const MARKS: Readonly<Record<Status, (paint: Paint) => string>> = {
  passed: (paint) => paint.green("✓"),
  failed: (paint) => paint.red("✗"),
  warning: (paint) => paint.yellow("!"),
  "not-applicable": (paint) => paint.dim("-"),
};

/** Prints the rows by protocol version, oldest first, and the number of rows of each status. */
export function printRows(rows: readonly CheckRow[], terminal: Terminal): void {
  const { out } = terminal;
  const width = Math.max(...rows.map(({ name }) => name.length));
  for (const version of [...new Set(rows.map((row) => row.version))].sort()) {
    terminal.print(out.bold(version));
    for (const { name, status, detail = "" } of rows.filter((row) => row.version === version)) {
      const text =
        status === "not-applicable"
          ? out.dim(`${name.padEnd(width)}  ${detail}`)
          : `${name.padEnd(width)}  ${oneLine(detail, 400)}`;
      terminal.print(`  ${MARKS[status](out)} ${text.trimEnd()}`);
    }
  }
  const counts = (Object.keys(MARKS) as Status[]).map((status) => {
    const count = rows.filter((row) => row.status === status).length;
    return `${count} ${status.replace("-", " ")}`;
  });
  terminal.print(`${counts.join(", ")}`);
}
