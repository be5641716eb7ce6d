/**
 * Changes one member of a JSON file with comments, and keeps every other character of it.
 *
 * @module
 */

/** A value in a text. */
interface Span {
  readonly start: number;
  /** The position after its last character. */
  readonly end: number;
  /** The members of an object; undefined for other values. */
  readonly members?: readonly Member[];
}

interface Member {
  readonly name: string;
  readonly value: Span;
  /** The position after the comma that follows, or undefined. */
  readonly commaEnd?: number | undefined;
}

/**
 * Returns a text in which `object.name` has a value. What does not exist is added at the end of its object.
 *
 * @param object The member of the whole that holds the entries, such as `mcpServers`.
 * @throws {SyntaxError} if the text is no JSON object, apart from comments and trailing commas.
 */
export function setEntry(text: string, object: string, name: string, value: unknown): string {
  if (text.trim() === "") return `${JSON.stringify({ [object]: { [name]: value } }, undefined, 2)}\n`;
  const scanner = new Scanner(text);
  const root = scanner.readWhole();
  if (!root.members) throw new SyntaxError("The file is no JSON object.");
  const style = styleOf(text);
  const holder = root.members.findLast((each) => each.name === object)?.value;
  if (!holder) return addMember(text, root, object, { [name]: value }, 1, style);
  if (!holder.members) throw new SyntaxError(`The member ${JSON.stringify(object)} is no object.`);
  const entry = holder.members.findLast((each) => each.name === name)?.value;
  if (!entry) return addMember(text, holder, name, value, 2, style);
  return text.slice(0, entry.start) + print(value, 2, style) + text.slice(entry.end);
}

/** How a file is written. */
interface Style {
  readonly indent: string;
  readonly newline: string;
}

function styleOf(text: string): Style {
  return { indent: /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ", newline: text.includes("\r\n") ? "\r\n" : "\n" };
}

/** Prints a value whose first line stands at a depth. */
function print(value: unknown, depth: number, { indent, newline }: Style): string {
  return JSON.stringify(value, undefined, indent).replaceAll("\n", newline + indent.repeat(depth));
}

/** Adds a member at the end of an object at `depth - 1`. */
function addMember(text: string, object: Span, name: string, value: unknown, depth: number, style: Style): string {
  const line = style.newline + style.indent.repeat(depth);
  const added = `${line}${JSON.stringify(name)}: ${print(value, depth, style)}`;
  const last = object.members?.at(-1);
  if (last) {
    const at = last.commaEnd ?? last.value.end;
    const comma = last.commaEnd === undefined ? "," : "";
    // A comment on the same line belongs to the member before.
    const rest = /^[ \t]*(\/\/[^\n\r]*|\/\*[^\n\r]*?\*\/[ \t]*(?=[\r\n]))/.exec(text.slice(at))?.[0] ?? "";
    return text.slice(0, at) + comma + rest + added + closing(text.slice(at + rest.length), depth, style);
  }
  const inside = text.slice(object.start + 1, object.end - 1).trimEnd();
  const end = object.start + 1 + inside.length;
  return text.slice(0, end) + added + closing(text.slice(object.end - 1), depth, style);
}

/** The rest of the text, in which the brace that closes the object stands on its own line. */
function closing(rest: string, depth: number, { indent, newline }: Style): string {
  return /^\s*\}/.test(rest) ? newline + indent.repeat(depth - 1) + rest.trimStart() : rest;
}

/** Reads JSON with comments and trailing commas, and remembers where the members of objects are. */
class Scanner {
  #at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** @throws {SyntaxError} if something follows the value. */
  readWhole(): Span {
    if (this.#text.startsWith("\ufeff")) this.#at = 1;
    const value = this.#readValue();
    this.#skip();
    if (this.#at < this.#text.length) this.#fail();
    return value;
  }

  #readValue(): Span {
    this.#skip();
    const start = this.#at;
    const first = this.#text[start];
    if (first === "{") {
      const members = this.#readObject();
      return { start, end: this.#at, members };
    }
    if (first === "[") this.#readArray();
    else if (first === '"') this.#readString();
    else this.#readWord();
    return { start, end: this.#at };
  }

  #readObject(): Member[] {
    const members: Member[] = [];
    this.#at += 1;
    while (!this.#take("}")) {
      const name = this.#readString();
      if (!this.#take(":")) this.#fail();
      const value = this.#readValue();
      const hasComma = this.#take(",");
      members.push({ name, value, commaEnd: hasComma ? this.#at : undefined });
      if (hasComma) continue;
      if (this.#take("}")) break;
      this.#fail();
    }
    return members;
  }

  #readArray(): void {
    this.#at += 1;
    while (!this.#take("]")) {
      this.#readValue();
      if (this.#take(",")) continue;
      if (this.#take("]")) break;
      this.#fail();
    }
  }

  #readString(): string {
    const [text] = this.#match(/"(?:\\.|[^"\\\n])*"/y) ?? this.#fail();
    return JSON.parse(text) as string;
  }

  #readWord(): void {
    const [text] = this.#match(/[\w.+-]+/y) ?? this.#fail();
    JSON.parse(text);
  }

  /** Skips space and comments, and the character if it is next. */
  #take(char: string): boolean {
    this.#skip();
    if (this.#text[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }

  #skip(): void {
    this.#match(/(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y);
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (!found) return undefined;
    this.#at += found[0].length;
    return found;
  }

  #fail(): never {
    const line = this.#text.slice(0, this.#at).split("\n").length;
    throw new SyntaxError(`The file is no JSON: line ${line} is wrong.`);
  }
}
