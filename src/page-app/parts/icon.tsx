/**
 * Icons. They are decorative: the text beside an icon has the same meaning.
 *
 * @module
 */
import type { JSX } from "preact";

/** The path of each icon, in a view box of 16 by 16. */
const PATHS = {
  good: "M3 8l4 4 6-7",
  bad: "M8 6v3M8 11v.2M8 2l6 12H2z",
  stop: "M4 4h8v8H4z",
  cut: "M3 3l10 10M13 3 3 13",
  run: "M5 3v10l8-5z",
  wait: "M8 5v3l2 2M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2z",
  ask: "M6 6a2 2 0 1 1 2 2v2M8 12v.2",
  add: "M8 3v10M3 8h10",
  remove: "M3 8h10",
  copy: "M5.5 5.5h7v8h-7zM10.5 5.5v-3h-7v8h2",
  search: "M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM10 10l4 4",
  flow: "M2 4h6M5 8h9M4 12h5",
} as const;

/** The name of an icon. */
export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class={`icon ${name}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
