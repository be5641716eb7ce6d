/**
 * Errors of mcp-edge that say what is wrong with a handler. Their texts contain names and values, of which nothing is shown without
 * contents.
 *
 * @module
 */

/** What an error says. */
export interface KnownError {
  /** The code of the error in mcp-edge. */
  readonly code: string;
  /** The text without anything that comes from a client or a handler. */
  readonly text: string;
}

const KNOWN: readonly (readonly [text: RegExp, error: KnownError])[] = [
  [
    /^In a repeated run, the handler .*With the same answers, it must ask the same questions/s,
    { code: "replay-diverged", text: "In a repeated run, the handler asked other questions than before." },
  ],
  [
    /^The result of tool ".*" does not fit its output schema/s,
    { code: "output-misfit", text: "The result does not fit the output schema of the tool." },
  ],
  [/ did not finish within \d+ ms\.$/, { code: "timeout", text: "The handler did not finish within its time limit." }],
];

/** The maximum number of characters that are looked at. */
const LOOKED_AT_MAX = 2_000;

/** Recognizes an error of mcp-edge by its text. */
export function findKnownError(name: string, message: string): KnownError | undefined {
  if (name !== "KitError") return undefined;
  const text = message.slice(0, LOOKED_AT_MAX);
  return KNOWN.find(([pattern]) => pattern.test(text))?.[1];
}
