/**
 * Reads the part of YAML 1.2 that frontmatter is written in: mappings, sequences, scalars of every style and
 * collections in brackets. Anchors, tags, complex keys and several documents are refused, so that no text is understood
 * otherwise than its author meant it.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { checkPlain, FlowReader, fold, plainValue, UnfinishedError, YamlError } from "./scalars.ts";

/**
 * The deepest nesting, the longest text in characters, and the maximum number of lines of a value in brackets that are
 * read.
 */
const DEPTH_MAX = 32;
const LENGTH_MAX = 65_536;
const FLOW_LINES_MAX = 100;

interface Line {
  readonly indent: number;
  /** The text after the indentation. */
  readonly text: string;
}

/** Parses a YAML mapping. @throws {YamlError} with the number of the line, if the text cannot be read. */
export function parseYaml(text: string): JsonObject {
  if (text.length > LENGTH_MAX) throw new YamlError(`it has more than ${LENGTH_MAX} characters`);
  // Readers disagree about whether such a line ends a text.
  const tab = text.split("\n").findIndex((line) => /^\t|^ *\t\s*$/.test(line));
  if (tab !== -1) throw new YamlError(`line ${tab + 1}: a tab indents it`);
  const reader = new BlockReader(text.replaceAll("\r\n", "\n").replace(/\n$/, "").split("\n"));
  try {
    const value = reader.document();
    if (isObject(value)) return value;
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw new YamlError(`line ${reader.line}: ${error.message}`);
  }
  throw new YamlError("it is not a mapping");
}

class BlockReader {
  readonly #lines: string[];
  #at = 0;
  #depth = 0;

  constructor(lines: string[]) {
    this.#lines = lines;
  }

