/**
 * Reads and writes recordings. Imported files are untrusted: every value is checked, and unknown members are omitted.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { RecorderInfo, RecordingFile } from "../api.ts";
import type {
  Counts,
  Entry,
  EntryKind,
  EntryOutcome,
  Finding,
  Header,
  Invocation,
  LogLine,
  Mark,
  RecordedException,
  RecordedMessage,
  Related,
  Span,
} from "../entry.ts";
import { ENTRIES_MAX, INVOCATIONS_MAX, LOGS_MAX, MESSAGES_MAX, SPANS_MAX } from "../limits.ts";

const FORMAT = "mcp-edge-recording";

/** The maximum length of strings, maximum number of headers, findings and related entries, and maximum depth of values. */
const [TEXT_MAX, LIST_MAX, DEPTH_MAX] = [70_000, 200, 64];

/** Returns the contents of a recording file. */
export function toRecording(entries: Iterable<Entry>, info: RecorderInfo, nowMs: number): RecordingFile {
  return { format: FORMAT, formatVersion: 1, writtenAtMs: nowMs, info, entries: [...entries] };
}

/**
 * Reads a recording.
 *
 * @throws {Error} if the recording is invalid. The message says why.
 */
export function parseRecording(file: unknown): readonly Entry[] {
  if (!isObject(file) || file.format !== FORMAT) throw new Error("This file is not a recording of mcp-edge.");
  if (file.formatVersion !== 1) throw new Error("This recording was written by a newer version of mcp-edge.");
  if (!Array.isArray(file.entries)) throw new Error("The recording has no entries.");
  if (file.entries.length > ENTRIES_MAX) throw new Error(`The recording has more than ${ENTRIES_MAX} entries.`);
  return file.entries.map((entry: unknown, index) => {
    if (!isObject(entry)) throw new Error(`Entry ${index + 1} of the recording is not an object.`);
    return parseEntry(entry);
  });
}

const KINDS: readonly EntryKind[] = [
  "request",
  "notification",
  "answer",
  "stream",
  "delete",
  "page",
  "other",
  "alarm",
  "scheduled",
];
const OUTCOMES: readonly EntryOutcome[] = [
  "running",
  "ok",
  "tool-error",
  "error",
  "refused",
  "input-required",
  "cut-by-client",
  "cut-by-server",
  "cut-on-purpose",
  "timeout",
];
const MARKS: readonly Mark[] = ["progress", "question", "replay", "resumed", "log", "exception", "slow", "suspicious"];
const REASONS: readonly Related["why"][] = ["answer", "resumes", "task", "round", "same-call"];
const CAUSES: readonly Invocation["cause"][] = ["fetch", "jsrpc", "alarm", "websocket", "scheduled", "other"];

function parseEntry(from: JsonObject): Entry {
  const { http, client, request, response, omitted } = from;
  return {
    id: text(from.id) ?? "",
    seq: 0,
    startedAtMs: number(from.startedAtMs) ?? 0,
    ...optional("ms", number(from.ms)),
    kind: oneOf(KINDS, from.kind) ?? "other",
    ...(isObject(http)
      ? {
          http: {
            method: text(http.method) ?? "",
            path: text(http.path) ?? "",
            ...optional("status", number(http.status)),
          },
        }
      : {}),
    ...(isObject(client) ? { client: { name: text(client.name) ?? "", version: text(client.version) ?? "" } } : {}),
    ...optional("version", text(from.version)),
    ...optional("era", oneOf(["legacy", "modern"] as const, from.era)),
    ...optional("method", text(from.method)),
    ...optional("target", text(from.target)),
    ...optional("principal", text(from.principal)),
    ...optional("session", text(from.session)),
    outcome: oneOf(OUTCOMES, from.outcome) ?? "ok",
    ...optional("outcomeText", text(from.outcomeText)),
    counts: parseCounts(from.counts),
    dollarsPerMillion: number(from.dollarsPerMillion) ?? 0,
    marks: list(from.marks, MARKS.length, (mark) => oneOf(MARKS, mark)),
    ...(isObject(request)
      ? { request: { headers: parseHeaders(request.headers), ...optional("body", json(request.body)) } }
      : {}),
    ...(isObject(response) ? { response: { headers: parseHeaders(response.headers) } } : {}),
    messages: list(from.messages, MESSAGES_MAX * 2, ofObject(parseMessage)),
    invocations: list(from.invocations, INVOCATIONS_MAX, ofObject(parseInvocation)),
    related: list(from.related, LIST_MAX, ofObject(parseRelated)),
    findings: list(from.findings, LIST_MAX, ofObject(parseFinding)),
    ...(isObject(omitted)
      ? { omitted: { messages: count(omitted.messages), spans: count(omitted.spans), logs: count(omitted.logs) } }
      : {}),
  };
}

