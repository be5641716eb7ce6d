/**
 * Matches URIs against a URI template, whichever characters they escape.
 *
 * @module
 */
import { OPERATORS, type Operator, type Part, UriTemplate } from "../../../core/define/uri-template.ts";
import { unescapeUri } from "../../../core/protocol/uri.ts";

/** The characters that the value of an expression cannot contain, whether they are escaped or not, by operator. */
const ENDS: Readonly<Record<Operator, string>> = {
  "": "/?#",
  "+": "",
  "#": "",
  ".": "/?#",
  "/": "?#",
  ";": "/?#",
  "?": "#",
  "&": "#",
};

/** A URI template that is compared with keys of URIs. A key does not show which characters the URI escapes. */
export class UriPattern {
  readonly #path: readonly Part[];
  /**
   * The parts of the query that the template contains outside of expressions, separated at `&`. A URI may have them in any
   * order.
   */
  readonly #query: readonly (readonly Part[])[] | undefined;

  /** @throws {KitError} `definition-invalid` if the template is invalid. */
  constructor(text: string) {
    const { text: whole } = new UriTemplate(text);
    // A question mark inside an expression does not begin the query of the template.
    const [, path = whole, query] = /^((?:\{[^}]*\}|[^{?])*)\?(.*)$/s.exec(whole) ?? [];
    this.#path = parseParts(path);
    this.#query = query
      ?.replace(/\{[&#][^}]*\}|#.*/gs, "")
      .split("&")
      .map(parseParts);
  }

  /** Whether the template matches a URI with this key, as returned by `uriKey()`. */
  covers(key: string): boolean {
    if (!this.#query) return covers(this.#path, key);
    const [, path = "", query] = /^([^?#]*)\?([^#]*)/.exec(key) ?? [];
    const pieces = query?.split("&");
    if (!pieces || !covers(this.#path, path)) return false;
    return this.#query.every((parts) => pieces.some((piece) => covers(parts, piece)));
  }
}

function parseParts(text: string): readonly Part[] {
  return new UriTemplate(text).parts.map((part) => (typeof part === "string" ? unescapeUri(part) : part));
}

/**
 * Whether the parts match a key in which every character of a variable may represent its escape. It tracks all possible
 * ends of the parts at once, so it takes linear time.
 */
function covers(parts: readonly Part[], text: string): boolean {
  let places = new Uint8Array(text.length + 1);
  places[0] = 1;
  for (const part of parts)
    places = typeof part === "string" ? afterLiteral(part, text, places) : afterExpression(part.operator, text, places);
  return places[text.length] === 1;
}

function afterLiteral(literal: string, text: string, places: Uint8Array): Uint8Array<ArrayBuffer> {
  const next = new Uint8Array(places.length);
  for (let at = places.indexOf(1); at >= 0; at = places.indexOf(1, at + 1)) {
    if (text.startsWith(literal, at)) next[at + literal.length] = 1;
  }
  return next;
}

function afterExpression(operator: Operator, text: string, places: Uint8Array): Uint8Array<ArrayBuffer> {
  const next = new Uint8Array(places.length);
  const { first } = OPERATORS[operator];
  // The end of the characters that the expression may contain, and the first position that is not marked yet.
  let [end, unmarked] = [0, 0];
  for (let at = places.indexOf(1); at >= 0; at = places.indexOf(1, at + 1)) {
    // A plain variable has a value. Any other expression may be empty.
    if (operator !== "") next[at] = 1;
    if (!text.startsWith(first, at)) continue;
    end = Math.max(end, at + first.length);
    while (end < text.length && !ENDS[operator].includes(text.charAt(end))) end += 1;
    unmarked = Math.max(unmarked, at + (operator === "" ? 1 : first.length));
    for (; unmarked <= end; unmarked += 1) next[unmarked] = 1;
  }
  return next;
}
