/**
 * URI templates (RFC 6570), matched and expanded. Matching is linear in the URI: a variable ends where the literal
 * after it first occurs, and nothing is ever tried twice. (The packages that match by backtracking take minutes on
 * `{a}-{b}-{c}-{d}-{e}!` and a URI of 6,000 characters.)
 *
 * Operators: none, `+`, `#`, `.`, `/`, `;`, `?`, `&`. The modifiers `*` and `:n` describe lists and prefixes, which
 * resource variables are not; templates with them are refused.
 *
 * @module
 * @see https://www.rfc-editor.org/rfc/rfc6570
 */
import { KitError } from "../protocol/errors.ts";

/** Variables of a template, decoded. One that the URI leaves out is absent. */
export type TemplateVariables = { readonly [name: string]: string };

interface Expression {
  readonly operator: Operator;
  readonly names: readonly string[];
}

type Part = string | Expression;
type Operator = "" | "+" | "#" | "." | "/" | ";" | "?" | "&";

/** How each operator writes: what comes first, what between, whether names show, whether reserved characters stay. */
const OPERATORS: Readonly<
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
const NAME = /^[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*$/;
/** The characters of a variable without `+` or `#`, once encoded. */
const ENCODED = /^(?:[A-Za-z0-9\-._~]|%[0-9A-Fa-f]{2})*$/;
const ENCODED_RESERVED = /^(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*$/;

/** A template made ready. */
export class UriTemplate {
  readonly text: string;
  readonly #parts: readonly Part[];
  /** Names of the variables, in order. */
  readonly names: readonly string[];

  /** @throws {KitError} `definition-invalid` naming what is wrong with the template. */
  constructor(text: string) {
    this.text = text;
    this.#parts = parseTemplate(text);
    this.names = this.#parts.flatMap((part) => (typeof part === "string" ? [] : part.names));
    if (new Set(this.names).size < this.names.length) throw invalid(text, "a variable occurs twice");
  }

  /** The URI of these variables. A missing one is left out with its separator. */
  expand(variables: TemplateVariables): string {
    return this.#parts.map((part) => (typeof part === "string" ? part : expandExpression(part, variables))).join("");
  }

  /** The variables of a URI, or undefined when it does not fit. */
  match(uri: string): TemplateVariables | undefined {
    const found = new Map<string, string>();
    let rest = uri;
    for (const [place, part] of this.#parts.entries()) {
      if (typeof part === "string") {
        if (!rest.startsWith(part)) return undefined;
        rest = rest.slice(part.length);
        continue;
      }
      const text = rest.slice(0, this.#extent(part, place, rest));
      if (!matchExpression(part, text, found)) return undefined;
      rest = rest.slice(text.length);
    }
    // Own properties, whatever the names: a variable may be called __proto__.
    return rest === "" ? Object.fromEntries(found) : undefined;
  }

  /**
   * Returns the end of the text of an expression: the end of the URI for the last part, else the start of the next
   * part.
   */
  #extent(part: Expression, place: number, rest: string): number {
    const next = this.#parts[place + 1];
    if (next === undefined) return rest.length;
    const delimiter = typeof next === "string" ? next : OPERATORS[next.operator].first;
    // Past its own first character, which may equal the delimiter: {/a}{/b}.
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
    for (const name of names) if (!NAME.test(name)) throw invalid(text, `"${name}" is no variable name`);
    const expression = { operator: match[1] as Operator, names };
    const before = parts.at(-1);
    if (typeof before === "object" && OPERATORS[expression.operator].first === "") {
      throw invalid(text, "two variables stand side by side, so that nothing says where the first ends");
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

function expandExpression({ operator, names }: Expression, variables: TemplateVariables): string {
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
  return pieces.every((piece, place) => {
    const value = decodeValue(piece, operator);
    const name = names[place];
    if (value === undefined || name === undefined || (piece === "" && operator === "")) return false;
    found.set(name, value);
    return true;
  });
}

/** In any order; names the template does not have are not its URI. */
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

/** The decoded value, or undefined when it has characters the operator does not write: a plain variable crosses no `/`. */
function decodeValue(text: string, operator: Operator): string | undefined {
  if (!(OPERATORS[operator].isReserved ? ENCODED_RESERVED : ENCODED).test(text)) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    // Escapes that are no UTF-8: not a URI of this template.
    return undefined;
  }
}

function encodeStrict(value: string): string {
  return encodeURIComponent(value.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Reserved characters stay, except `%`: a value is text, never an already encoded piece. */
function encodeReserved(value: string): string {
  return encodeURI(value.toWellFormed()).replaceAll("%5B", "[").replaceAll("%5D", "]");
}

function invalid(text: string, problem: string): KitError {
  return new KitError(
    "definition-invalid",
    `URI template ${JSON.stringify(text)} is not valid: ${problem} (RFC 6570).`,
  );
}
