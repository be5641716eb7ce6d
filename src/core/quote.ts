/** Characters of a peer's value that an error text repeats. The rest tells nobody anything and may be megabytes. */
const SHOWN_MAX = 100;

/** A peer's value for an error text: as JSON, cut short. */
export function quote(value: string): string {
  return JSON.stringify(value.length > SHOWN_MAX ? `${value.slice(0, SHOWN_MAX)}...` : value);
}
