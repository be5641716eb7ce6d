/**
 * Reads YAML scalars and flow collections, which are in brackets or braces.
 *
 * @module
 * @see YAML 1.2.2, chapters 7 and 10.3
 */
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";

/** Thrown for text that is not YAML, or uses YAML features that this reader does not support. */
export class YamlError extends Error {}

/** Thrown for an incomplete value, which the next line may complete. */
export class UnfinishedError extends YamlError {}

const ESCAPES: Readonly<Record<string, string>> = {
  "0": "\0",
  a: "\x07",
  b: "\b",
  t: "\t",
  n: "\n",
  v: "\v",
  f: "\f",
  r: "\r",
  e: "\x1b",
  " ": " ",
  '"': '"',
  "/": "/",
  "\\": "\\",
  N: "\x85",
  _: "\xa0",
  L: "\u2028",
  P: "\u2029",
};

const INTEGER = /^[-+]?\d+$/;
const FLOAT = /^[-+]?(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?$/i;

/** Returns the value of a plain scalar in the core schema. @throws {YamlError} for infinity and NaN, which JSON lacks. */
export function parsePlain(text: string): unknown {
  if (/^(|~|null|Null|NULL)$/.test(text)) return null;
  if (/^(true|True|TRUE)$/.test(text)) return true;
  if (/^(false|False|FALSE)$/.test(text)) return false;
  if (INTEGER.test(text) || FLOAT.test(text) || /^0(o[0-7]+|x[\da-f]+)$/i.test(text)) return Number(text);
  if (/^([-+]?\.inf|\.nan)$/i.test(text)) throw new YamlError(`JSON has no number ${text}`);
  return text;
}

/** Checks the beginning of a plain scalar. @throws {YamlError} if it is an indicator with another meaning. */
export function checkPlain(text: string): void {
  if (/^[&*!|>'"%@`{}[\],#]|^[?:-](\s|$)/.test(text)) throw new YamlError(`${text.slice(0, 20)} is not supported`);
}

/** Reads values from a text, which may have several lines. */
export class FlowReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Reads a quoted scalar or a flow collection. Only a comment may follow. */
  whole(): unknown {
    const value = this.#value(false);
    const rest = this.#text.slice(this.#at);
    if (/^\s*$|^\s+#/.test(rest)) return value;
    throw new YamlError(`${rest.trim().slice(0, 20)} is unexpected after a value`);
  }

  /** Reads a quoted key. Returns the key and the text after its colon, or undefined if there is no colon. */
  key(): { readonly key: string; readonly rest: string } | undefined {
    const key = this.#quoted();
    const after = /^\s*:(?=\s|$)/.exec(this.#text.slice(this.#at));
    return after ? { key, rest: this.#text.slice(this.#at + after[0].length) } : undefined;
  }

  #value(isInside: boolean): unknown {
    const first = this.#peek();
    if (first === "[") return this.#list();
    if (first === "{") return this.#map();
    if (first === '"' || first === "'") return this.#quoted();
    if (isInside) return this.#plain();
    throw new YamlError(`${this.#text.slice(0, 20)} is not supported`);
  }

  /** Skips white space and comments, and returns the next character. @throws {UnfinishedError} at the end. */
  #peek(): string {
    const skipped = /^(\s|(?<=\s)#[^\n]*)*/.exec(this.#text.slice(this.#at))?.[0] ?? "";
    this.#at += skipped.length;
    const next = this.#text[this.#at];
    if (next === undefined) throw new UnfinishedError("the value does not end");
    return next;
  }

  #list(): unknown[] {
    const items: unknown[] = [];
    this.#at += 1;
    while (this.#peek() !== "]") {
      items.push(this.#value(true));
      this.#separator("]");
    }
    this.#at += 1;
    return items;
  }

  #map(): JsonObject {
    const map = new Map<string, unknown>();
    this.#at += 1;
    while (this.#peek() !== "}") {
      const isQuoted = /["']/.test(this.#peek());
      const key = isQuoted ? this.#quoted() : this.#match(/^[^\s,[\]{}:#&*!|>'"%@`?-][^,[\]{}:#\n]*/).trim();
      if (this.#peek() !== ":") throw new YamlError(`${key} has no value`);
      this.#at += 1;
      // Without a space, the text after the colon belongs to the key.
      if (!isQuoted && /^[^\s,[\]{}]/.test(this.#text.slice(this.#at)))
        throw new YamlError(`write a space after ${key}:`);
      if (map.has(key)) throw new YamlError(`${key} occurs twice`);
      map.set(key, /[,}]/.test(this.#peek()) ? null : this.#value(true));
      this.#separator("}");
    }
    this.#at += 1;
    return Object.fromEntries(map);
  }

  #separator(end: string): void {
    const next = this.#peek();
    if (next === ",") this.#at += 1;
    else if (next !== end) throw new YamlError(`${next} is unexpected in a collection`);
  }

  #plain(): unknown {
    const text = this.#match(/^(?:[^,[\]{}:#\n]|:(?=[^\s,[\]{}])|(?<=\S)#)+/).trim();
    checkPlain(text);
    return parsePlain(text);
  }

  #quoted(): string {
    const isDouble = this.#peek() === '"';
    const text = this.#text.slice(this.#at);
    const found = (isDouble ? /^"((?:[^"\\]|\\[\s\S])*)"/ : /^'((?:[^']|'')*)'/).exec(text);
    if (!found) throw new UnfinishedError("the quoted text does not end");
    this.#at += found[0].length;
    const inner = found[1] ?? "";
    if (!isDouble) return fold(inner).replaceAll("''", "'");
    // A backslash at the end of a line joins it with the next line without a space.
    return unescapeText(fold(inner.replace(/(?<!\\)((?:\\\\)*)\\\n\s*/g, "$1")));
  }

  #match(pattern: RegExp): string {
    const found = pattern.exec(this.#text.slice(this.#at))?.[0];
    if (found === undefined) throw new YamlError(`${this.#text.slice(this.#at, this.#at + 20)} is not supported`);
    this.#at += found.length;
    return found;
  }
}

/** Joins the lines of a flow scalar: a line break becomes a space, and an empty line becomes a line break. */
export function fold(text: string): string {
  const [first = "", ...rest] = text.split("\n");
  if (rest.length === 0) return first;
  const last = rest.pop() ?? "";
  let folded = first.trimEnd();
  let gap = " ";
  for (const line of rest) {
    const part = line.trim();
    if (part === "") gap = gap === " " ? "\n" : `${gap}\n`;
    else {
      folded += gap + part;
      gap = " ";
    }
  }
  return folded + gap + last.trimStart();
}

function unescapeText(text: string): string {
  return text.replace(/\\(x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|U[\dA-Fa-f]{8}|[\s\S])/g, (whole, code: string) => {
    if (code.length > 1) return String.fromCodePoint(Number.parseInt(code.slice(1), 16));
    const meaning = ESCAPES[code];
    if (meaning === undefined) throw new YamlError(`the escape ${whole} is not supported`);
    return meaning;
  });
}
