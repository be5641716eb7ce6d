/**
 * Matches and expands URI templates (RFC 6570). Matching takes linear time: a variable ends where the next literal
 * first occurs, and there is no backtracking. (With backtracking, `{a}-{b}-{c}-{d}-{e}!` and a URI of 6,000 characters
 * would take minutes.)
 *
 * Operators: none, `+`, `#`, `.`, `/`, `;`, `?`, `&`. Templates with the modifiers `*` and `:n` are refused, because
 * resource variables are neither lists nor prefixes.
 *
 * @module
 * @see https://www.rfc-editor.org/rfc/rfc6570
 */
import { KitError } from "../protocol/errors.ts";
import { normalUri, uriKey } from "../protocol/uri.ts";

/** The decoded variables of a template. A variable that the URI leaves out is absent. */
export type UriTemplateVariables = { readonly [name: string]: string };

/** A literal, or an expression with its variables. */
export type Part = string | Expression;

interface Expression {
  readonly operator: Operator;
  readonly names: readonly string[];
}

export type Operator = "" | "+" | "#" | "." | "/" | ";" | "?" | "&";

/**
 * How each operator expands: its first character, its separator, whether names are written, and whether reserved
 * characters stay unencoded.
 */
export const OPERATORS: Readonly<
  Record<Operator, { first: string; separator: string; isNamed: boolean; isReserved: boolean }>
> = {
  "": { first: "", separator: ",", isNamed: false, isReserved: false },
  "+": { first: "", separator: ",", isNamed: false, isReserved: true },
  "#": { first: "#", separator: ",", isNamed: false, isReserved: true },
  ".": { first: ".", separator: ".", isNamed: false, isReserved: false },
  "/": { first: "/", separator: "/", isNamed: false, isReserved: false },
  ";": { first: ";", separator: ";", isNamed: true, isReserved: false },
  "?": { first: "?", separator: "&", isNamed: true, isReserved: false },
  "&": { first: "&", separator: "&", isNamed: true, isReserved: false },
};

