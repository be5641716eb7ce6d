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
  tool: "M9.8 2.2a3.5 3.5 0 0 0-3.6 4.9L2 11.3 4.7 14l4.2-4.2a3.5 3.5 0 0 0 4.6-4.5l-2.2 2.2-2-.6-.6-2z",
  prompt: "M2.5 3h11v7.5H7L4 13.5v-3H2.5z",
  resource: "M4 1.8h5L12.5 5v9.2H4zM9 1.8V5h3.5",
  task: "M2.5 4.5h2M7 4.5h6.5M2.5 8h2M7 8h6.5M2.5 11.5h2M7 11.5h6.5",
  object: "M8 1.8 13.5 5v6L8 14.2 2.5 11V5zM2.5 5 8 8.2 13.5 5M8 8.2v6",
  settings: "M2 5h7M12 5h2M2 11h2M7 11h7M10.5 3.5v3M5.5 9.5v3",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5l3.5 3.5",
  link: "M6.5 9.5l3-3M7 4.5l1.3-1.3a3 3 0 0 1 4.5 4.5L11.5 9M9 11.5l-1.3 1.3a3 3 0 0 1-4.5-4.5L4.5 7",
  bell: "M4 11.5V7a4 4 0 0 1 8 0v4.5zM6.5 13.8h3",
  back: "M10 3 5 8l5 5",
  flow: "M2.5 4h6M5 8h8.5M4 12h5",
  close: "M4 4l8 8M12 4l-8 8",
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
