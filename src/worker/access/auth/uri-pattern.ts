/**
 * The URIs that a template matches, whatever they escape.
 *
 * @module
 */
import { OPERATORS, type Operator, type Part, UriTemplate } from "../../../core/define/uri-template.ts";
import { unescapeUri } from "../../../core/protocol/uri.ts";

/** The characters that the text of an expression cannot contain, whether they are escaped or not. */
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

/** A URI template for comparisons with keys of URIs. A key does not tell which characters the URI escapes. */
export class UriPattern {
  readonly #path: readonly Part[];
  /** The pieces of a query that is written in the template, outside of expressions. The URI may have them in any order. */
  readonly #query: readonly (readonly Part[])[] | undefined;

  /** @throws {KitError} `definition-invalid` for a template with a mistake. */
  constructor(text: string) {
    const { text: whole } = new UriTemplate(text);
    // The question mark of an expression is not the beginning of a written query.
    const [, path = whole, query] = /^((?:\{[^}]*\}|[^{?])*)\?(.*)$/s.exec(whole) ?? [];
    this.#path = parseParts(path);
    this.#query = query
      ?.replace(/\{[&#][^}]*\}|#.*/gs, "")
      .split("&")
      .map(parseParts);
  }

  /** Whether the template matches a URI with this key, from `uriKey`. */
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
 * Whether the parts match a text in which every character of a variable may stand for its escape. It follows all
 * possible ends of the parts at once, so it takes linear time.
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
  // The end of the characters that the expression may contain, and the first place that is not yet marked.
  let [end, unmarked] = [0, 0];
  for (let at = places.indexOf(1); at >= 0; at = places.indexOf(1, at + 1)) {
    // A plain variable has a value. The text of any other expression may be missing.
    if (operator !== "") next[at] = 1;
    if (!text.startsWith(first, at)) continue;
    end = Math.max(end, at + first.length);
    while (end < text.length && !ENDS[operator].includes(text.charAt(end))) end += 1;
    unmarked = Math.max(unmarked, at + (operator === "" ? 1 : first.length));
    for (; unmarked <= end; unmarked += 1) next[unmarked] = 1;
  }
  return next;
}