const EXPRESSION = /\{([+#./;?&]?)([^{}]*)\}/g;
const NAME = /^\w+(\.\w+)*$/;
/** The encoded value of a variable whose operator is neither `+` nor `#`. */
const ENCODED = /^([\w.~-]|%[\da-f]{2})*$/i;
const ENCODED_RESERVED = /^([\w.~:/?#[\]@!$&'()*+,;=-]|%[\da-f]{2})*$/i;

/** A compiled template. */
export class UriTemplate {
  readonly text: string;
  /** The literals, in the normal form of URIs, and the expressions. */
  readonly parts: readonly Part[];
  /** Names of the variables, in order. */
  readonly names: readonly string[];

  /** @throws {KitError} `definition-invalid` naming the mistake in the template. */
  constructor(text: string) {
    this.text = text;
    this.parts = parseTemplate(normalUri(text));
    this.names = this.parts.flatMap((part) => (typeof part === "string" ? [] : part.names));
    if (new Set(this.names).size < this.names.length) throw invalid(text, "a variable occurs twice");
  }

  /** Returns the URI for these variables. A missing variable and its separator are left out. */
  expand(variables: UriTemplateVariables): string {
    return this.parts.map((part) => (typeof part === "string" ? part : expandExpression(part, variables))).join("");
  }

  /**
   * Returns the variables of a URI, or undefined if the template does not match it. It matches only what `expand` would
   * write, apart from differences that `uriKey` ignores, so that a reader never gets the same variables for URIs with
   * different keys. Otherwise the scopes of a resource could be avoided by another spelling: `{+path}` would be "a/b"
   * in `a%2Fb` as well.
   */
  match(uri: string): UriTemplateVariables | undefined {
    const variables = this.read(uri);
    return variables && uriKey(this.expand(variables)) === uriKey(uri) ? variables : undefined;
  }

  /** Returns the variables of a URI, or undefined if the template matches no spelling of it. */
  read(uri: string): UriTemplateVariables | undefined {
    const found = new Map<string, string>();
    let rest = normalUri(uri);
    for (const [index, part] of this.parts.entries()) {
      if (typeof part === "string") {
        if (!rest.startsWith(part)) return undefined;
        rest = rest.slice(part.length);
        continue;
      }
      const text = rest.slice(0, this.#extent(part, index, rest));
      if (!matchExpression(part, text, found)) return undefined;
      rest = rest.slice(text.length);
    }
    // `fromEntries` creates own properties, even for a variable called __proto__.
    return rest === "" ? Object.fromEntries(found) : undefined;
  }

  /**
   * Returns the end of the text of an expression: the end of the URI for the last part, else the start of the next
   * part.
   */
  #extent(part: Expression, index: number, rest: string): number {
    const next = this.parts[index + 1];
    if (next === undefined) return rest.length;
    const delimiter = typeof next === "string" ? next : OPERATORS[next.operator].first;
    // The search starts after the expression's own first character, which may equal the delimiter, as in {/a}{/b}.
    const from = rest.startsWith(OPERATORS[part.operator].first) ? OPERATORS[part.operator].first.length : 0;
    const at = rest.indexOf(delimiter, from);
    if (at >= 0) return at;
    return rest.length;
  }
}

function parseTemplate(text: string): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of text.matchAll(EXPRESSION)) {
    pushLiteral(parts, text, text.slice(end, match.index));
    const names = (match[2] ?? "").split(",");
    for (const name of names) if (!NAME.test(name)) throw invalid(text, `"${name}" is not a variable name`);
    const expression = { operator: match[1] as Operator, names };
    const before = parts.at(-1);
    if (typeof before === "object" && OPERATORS[expression.operator].first === "") {
      throw invalid(text, "two adjacent variables need a separator between them");
    }
    parts.push(expression);
    end = match.index + match[0].length;
  }
  pushLiteral(parts, text, text.slice(end));
  return parts;
}

function pushLiteral(parts: Part[], text: string, literal: string): void {
  if (/[{}]/.test(literal)) throw invalid(text, "a brace is not closed or not opened");
  if (literal !== "") parts.push(literal);
}

function expandExpression({ operator, names }: Expression, variables: UriTemplateVariables): string {
  const { first, separator, isNamed, isReserved } = OPERATORS[operator];
  const shown = names.flatMap((name) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (value === undefined) return [];
    const encoded = isReserved ? encodeReserved(value) : encodeStrict(value);
    if (!isNamed) return [encoded];
    return [encoded === "" && operator === ";" ? name : `${name}=${encoded}`];
  });
  return shown.length === 0 ? "" : first + shown.join(separator);
}

function matchExpression({ operator, names }: Expression, text: string, found: Map<string, string>): boolean {
  const { first, separator, isNamed } = OPERATORS[operator];
  if (text === "") return isNamed || first !== "" || operator === "+";
  if (!text.startsWith(first)) return false;
  const values = text.slice(first.length);
  const pieces = names.length === 1 && !isNamed ? [values] : values.split(separator);
  return isNamed ? matchNamed(pieces, names, operator, found) : matchListed(pieces, names, operator, found);
}

function matchListed(
  pieces: readonly string[],
  names: readonly string[],
  operator: Operator,
  found: Map<string, string>,
) {
  if (pieces.length > names.length) return false;
  return pieces.every((piece, index) => {
    const value = decodeValue(piece, operator);
    const name = names[index];
    if (value === undefined || name === undefined || (piece === "" && operator === "")) return false;
    found.set(name, value);
    return true;
  });
}

/** Named variables are read in any order. A name that the template lacks does not match. */
function matchNamed(
  pieces: readonly string[],
  names: readonly string[],
  operator: Operator,
  found: Map<string, string>,
) {
  return pieces.every((piece) => {
    const [name = "", ...rest] = piece.split("=");
    const value = decodeValue(rest.join("="), operator);
    if (!names.includes(name) || found.has(name) || value === undefined) return false;
    found.set(name, value);
    return true;
  });
}

/**
 * Decodes a value. Returns undefined for characters that the operator would encode, so a plain variable cannot contain
 * `/`.
 */
function decodeValue(text: string, operator: Operator): string | undefined {
  if (!(OPERATORS[operator].isReserved ? ENCODED_RESERVED : ENCODED).test(text)) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    // The escapes are not UTF-8, so the URI does not match.
    return undefined;
  }
}

function encodeStrict(value: string): string {
  return encodeURIComponent(value.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Encodes a value but keeps reserved characters. `%` is encoded, because a value is plain text. */
function encodeReserved(value: string): string {
  return encodeURI(value.toWellFormed()).replaceAll("%5B", "[").replaceAll("%5D", "]");
}

function invalid(text: string, problem: string): KitError {
  return new KitError(
    "definition-invalid",
    `URI template ${JSON.stringify(text)} is not valid: ${problem} (RFC 6570).`,
  );
}
