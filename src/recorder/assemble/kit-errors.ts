/**
 * Recognizes the errors of mcp-edge that report a fault of a handler. Their messages contain names and values, so a fixed text
 * replaces them unless contents are recorded.
 *
 * @module
 */

/** An error of mcp-edge. */
export interface KnownError {
  /** The code of the error in mcp-edge. */
  readonly code: string;
  /** A fixed text, which contains nothing from a client or a handler. */
  readonly text: string;
}

const KNOWN: readonly (readonly [text: RegExp, error: KnownError])[] = [
  [
    /^In a repeated run, the handler .*With the same answers, it must ask the same questions/s,
    { code: "replay-diverged", text: "In a repeated run, the handler asked other questions than before." },
  ],
  [
    /^The result of tool ".*" does not fit its output schema/s,
    { code: "output-misfit", text: "The result does not match the output schema of the tool." },
  ],
  [/ did not finish within \d+ ms\.$/, { code: "timeout", text: "The handler did not finish within its time limit." }],
];

/** The maximum number of characters of a message that are examined. */
const LOOKED_AT_MAX = 2_000;

/** Recognizes an error of mcp-edge by its message. */
export function findKnownError(name: string, message: string): KnownError | undefined {
  if (name !== "KitError") return undefined;
  const text = message.slice(0, LOOKED_AT_MAX);
  return KNOWN.find(([pattern]) => pattern.test(text))?.[1];
}
