/**
 * Two recorded calls side by side: what differs.
 *
 * @module
 */
import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Comparison } from "../../recorder/api.ts";
import { compare } from "../api/recorder-api.ts";
import { Icon } from "../parts/icon.tsx";
import { toError } from "../state/calls.ts";
import { linkTo } from "../state/route.ts";

/** The entry with which another one is to be compared. */
export const compared = signal<string | undefined>(undefined);

/** @param pair The ids of two entries, with a comma between them. */
export function ComparePanel({ pair }: { readonly pair: string }): JSX.Element {
  const [a = "", b = ""] = pair.split(",");
  const found = useSignal<Comparison | undefined>(undefined);
  const problem = useSignal("");
  useEffect(() => {
    compare({ a, b }).then(
      (comparison) => {
        found.value = comparison;
      },
      (error: unknown) => {
        problem.value = toError(error).message;
      },
    );
  }, [pair]);
  const differences = found.value?.differences;
  return (
    <article class="panel">
      <header class="heading">
        <h1>Two calls compared</h1>
        <p class="description">
          <a href={linkTo("call", a)}>#{a}</a> and <a href={linkTo("call", b)}>#{b}</a>
        </p>
      </header>
      {problem.value && (
        <p class="mistake">
          <Icon name="bad" /> {problem.value}
        </p>
      )}
      {differences?.length === 0 && <p class="empty">Nothing differs, apart from times and ids.</p>}
      {differences && differences.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">Where</th>
              <th scope="col">#{a}</th>
              <th scope="col">#{b}</th>
            </tr>
          </thead>
          <tbody>
            {differences.map(({ where, left, right }) => (
              <tr key={where}>
                <th scope="row">
                  <code>{where}</code>
                </th>
                <td>{show(left)}</td>
                <td>{show(right)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </article>
  );
}

function show(value: unknown): string {
  return value === undefined ? "nothing" : typeof value === "string" ? value : JSON.stringify(value);
}
