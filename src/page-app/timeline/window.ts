/**
 * Calculates the visible rows of a long list.
 *
 * @module
 */

/** The number of additional rows before and after the visible rows, so that fast scrolling shows no gaps. */
const MORE = 8;

/** The rows to render, from `first` (inclusive) to `last` (exclusive). */
export interface Window {
  readonly first: number;
  readonly last: number;
}

/** Returns the rows to render. */
export function windowOf(scrollTop: number, height: number, rowHeight: number, count: number): Window {
  const first = Math.max(0, Math.min(count, Math.floor(scrollTop / rowHeight)) - MORE);
  const last = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + MORE);
  return { first: Math.min(first, last), last };
}

/** Returns the scroll position that makes a row visible. Undefined if it is visible. */
export function scrollTo(row: number, scrollTop: number, height: number, rowHeight: number): number | undefined {
  const top = row * rowHeight;
  if (top < scrollTop) return top;
  return top + rowHeight > scrollTop + height ? top + rowHeight - height : undefined;
}
