/**
 * Reads the part of YAML 1.2 that is common in frontmatter: mappings, sequences, scalars of every style, and flow collections. Anchors,
 * tags, complex keys, several documents, and text about which YAML parsers disagree are refused, so that nothing is misread.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { checkPlain, FlowReader, fold, parsePlain, UnfinishedError, YamlError } from "./scalars.ts";

/** The maximum nesting. */
const DEPTH_MAX = 32;
/** The maximum length of a frontmatter, in characters. */
const LENGTH_MAX = 65_536;
/** The maximum number of lines of a quoted scalar or a flow collection. */
const FLOW_LINES_MAX = 100;

interface Line {
  readonly indent: number;
  /** The text after the indentation. */
  readonly text: string;
}

/** Parses a YAML mapping. @throws {YamlError} with the line number if the text cannot be read. */
export function parseYaml(text: string): JsonObject {
  if (text.length > LENGTH_MAX) throw new YamlError(`it has more than ${LENGTH_MAX} characters`);
  // Parsers disagree about whether such a line ends a scalar.
  const tab = text.split("\n").findIndex((line) => /^\t|^ *\t\s*$/.test(line));
  if (tab !== -1) throw new YamlError(`line ${tab + 1}: it is indented with a tab`);
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

  /** The number of the current line. */
  get line(): number {
    return Math.min(this.#at + 1, this.#lines.length);
  }

  document(): unknown {
    const first = this.#next();
    if (!first) return {};
    const value = this.#node(first.indent);
    if (this.#next()) throw new YamlError("its indentation does not match a line before it");
    return value;
  }

  /** Returns the next line with content, without consuming it. */
  #next(): Line | undefined {
    for (; this.#at < this.#lines.length; this.#at += 1) {
      const line = this.#lines[this.#at] ?? "";
      if (/^\s*(#|$)/.test(line)) continue;
      if (/^ *\t/.test(line)) throw new YamlError("it is indented with a tab");
      if (/^(---|\.\.\.)(\s|$)/.test(line)) throw new YamlError("a second document begins");
      const indent = line.search(/\S/);
      return { indent, text: line.slice(indent) };
    }
    return undefined;
  }

  /** Reads the mapping or sequence that begins with the next line. */
  #node(indent: number): unknown {
    if (this.#depth >= DEPTH_MAX) throw new YamlError(`it is nested deeper than ${DEPTH_MAX} levels`);
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
      // A mapping or sequence may begin on the line of its dash. Its other lines have the indentation of its first entry.
      const isNested = /^-(\s|$)/.test(content) || splitKey(content) !== undefined;
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
      const found = splitKey(line.text);
      if (!found) throw new YamlError("it has no key");
      if (typeof parsePlain(found.key) !== "string") throw new YamlError(`the key ${found.key} is not a string`);
      if (map.has(found.key)) throw new YamlError(`${found.key} occurs twice`);
      map.set(found.key, this.#value(found.rest.trimStart(), indent, true));
    }
    return Object.fromEntries(map);
  }

  /**
   * Reads the value that begins on the current line, after a key or a dash.
   *
   * @param indent The indentation of the key or the dash. The value continues in lines with a larger indentation.
   */
  #value(content: string, indent: number, isAfterKey: boolean): unknown {
    if (/^[|>]/.test(content)) return this.#blockScalar(content, indent);
    if (/^["'[{]/.test(content)) return this.#flow(content, indent);
    if (content !== "" && !content.startsWith("#")) return this.#plain(content, indent);
    this.#at += 1;
    const line = this.#next();
    if (!line || line.indent < indent) return null;
    // A sequence may have the same indentation as its key.
    const isSequence = isAfterKey && /^-(\s|$)/.test(line.text);
    return line.indent > indent || isSequence ? this.#node(line.indent) : null;
  }

  /** Reads a quoted scalar or a flow collection, which may continue in the next lines. */
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

  /** Reads a plain scalar, which may continue in the next lines. */
  #plain(content: string, indent: number): unknown {
    checkPlain(content);
    let text = withoutComment(content);
    let isOpen = text === content.trimEnd();
    this.#at += 1;
    for (; isOpen; this.#at += 1) {
      const line = this.#lines[this.#at];
      if (line === undefined || /^\s*#/.test(line) || (line.trim() !== "" && line.search(/\S/) <= indent)) break;
      if (/^ *\t\s*\S/.test(line)) throw new YamlError("it is indented with a tab");
      const part = withoutComment(line.trim());
      isOpen = part === line.trim();
      text += `\n${part}`;
    }
    const folded = fold(text.trim());
    if (/:(\s|$)/.test(folded)) throw new YamlError("a colon in it could begin a value; quote the string");
    return parsePlain(folded);
  }

  /** Reads a block scalar, which begins with `|` or `>`. */
  #blockScalar(content: string, indent: number): string {
    const header = /^([|>])(?:([1-9])([-+])?|([-+])([1-9])?)?\s*(?:\s#.*)?$/.exec(content);
    if (!header) throw new YamlError(`${content} does not begin a block scalar`);
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
      throw new YamlError("the empty lines before a block scalar are indented more than the scalar");
    }
    // Parsers disagree about whether the spaces of such lines belong to the scalar.
    const isUnclear = (line: string) =>
      line.trim() === "" && line !== "" && ((line.length > own && !isEmpty) || chomping === "+");
    if (scalar.some(isUnclear)) throw new YamlError("a line of a block scalar consists of spaces");
    const lines = scalar.map((line) => (isEmpty ? "" : line.slice(own)));
    this.#at += lines.length;
    const text = (style === "|" ? lines.join("\n") : foldBlock(lines)).replace(/\n*$/, "");
    const trailing = lines.length - lines.findLastIndex((line) => line !== "");
    if (chomping === "-") return text;
    if (text === "") return chomping === "+" ? "\n".repeat(lines.length) : "";
    return chomping === "+" ? text + "\n".repeat(trailing) : `${text}\n`;
  }
}

/** Splits a line into its key and the text after the colon. Returns undefined if the line is not an entry of a mapping. */
function splitKey(text: string): { readonly key: string; readonly rest: string } | undefined {
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

/** Joins the lines of a folded block scalar. Empty lines, and lines with a larger indentation, keep their line breaks. */
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
