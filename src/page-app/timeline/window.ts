/**
 * The part of a long list that is in view.
 *
 * @module
 */

/** Rows that are drawn beyond both edges, so that fast scrolling shows no gaps. */
const MORE = 8;

/** The rows to draw: from `first` up to, but not including, `last`. */
export interface Window {
  readonly first: number;
  readonly last: number;
}

/** Returns the rows in view. */
export function windowOf(scrollTop: number, height: number, rowHeight: number, count: number): Window {
  const first = Math.max(0, Math.min(count, Math.floor(scrollTop / rowHeight)) - MORE);
  const last = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + MORE);
  return { first: Math.min(first, last), last };
}

/** Returns where to scroll so that a row is in view, or undefined if it is. */
export function scrollTo(row: number, scrollTop: number, height: number, rowHeight: number): number | undefined {
  const top = row * rowHeight;
  if (top < scrollTop) return top;
  return top + rowHeight > scrollTop + height ? top + rowHeight - height : undefined;
}
