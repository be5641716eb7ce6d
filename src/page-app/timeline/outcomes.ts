/**
 * The outcomes of entries in words and drawings.
 *
 * @module
 */
import type { EntryKind, EntryOutcome, Mark, Summary } from "../../recorder/entry.ts";
import type { IconName } from "../parts/icon.tsx";

export const OUTCOMES: Readonly<Record<EntryOutcome, readonly [IconName, string]>> = {
  running: ["wait", "Running"],
  ok: ["good", "OK"],
  "tool-error": ["bad", "The tool failed"],
  error: ["bad", "Error"],
  refused: ["stop", "Refused"],
  "input-required": ["ask", "Asks"],
  "cut-by-client": ["cut", "Cut by the client"],
  "cut-by-server": ["cut", "Cut by the server"],
  "cut-on-purpose": ["cut", "Cut on purpose"],
  timeout: ["wait", "Timed out"],
};

export const MARKS: Readonly<Record<Mark, string>> = {
  progress: "progress",
  question: "asks",
  replay: "replayed",
  resumed: "resumed",
  log: "logs",
  exception: "exception",
  slow: "slow",
  suspicious: "look here",
};

/** Exchanges that have no method of the protocol. */
const KINDS: Readonly<Partial<Record<EntryKind, string>>> = {
  answer: "Answer",
  stream: "Stream of the session",
  delete: "End of the session",
};

/** Returns what an entry is about, in the words of its protocol. */
export function titleOf({ method, target, kind, http }: Summary): string {
  if (method !== undefined) return target ?? method;
  return KINDS[kind] ?? (http ? `${http.method} ${http.path}` : kind);
}

/** Returns the method if the title is its target, or the request if the title describes it. */
export function subtitleOf({ method, target, kind, http }: Summary): string {
  if (method !== undefined) return target === undefined ? "" : method;
  return target ?? (http && KINDS[kind] !== undefined ? `${http.method} ${http.path}` : "");
}
