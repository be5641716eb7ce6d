/**
 * Positions within schemas.
 *
 * @module
 */
import { printable } from "../core/basics/quote.ts";

/** A position in both schemas. */
export interface Place {
  readonly path: string;
  readonly level: number;
  /** Whether the position is inside a `not`, where narrowing means widening. */
  readonly isNegated: boolean;
  /** Whether the position is inside a keyword such as `oneOf`, where allowing more can mean that the whole schema allows less. */
  readonly isExclusive: boolean;
}

/** The maximum number of characters of a path. @limit internal */
const PATH_CHARS_MAX = 200;

/** Returns the place one level deeper. */
export function within(place: Place, step: string): Place {
  const longer = `${place.path}${step}`;
  return { ...place, path: longer.length > PATH_CHARS_MAX ? place.path : longer, level: place.level + 1 };
}

/** Returns the place of a member. */
export function atMember(place: Place, name: string): Place {
  return within(place, `.${shown(name)}`);
}

/** Returns a name in a path: as it is if it is simple, and as JSON otherwise. */
export function shown(name: string): string {
  return /^[\w-]{1,64}$/.test(name) ? name : printable(JSON.stringify(name.slice(0, 64)));
}
