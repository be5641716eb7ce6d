/**
 * The tokenizer for SQLite's dialect of SQL.
 *
 * @module
 * @see https://www.sqlite.org/lang_comment.html, https://www.sqlite.org/lang_keywords.html
 */

/** One token. */
export interface SqlToken {
  readonly kind: "word" | "quoted" | "other";
  readonly text: string;
}

/** The characters of words: ASCII letters, "_", and all non-ASCII characters except the byte order mark, which SQLite skips. */
const LETTER = "A-Za-z_\\u0080-\\ufefe\\uff00-\\uffff";

/** Matches one token. An unterminated comment does not match, although SQLite accepts it. */
const TOKEN = new RegExp(
  [
    "(?<space>[ \\t\\n\\f\\r]+|--[^\\n]*(?:\\n|$)|/\\*(?:[^*]|\\*(?!/))*\\*/)",
    "(?<quoted>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\\[[^\\]]*\\])",
    "(?<blob>[xX]'[\\dA-Fa-f]*')",
    `(?<word>[${LETTER}][\\w$${LETTER}]*)`,
    "(?<number>0[xX][\\dA-Fa-f]+|(?:\\d+(?:\\.\\d*)?|\\.\\d+)(?:[eE][+-]?\\d+)?)",
    "(?<operator>\\?\\d*|->>?|\\|\\||<<|>>|<=|>=|<>|!=|==|/(?!\\*)|[-+*%<>=&|~(),.;])",
  ].join("|"),
  "y",
);

/** Returns the tokens of a query without spaces and comments, or undefined if a part of it is not a token. */
export function sqlTokens(text: string): readonly SqlToken[] | undefined {
  const tokens: SqlToken[] = [];
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const { word, quoted, blob, number, operator } = TOKEN.exec(text)?.groups ?? {};
    // After a failure, `lastIndex` is 0.
    if (TOKEN.lastIndex === 0) return undefined;
    if (word !== undefined) tokens.push({ kind: "word", text: word });
    if (quoted !== undefined) tokens.push({ kind: "quoted", text: quoted });
    const other = blob ?? number ?? operator;
    if (other !== undefined) tokens.push({ kind: "other", text: other });
  }
  return tokens;
}
