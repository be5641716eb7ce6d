/** Where a fact about a host was published. */
export interface Source {
  readonly url: string;
  /** The date of the source, or the date on which it was read if it has none: `YYYY-MM-DD`. */
  readonly date: string;
}

/** A fact about a host. */
export interface Sourced<T> {
  readonly value: T;
  readonly source: Source;
}

/** Creates a fact with its source. */
export function sourced<T>(value: T, url: string, date: string): Sourced<T> {
  return { value, source: { url, date } };
}
