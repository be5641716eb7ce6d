import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";

/** A JSON text with comments and trailing commas, as editors write it, and the tree of its values. */
export interface Jsonc {
  readonly root: Node;
  readonly value: unknown;
}

/**
 * Parses JSON with comments and trailing commas, as editors write it.
 *
 * @throws {SyntaxError} naming the line, if it is not JSON apart from them.
 */
export function parseJsonc(text: string): unknown {
  return readJsonc(text).value;
}

/** Parses the same, and returns the tree as well. Its offsets are those of the text. @throws {SyntaxError} as above. */
export function readJsonc(text: string): Jsonc {
  const errors: ParseError[] = [];
  // A space keeps the offsets as they are.
  const whole = text.replace(/^\uFEFF/, " ");
  try {
    const root = parseTree(whole, errors, { allowTrailingComma: true });
    const [error] = errors;
    if (root && !error) return { root, value: getNodeValue(root) };
    const reason = error ? printParseErrorCode(error.error) : "it is empty";
    throw new SyntaxError(`The file is not JSON: line ${toLine(whole, error?.offset ?? 0)} is wrong (${reason}).`);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new SyntaxError("The file is nested too deeply.");
  }
}

function toLine(text: string, offset: number): number {
  return text.slice(0, offset).trimEnd().split("\n").length;
}
