/** A text, a comment, or a comma before a closing bracket. Texts come first, so that what looks like a comment in them stays. */
const PARTS = /"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|,(?=(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*[\]}])/g;

/**
 * Parses JSON with comments and trailing commas, as editors write it.
 *
 * @throws {SyntaxError} if it is no JSON apart from them.
 */
export function parseJsonc(text: string): unknown {
  return JSON.parse(text.replace(/^\uFEFF/, "").replace(PARTS, (part) => (part.startsWith('"') ? part : "")));
}
