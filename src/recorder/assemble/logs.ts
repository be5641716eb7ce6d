/**
 * Redacts log lines and exceptions.
 *
 * @module
 */
import type { LogLine, RecordedException } from "../entry.ts";
import type { Redactor } from "../redact/redactor.ts";
import { isName } from "../redact/words.ts";
import type { LogEvent } from "../tail/tail-event.ts";
import { findKnownError } from "./kit-errors.ts";

/** The members of the assembly that log lines use. */
interface LogContext {
  readonly redactor: Redactor;
  /** Returns a stack with positions in the source, if there is a source map. */
  readonly mapStack: (stack: string) => string;
  /** The name of the Worker, which wrangler writes before each log line if it runs several Workers. */
  readonly workerName: string | undefined;
}

/** The reference in a log line of mcp-edge. The error that the client receives contains it too. */
const REFERENCE = /\(([\da-f]{8}-[\da-f-]{27})\)/;

/** Returns a redacted log line, and the errors that were logged with it. */
export function readLog(
  { message, errors, level }: LogEvent,
  atMs: number,
  reader: LogContext,
): { readonly line: LogLine; readonly exceptions: readonly RecordedException[] } {
  const isPrefixed = reader.workerName !== undefined && message[0] === `[${reader.workerName}]`;
  const parts = isPrefixed ? message.slice(1) : message;
  const text = parts.map((part) => (typeof part === "string" ? part : (JSON.stringify(part) ?? ""))).join(" ");
  const reference = REFERENCE.exec(text)?.[1];
  const exceptions = errors.map((error) => ({
    ...toException(error, atMs, reader),
    ...(reference === undefined ? {} : { reference }),
  }));
  const known = isName(level) ? level : "log";
  return { line: { atMs, level: known, text: toLine(text, reader.redactor, reference) }, exceptions };
}

/** Redacts a log line. A line of mcp-edge itself keeps the names of the method and the tool that failed. */
function toLine(text: string, redactor: Redactor, reference: string | undefined): string {
  if (redactor.contents || reference === undefined) return redactor.line(text);
  const [, method = "", tool = ""] = /^mcp-edge: "([^"]*)"(?: "([^"]*)")? failed \(/.exec(text) ?? [];
  const names = [method, tool].filter((name) => name !== "").map((name) => redactor.name(name));
  return names.length > 0 ? `mcp-edge: ${names.join(" ")} failed (${reference})` : redactor.line(text);
}

/** Names of error classes. Other names are not shown, because code can set them to any text. */
const ERROR_NAME = /^[A-Z][A-Za-z]{0,40}(?:Error|Exception)$|^Error$/;

/** Lines of a stack that contain a position. Other lines repeat the message. */
const PLACE = /^\s*at\s/;

const [PLACES_MAX, PLACE_MAX] = [20, 300];

/** Returns a redacted exception. */
export function toException(
  { name, message, stack }: { readonly name: string; readonly message: string; readonly stack?: string },
  atMs: number,
  { redactor, mapStack }: LogContext,
): RecordedException {
  const places = stack?.split("\n").filter((line) => PLACE.test(line));
  const shown = places
    ?.slice(0, PLACES_MAX)
    .map((line) => line.slice(0, PLACE_MAX))
    .join("\n");
  const known = findKnownError(name, message);
  return {
    atMs,
    name: ERROR_NAME.test(name) ? name : "Error",
    message: known && !redactor.contents ? known.text : redactor.line(message),
    ...(known ? { code: known.code } : {}),
    ...(shown ? { stack: redactor.text(mapStack(shown)) } : {}),
  };
}
