/**
 * The texts and icons for entries.
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
  suspicious: "finding",
};

/** The titles of exchanges that do not have an MCP method. */
const KINDS: Readonly<Partial<Record<EntryKind, string>>> = {
  answer: "Answer",
  stream: "Session stream",
  delete: "Session end",
};

/** Returns the title of an entry: its target, its method, or its HTTP request. */
export function titleOf({ method, target, kind, http }: Summary): string {
  if (method !== undefined) return target ?? method;
  return KINDS[kind] ?? (http ? `${http.method} ${http.path}` : kind);
}

/** Returns the method if the title is the target, or the HTTP request if the title is a description. */
export function subtitleOf({ method, target, kind, http }: Summary): string {
  if (method !== undefined) return target === undefined ? "" : method;
  return target ?? (http && KINDS[kind] !== undefined ? `${http.method} ${http.path}` : "");
}
