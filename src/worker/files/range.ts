/**
 * Ranges of a download.
 *
 * @module
 * @see RFC 9110, 14
 */

/** A part of a file. */
export interface FileRange {
  readonly offset: number;
  readonly length: number;
}

/**
 * Returns the part of a file that a request asks for. Undefined for the whole file, which is also the answer to headers that
 * are not supported, such as several ranges.
 */
export function findRange(header: string | null, bytes: number): FileRange | "unsatisfiable" | undefined {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  const offset = first === "" ? Math.max(0, bytes - Number(last)) : Number(first);
  const end = first === "" || last === "" ? bytes - 1 : Math.min(Number(last), bytes - 1);
  if (first !== "" && last !== "" && Number(last) < offset) return undefined;
  return offset > end ? "unsatisfiable" : { offset, length: end - offset + 1 };
}
