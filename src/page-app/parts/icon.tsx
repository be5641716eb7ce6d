/**
 * Small drawings. A text beside them always says the same.
 *
 * @module
 */
import type { JSX } from "preact";

/** The lines of each drawing, on a square of 16 by 16. */
const PATHS = {
  good: "M3 8.5 6.5 12 13 4.5",
  bad: "M8 4.5v4M8 11.2v.3M8 1.8l6.7 12H1.3z",
  stop: "M4.5 4.5h7v7h-7z",
  cut: "M3 3l10 10M13 3 3 13",
  run: "M5 3.5v9l7.5-4.5z",
  wait: "M8 4v4l2.5 2M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8z",
  ask: "M5.8 6a2.3 2.3 0 1 1 3.2 2.1c-.7.3-1 .8-1 1.5M8 12v.2M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8z",
  add: "M8 3v10M3 8h10",
  remove: "M3 8h10",
  copy: "M5.5 5.5h7v8h-7zM10.5 5.5v-3h-7v8h2",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5l3.5 3.5",
  flow: "M2.5 4h6M5 8h8.5M4 12h5",
} as const;

/** The name of a drawing. */
export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class={`icon ${name}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
