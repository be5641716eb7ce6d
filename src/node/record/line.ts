/**
 * Prints a line in the terminal for each exchange.
 *
 * @module
 */
import type { LiveEntry } from "../../recorder/assemble/live-entry.ts";
import type { Summary } from "../../recorder/entry.ts";
import type { Recorder } from "../../recorder/recorder.ts";
import { cleanText } from "../../safe/clean-text.ts";

/** How long a line waits for the tail events of the Worker after the last byte, in milliseconds. */
const REPORT_WITHIN_MS = 400;

/** The maximum length of a part of the line, in characters. */
const PART_MAX = 60;

/** The maximum number of pending lines. */
const WAITING_MAX = 1_000;

export interface LineOptions {
  /** Whether lines wait for the tail events of the Worker. @default true */
  readonly hasTail?: boolean;
}

/** Prints a line for each exchange that has ended. Returns a function that stops it. */
export function printLines(
  recorder: Recorder,
  print: (line: string) => void,
  { hasTail = true }: LineOptions = {},
): () => void {
  const waiting = new Map<LiveEntry, NodeJS.Timeout>();
  const printed = new WeakSet<LiveEntry>();
  const finish = (entry: LiveEntry) => {
    clearTimeout(waiting.get(entry));
    waiting.delete(entry);
    printed.add(entry);
    print(formatLine(recorder.summarize(entry)));
  };
  const stop = recorder.onChange((entry) => {
    if (printed.has(entry) || entry.imported || entry.outcome === "running" || entry.isControl) return;
    if (!hasTail || recorder.isSettled(entry) || waiting.size >= WAITING_MAX) finish(entry);
    else if (!waiting.has(entry)) waiting.set(entry, setTimeout(() => finish(entry), REPORT_WITHIN_MS).unref());
  });
  return () => {
    stop();
    for (const entry of [...waiting.keys()]) finish(entry);
  };
}

/** Returns the line of an exchange: time, client, version, method and target, outcome, duration, rows, object requests. */
export function formatLine(summary: Summary): string {
  const { startedAtMs, client, version, ms, counts, http } = summary;
  const time = new Date(startedAtMs).toTimeString().slice(0, 8);
  const who = client ? `${client.name} ${client.version}` : undefined;
  const parts = [
    time,
    who,
    version,
    describeCall(summary),
    describeOutcome(summary),
    ms === undefined ? undefined : `${Math.round(ms)} ms`,
    describeRows(counts),
    http && counts.objectRequests > 0 ? count(counts.objectRequests, "object request") : undefined,
  ];
  return parts.flatMap((part) => (part === undefined || part === "" ? [] : [shorten(part)])).join("  ");
}

function describeCall({ method, target, http, kind }: Summary): string {
  if (kind === "answer") return `answer${target === undefined ? "" : ` to ${target}`}`;
  if (method !== undefined) return target === undefined ? method : `${method} ${target}`;
  if (kind === "alarm" || kind === "scheduled") return kind;
  return http ? `${http.method} ${http.path}` : kind;
}

function describeOutcome({ outcome, outcomeText, http, kind }: Summary): string {
  const isPlain = kind !== "request" && http?.status !== undefined && outcome === "ok";
  if (isPlain) return String(http.status);
  const words = outcome.replaceAll("-", " ");
  return outcomeText === undefined ? words : `${words}: ${outcomeText}`;
}

function describeRows({ rowsRead, rowsWritten }: Summary["counts"]): string | undefined {
  const parts = [
    rowsRead > 0 ? `${rowsRead} ${rowsRead === 1 ? "row" : "rows"} read` : undefined,
    rowsWritten > 0 ? `${rowsWritten} written` : undefined,
  ];
  const shown = parts.filter((part) => part !== undefined);
  return shown.length === 0 ? undefined : shown.join(", ");
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** Shortens a part, and removes terminal control characters, because clients and servers are untrusted. */
function shorten(part: string): string {
  const line = cleanText(part).replace(/\s+/g, " ").trim();
  const characters = [...line];
  return characters.length > PART_MAX ? `${characters.slice(0, PART_MAX - 1).join("")}…` : line;
}
