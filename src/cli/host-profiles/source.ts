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
  /** A source that contradicts the fact, so that it is uncertain. */
  readonly contradictedBy?: Source;
}

/** Creates a fact with its source. */
export function sourced<T>(value: T, url: string, date: string): Sourced<T> {
  return { value, source: { url, date } };
}

/** Returns a fact that another source contradicts. */
export function contradicted<T>(fact: Sourced<T>, url: string, date: string): Sourced<T> {
  return { ...fact, contradictedBy: { url, date } };
}
