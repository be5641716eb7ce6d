import type { JSX } from "preact";

/** Returns a value as text. Undefined is an empty string. */
function show(value: unknown): string {
  return value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

/** A table of values. With `isNamed`, the first column contains row headers. */
export function DataTable({
  head,
  rows,
  isNamed = false,
}: {
  readonly head: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly isNamed?: boolean;
}): JSX.Element {
  return (
    <table>
      <thead>
        <tr>
          {head.map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            {row.map((value, column) =>
              isNamed && column === 0 ? (
                <th key={column} scope="row">
                  {show(value)}
                </th>
              ) : (
                <td key={column}>{show(value)}</td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
