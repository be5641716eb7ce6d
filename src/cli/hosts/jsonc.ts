/**
 * Parses JSON with comments and trailing commas, as editors write it.
 *
 * @throws {SyntaxError} if it is no JSON apart from them.
 */
export function parseJsonc(text: string): unknown {
  // Strings are matched first, so that what looks like a comment within one stays.
  const withoutComments = text.replace(
    /("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g,
    (_, string) => string ?? " ",
  );
  const withoutCommas = withoutComments.replace(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, (_, string) => string ?? "");
  return JSON.parse(withoutCommas.replace(/^\ufeff/, ""));
}
