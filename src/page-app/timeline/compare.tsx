/**
 * The differences between two recorded calls.
 *
 * @module
 */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { compare } from "../api/recorder-api.ts";
import { DataTable } from "../parts/data-table.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { PanelFrame } from "../parts/panel-frame.tsx";
import { linkTo } from "../state/route.ts";

/** The id of the entry that was selected for a comparison. */
export const compared = signal<string | undefined>(undefined);

/** @param pair The ids of two entries, separated by a comma. */
export function ComparePanel({ pair }: { readonly pair: string }): JSX.Element {
  const [a = "", b = ""] = pair.split(",");
  const { value: found, problem } = useLoaded(() => compare({ a, b }), [pair]);
  const differences = found?.differences ?? [];
  const about = (
    <>
      <a href={linkTo("call", a)}>#{a}</a> and <a href={linkTo("call", b)}>#{b}</a>
    </>
  );
  return (
    <PanelFrame title="Comparison" about={about} problem={problem}>
      {found && differences.length === 0 && <p class="empty">No differences, apart from times and ids.</p>}
      {differences.length > 0 && (
        <DataTable
          isNamed
          head={["Where", `#${a}`, `#${b}`]}
          rows={differences.map(({ where, left, right }) => [where, left, right])}
        />
      )}
    </PanelFrame>
  );
}