  /** The number of the line that is being read. */
  get line(): number {
    return Math.min(this.#at + 1, this.#lines.length);
  }

  document(): unknown {
    const first = this.#next();
    if (!first) return {};
    const value = this.#node(first.indent);
    if (this.#next()) throw new YamlError("its indentation fits nothing before it");
    return value;
  }

  /** Returns the next line with content, without reading it. */
  #next(): Line | undefined {
    for (; this.#at < this.#lines.length; this.#at += 1) {
      const line = this.#lines[this.#at] ?? "";
      if (/^\s*(#|$)/.test(line)) continue;
      if (/^ *\t/.test(line)) throw new YamlError("a tab indents it");
      if (/^(---|\.\.\.)(\s|$)/.test(line)) throw new YamlError("a second document begins");
      const indent = line.search(/\S/);
      return { indent, text: line.slice(indent) };
    }
    return undefined;
  }

  /** Reads the mapping or the sequence that begins at the next line. */
  #node(indent: number): unknown {
    if (this.#depth >= DEPTH_MAX) throw new YamlError(`it is nested more than ${DEPTH_MAX} times`);
    this.#depth += 1;
    const isSequence = /^-(\s|$)/.test(this.#next()?.text ?? "");
    const value = isSequence ? this.#sequence(indent) : this.#mapping(indent);
    this.#depth -= 1;
    return value;
  }

  #sequence(indent: number): unknown[] {
    const items: unknown[] = [];
    for (let line = this.#next(); line?.indent === indent && /^-(\s|$)/.test(line.text); line = this.#next()) {
      const rest = line.text.slice(1);
      const content = rest.trimStart();
      const inner = indent + 1 + rest.length - content.length;
      // A mapping may begin on the line of its dash. It goes on at the indentation of its first key.
      const isNested = /^-(\s|$)/.test(content) || toKey(content) !== undefined;
      if (isNested) {
        this.#lines[this.#at] = " ".repeat(inner) + content;
        items.push(this.#node(inner));
      } else items.push(this.#value(content, indent, false));
    }
    return items;
  }

  #mapping(indent: number): JsonObject {
    const map = new Map<string, unknown>();
    for (let line = this.#next(); line?.indent === indent; line = this.#next()) {
      const found = toKey(line.text);
      if (!found) throw new YamlError("it has no key");
      if (typeof plainValue(found.key) !== "string") throw new YamlError(`the key ${found.key} is not text`);
      if (map.has(found.key)) throw new YamlError(`${found.key} is there twice`);
      map.set(found.key, this.#value(found.rest.trimStart(), indent, true));
    }
    return Object.fromEntries(map);
  }

  /**
   * Reads the value that begins on the present line, after a key or a dash.
   *
   * @param indent The indentation of the key or the dash. The value goes on in lines that are indented further.
   */
  #value(content: string, indent: number, isAfterKey: boolean): unknown {
    if (/^[|>]/.test(content)) return this.#blockScalar(content, indent);
    if (/^["'[{]/.test(content)) return this.#flow(content, indent);
    if (content !== "" && !content.startsWith("#")) return this.#plain(content, indent);
    this.#at += 1;
    const line = this.#next();
    if (!line || line.indent < indent) return null;
    // A sequence may be as far to the left as the key that it belongs to.
    const isSequence = isAfterKey && /^-(\s|$)/.test(line.text);
    return line.indent > indent || isSequence ? this.#node(line.indent) : null;
  }

  /** Reads quotations and brackets, which may go on in the next lines. */
  #flow(content: string, indent: number): unknown {
    let text = content;
    for (let lines = 1; ; lines += 1) {
      try {
        const value = new FlowReader(text).whole();
        this.#at += 1;
        return value;
      } catch (error) {
        if (!(error instanceof UnfinishedError)) throw error;
        const next = this.#lines[this.#at + 1];
        if (lines >= FLOW_LINES_MAX || next === undefined || (next.trim() !== "" && next.search(/\S/) <= indent))
          throw error;
        this.#at += 1;
        text += `\n${next}`;
      }
    }
  }

  /** Reads a plain scalar with the lines that continue it. */
  #plain(content: string, indent: number): unknown {
    checkPlain(content);
    let text = withoutComment(content);
    let isOpen = text === content.trimEnd();
    this.#at += 1;
    for (; isOpen; this.#at += 1) {
      const line = this.#lines[this.#at];
      if (line === undefined || /^\s*#/.test(line) || (line.trim() !== "" && line.search(/\S/) <= indent)) break;
      if (/^ *\t\s*\S/.test(line)) throw new YamlError("a tab indents it");
      const part = withoutComment(line.trim());
      isOpen = part === line.trim();
      text += `\n${part}`;
    }
    const folded = fold(text.trim());
    if (/:(\s|$)/.test(folded)) throw new YamlError("a colon in it could begin a value; quote the text");
    return plainValue(folded);
  }

  /** Reads a scalar of `|` or `>`. */
  #blockScalar(content: string, indent: number): string {
    const header = /^([|>])(?:([1-9])([-+])?|([-+])([1-9])?)?\s*(?:\s#.*)?$/.exec(content);
    if (!header) throw new YamlError(`${content} is not the beginning of a text`);
    const [, style, firstDigit, firstSign, secondSign, secondDigit] = header;
    const digit = firstDigit ?? secondDigit;
    const chomping = firstSign ?? secondSign;
    this.#at += 1;
    const rest = this.#lines.slice(this.#at);
    const first = rest.findIndex((line) => line.trim() !== "");
    const found = rest[first]?.search(/[^ ]/) ?? 0;
    const own = digit === undefined ? found : indent + Number(digit);
    const end = rest.findIndex((line) => line.trim() !== "" && line.search(/[^ ]/) < Math.max(own, indent + 1));
    const scalar = end === -1 ? rest : rest.slice(0, end);
    const isEmpty = first === -1 || end === first;
    if (!isEmpty && scalar.slice(0, first).some((line) => line.length > own)) {
      throw new YamlError("the empty lines before a text are indented further than it");
    }
    // Readers disagree about such lines: whether their spaces belong to the text.
    const isUnclear = (line: string) =>
      line.trim() === "" && line !== "" && ((line.length > own && !isEmpty) || chomping === "+");
    if (scalar.some(isUnclear)) throw new YamlError("a line of a text has nothing but spaces");
    const lines = scalar.map((line) => (isEmpty ? "" : line.slice(own)));
    this.#at += lines.length;
    const text = (style === "|" ? lines.join("\n") : foldBlock(lines)).replace(/\n*$/, "");
    const trailing = lines.length - lines.findLastIndex((line) => line !== "");
    if (chomping === "-") return text;
    if (text === "") return chomping === "+" ? "\n".repeat(lines.length) : "";
    return chomping === "+" ? text + "\n".repeat(trailing) : `${text}\n`;
  }
}

/** Splits a line into its key and the text after the colon; undefined if it is not an entry of a mapping. */
function toKey(text: string): { readonly key: string; readonly rest: string } | undefined {
  if (/^["']/.test(text)) return new FlowReader(text).key();
  const at = text.search(/:(\s|$)/);
  if (at < 1 || !/^[^\s&*!|>'"%@`{}[\],#?:-]|^[?:-]\S/.test(text)) return undefined;
  const key = text.slice(0, at).trimEnd();
  return /\s#/.test(key) ? undefined : { key, rest: text.slice(at + 1) };
}

function withoutComment(text: string): string {
  const at = text.search(/\s#/);
  return (at === -1 ? text : text.slice(0, at)).trimEnd();
}

/** Joins the lines of a folded text. Lines that are indented further, and empty ones, keep their breaks. */
function foldBlock(lines: readonly string[]): string {
  let text = "";
  let isOpen = false;
  let breaks = 0;
  for (const line of lines) {
    if (line === "") {
      breaks += 1;
      continue;
    }
    const isIndented = /^\s/.test(line);
    const isJoined = isOpen && !isIndented;
    if (text !== "" || breaks > 0)
      text += isJoined && breaks === 0 ? " " : "\n".repeat(breaks + (isJoined || text === "" ? 0 : 1));
    text += line;
    isOpen = !isIndented;
    breaks = 0;
  }
  return text + "\n".repeat(breaks);
}