function parseCounts(from: unknown): Counts {
  const counts = isObject(from) ? from : {};
  return {
    objectRequests: count(counts.objectRequests),
    messages: count(counts.messages),
    rowsRead: count(counts.rowsRead),
    rowsWritten: count(counts.rowsWritten),
    alarmsSet: count(counts.alarmsSet),
    alarmsRun: count(counts.alarmsRun),
    wakeUps: count(counts.wakeUps),
  };
}

function parseHeaders(from: unknown): readonly Header[] {
  return list(from, LIST_MAX, (header): Header | undefined => {
    if (!Array.isArray(header)) return undefined;
    const [name, value] = [text(header[0]), text(header[1])];
    return name === undefined || value === undefined ? undefined : [name, value];
  });
}

function parseMessage(from: JsonObject): RecordedMessage {
  return {
    atMs: number(from.atMs) ?? 0,
    from: from.from === "client" ? "client" : "server",
    ...optional("eventId", text(from.eventId)),
    message: json(from.message),
  };
}

function parseInvocation(from: JsonObject): Invocation {
  return {
    id: text(from.id) ?? "",
    ...optional("parent", text(from.parent)),
    place: from.place === "object" ? "object" : "worker",
    ...optional("className", text(from.className)),
    ...optional("object", text(from.object)),
    ...optional("role", text(from.role)),
    cause: oneOf(CAUSES, from.cause) ?? "other",
    ...optional("method", text(from.method)),
    ...(typeof from.woken === "boolean" ? { woken: from.woken } : {}),
    ...optional("closeCode", number(from.closeCode)),
    startedAtMs: number(from.startedAtMs) ?? 0,
    ...optional("endedAtMs", number(from.endedAtMs)),
    ...optional("answeredAtMs", number(from.answeredAtMs)),
    ...optional("outcome", text(from.outcome)),
    ...optional("status", number(from.status)),
    spans: list(from.spans, SPANS_MAX, ofObject(parseSpan)),
    logs: list(from.logs, LOGS_MAX, ofObject(parseLog)),
    exceptions: list(from.exceptions, LOGS_MAX, ofObject(parseException)),
  };
}

function parseSpan(from: JsonObject): Span {
  return {
    name: text(from.name) ?? "",
    startedAtMs: number(from.startedAtMs) ?? 0,
    ...optional("endedAtMs", number(from.endedAtMs)),
    ...optional("text", text(from.text)),
    ...optional("table", text(from.table)),
    ...optional("rowsRead", number(from.rowsRead)),
    ...optional("rowsWritten", number(from.rowsWritten)),
    ...optional("dueAtMs", number(from.dueAtMs)),
    ...optional("databaseBytes", number(from.databaseBytes)),
    ...optional("status", number(from.status)),
  };
}

function parseLog(from: JsonObject): LogLine {
  return { atMs: number(from.atMs) ?? 0, level: text(from.level) ?? "log", text: text(from.text) ?? "" };
}

function parseException(from: JsonObject): RecordedException {
  return {
    atMs: number(from.atMs) ?? 0,
    name: text(from.name) ?? "Error",
    message: text(from.message) ?? "",
    ...optional("stack", text(from.stack)),
    ...optional("code", text(from.code)),
    ...optional("reference", text(from.reference)),
  };
}

function parseRelated(from: JsonObject): Related | undefined {
  const why = oneOf(REASONS, from.why);
  const id = text(from.id);
  return why === undefined || id === undefined ? undefined : { id, why };
}

function parseFinding(from: JsonObject): Finding {
  return { what: text(from.what) ?? "", where: text(from.where) ?? "", why: text(from.why) ?? "" };
}

function optional<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [Key in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [Key in Name]?: Value });
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value.slice(0, TEXT_MAX) : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function count(value: unknown): number {
  return Math.max(0, Math.floor(number(value) ?? 0));
}

function oneOf<T>(all: readonly T[], value: unknown): T | undefined {
  return all.find((each) => each === value);
}

function list<T>(value: unknown, max: number, parse: (value: unknown) => T | undefined): T[] {
  if (!Array.isArray(value)) return [];
  return value
    .slice(0, max)
    .map((each: unknown) => parse(each))
    .filter((each) => each !== undefined);
}

function ofObject<T>(parse: (from: JsonObject) => T): (value: unknown) => T | undefined {
  return (value) => (isObject(value) ? parse(value) : undefined);
}

/** Returns a JSON value, whose strings and depth are limited. */
function json(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return text(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= DEPTH_MAX) return "<nested deeper>";
  if (Array.isArray(value)) return value.map((each) => json(each, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name.slice(0, 1_000), json(member, depth + 1)]),
  );
}
