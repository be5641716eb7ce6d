import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";

/** A parsed JSON text with comments and trailing commas: its syntax tree and its value. */
export interface Jsonc {
  readonly root: Node;
  readonly value: unknown;
}

/**
 * Parses JSON with comments and trailing commas, as in configuration files of editors.
 *
 * @throws {SyntaxError} naming the line of the first error.
 */
export function parseJsonc(text: string): unknown {
  return readJsonc(text).value;
}

/** Like {@link parseJsonc}, but also returns the syntax tree, with offsets into the text. @throws {SyntaxError} naming the line. */
export function readJsonc(text: string): Jsonc {
  const errors: ParseError[] = [];
  // A space in place of the byte order mark keeps the offsets correct.
  const whole = text.replace(/^\uFEFF/, " ");
  try {
    const root = parseTree(whole, errors, { allowTrailingComma: true });
    const [error] = errors;
    if (root && !error) return { root, value: getNodeValue(root) };
    const reason = error ? printParseErrorCode(error.error) : "it is empty";
    throw new SyntaxError(
      `The file is not valid JSON: error in line ${toLine(whole, error?.offset ?? 0)} (${reason}).`,
    );
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new SyntaxError("The file is nested too deeply.");
  }
}

function toLine(text: string, offset: number): number {
  return text.slice(0, offset).trimEnd().split("\n").length;
}
