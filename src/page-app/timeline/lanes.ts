/**
 * Converts an entry to lanes over time, and to a chronological list.
 *
 * @module
 */
import { isObject } from "../../core/protocol/jsonrpc.ts";
import type { Entry, Invocation, RecordedMessage, Span } from "../../recorder/entry.ts";
import { relative } from "../parts/text.ts";

/** The kind of an event. */
export type EventKind = "message" | "work" | "storage" | "log" | "exception";

/** An event with its lane and its time. */
export interface LaneEvent {
  readonly id: string;
  readonly kind: EventKind;
  readonly lane: string;
  /** The lane of the invocation, for storage. */
  readonly owner?: string;
  /** Whether it is work of mcp-edge itself. */
  readonly isOwn?: boolean;
  /** Milliseconds since the beginning of the entry. */
  readonly atMs: number;
  /** Undefined for points in time, and for running work. */
  readonly endMs: number | undefined;
  /** A short description. */
  readonly text: string;
  /** Additional information, such as the number of rows. */
  readonly note: string;
  readonly isBad: boolean;
  /** The recorded details, which are shown when the user opens the event. */
  readonly detail: unknown;
}

/** One lane: the client, the Worker, an object, or storage. */
export interface Lane {
  readonly id: string;
  readonly title: string;
  readonly note: string;
  readonly events: readonly LaneEvent[];
}

/** The lanes of an entry. */
export interface Lanes {
  /** The length of all lanes, in milliseconds. */
  readonly totalMs: number;
  readonly lanes: readonly Lane[];
  /** All events in chronological order. */
  readonly events: readonly LaneEvent[];
}

/** Returns the lanes of an entry. */
export function toLanes(entry: Entry): Lanes {
  const { startedAtMs: start } = entry;
  const events = [
    ...entry.messages.map((message, at) => messageEvent(message, at, start)),
    ...entry.invocations.flatMap((invocation) => invocationEvents(invocation, start)),
  ].toSorted((a, b) => a.atMs - b.atMs);
  const end = Math.max(entry.ms ?? 0, ...events.map(({ atMs, endMs }) => endMs ?? atMs), 1);
  const objects = new Map(
    entry.invocations.filter(({ place }) => place === "object").map((each) => [laneOf(each), each]),
  );
  const lane = (id: string, title: string, note: string): Lane => ({
    id,
    title,
    note,
    events: events.filter((each) => each.lane === id),
  });
  const client = entry.client ? `${entry.client.name} ${entry.client.version}` : "";
  const lanes = [
    lane("client", "Client", client),
    lane("worker", "Worker", ""),
    ...[...objects].map(([id, each]) => lane(id, each.role ?? each.className ?? "Object", each.object ?? "")),
    lane("storage", "Storage", ""),
  ];
  return { totalMs: end, lanes: lanes.filter((each) => each.events.length > 0 || each.id === "client"), events };
}

/** Returns the lane of an invocation. Each object has its own lane. */
function laneOf({ place, className = "", object = "" }: Invocation): string {
  return place === "worker" ? "worker" : `object ${className} ${object}`;
}

function messageEvent(recorded: RecordedMessage, at: number, start: number): LaneEvent {
  const { atMs, from, message } = recorded;
  const { text, isBad } = describeMessage(message);
  return {
    id: `message-${at}`,
    kind: "message",
    lane: "client",
    atMs: atMs - start,
    endMs: undefined,
    text,
    note: from === "client" ? "to the server" : "to the client",
    isBad,
    detail: message,
  };
}

/** Describes a JSON-RPC message in a few words. */
export function describeMessage(message: unknown): { readonly text: string; readonly isBad: boolean } {
  if (Array.isArray(message)) return { text: `batch of ${message.length}`, isBad: false };
  if (!isObject(message)) return { text: "not a message", isBad: true };
  const { method, params, error, result } = message;
  if (typeof method === "string") {
    const { name, uri, progress } = isObject(params) ? params : {};
    const target = name ?? uri ?? progress;
    return { text: target === undefined ? method : `${method} ${String(target)}`, isBad: false };
  }
  if (isObject(error)) return { text: `error ${String(error.code)}: ${String(error.message)}`, isBad: true };
  if (!isObject(result)) return { text: "result", isBad: false };
  if (result.resultType === "input_required" || "inputRequests" in result)
    return { text: "input required", isBad: false };
  const isBad = result.isError === true;
  const [first] = Array.isArray(result.content) ? result.content : [];
  const text = String((isObject(first) && first.text) || "").slice(0, TEXT_MAX);
  return { text: `${isBad ? "failed tool result" : "result"} ${text}`.trim(), isBad };
}

/** The maximum number of characters of a result in a description. */
const TEXT_MAX = 80;

function invocationEvents(invocation: Invocation, start: number): LaneEvent[] {
  const { id, spans, logs, exceptions } = invocation;
  const lane = laneOf(invocation);
  const isBad = invocation.outcome !== undefined && invocation.outcome !== "ok";
  const isOwn = invocation.role !== undefined;
  const own: LaneEvent = {
    id,
    kind: "work",
    lane,
    isOwn,
    atMs: invocation.startedAtMs - start,
    endMs: invocation.endedAtMs === undefined ? undefined : invocation.endedAtMs - start,
    text: CAUSES[invocation.cause],
    note: notesOf(invocation),
    isBad: isBad || exceptions.length > 0,
    detail: { ...invocation, spans: spans.length, logs: logs.length, exceptions: exceptions.length },
  };
  return [
    own,
    ...spans.map((span, at) => spanEvent(span, `${id}-span-${at}`, { lane, start, isOwn })),
    ...logs.map(
      ({ atMs, level, text }, at): LaneEvent => ({
        id: `${id}-log-${at}`,
        kind: "log",
        lane,
        atMs: atMs - start,
        endMs: undefined,
        text,
        note: level,
        isBad: level === "error",
        detail: undefined,
      }),
    ),
    ...exceptions.map(
      (each, at): LaneEvent => ({
        id: `${id}-exception-${at}`,
        kind: "exception",
        lane,
        atMs: each.atMs - start,
        endMs: undefined,
        text: `${each.name}: ${each.message}`,
        note: each.reference ?? "",
        isBad: true,
        detail: each,
      }),
    ),
  ];
}

const CAUSES: Readonly<Record<Invocation["cause"], string>> = {
  fetch: "serves a request",
  jsrpc: "is called",
  alarm: "runs its alarm",
  websocket: "gets a WebSocket message",
  scheduled: "runs on schedule",
  other: "runs",
};

function notesOf({ method, woken, status, outcome, closeCode }: Invocation): string {
  const notes = [
    method,
    woken === true && "was asleep",
    status !== undefined && `status ${status}`,
    outcome !== undefined && outcome !== "ok" && outcome,
    closeCode !== undefined && `closed with ${closeCode}`,
  ];
  return notes.filter(Boolean).join(", ");
}

interface SpanPlace {
  readonly lane: string;
  readonly start: number;
  readonly isOwn: boolean;
}

/** Converts a span. Storage spans are in the storage lane, and all others in the lane of their invocation. */
function spanEvent(span: Span, id: string, { lane, start, isOwn }: SpanPlace): LaneEvent {
  const isStorage = span.rowsRead !== undefined || span.rowsWritten !== undefined || STORAGE.test(span.name);
  const rows = [
    span.rowsRead && `${span.rowsRead} read`,
    span.rowsWritten && `${span.rowsWritten} written`,
    span.dueAtMs !== undefined && `due ${relative(span.dueAtMs, span.startedAtMs)}`,
    span.status !== undefined && `status ${span.status}`,
  ];
  return {
    id,
    kind: isStorage ? "storage" : "work",
    lane: isStorage ? "storage" : lane,
    owner: lane,
    isOwn: (isOwn && isStorage) || span.text === "callRole",
    atMs: span.startedAtMs - start,
    endMs: span.endedAtMs === undefined ? undefined : span.endedAtMs - start,
    text: span.text ? `${span.name} ${span.text}` : span.name,
    note: rows.filter(Boolean).join(", "),
    isBad: (span.status ?? 0) >= 400,
    detail: span,
  };
}

const STORAGE = /^(exec|kv_|get|put|delete|list|sync|transaction|.*Alarm|d1_)/;

/** The statements and rows of one table in an entry. */
export interface TableUse {
  readonly table: string;
  readonly statements: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** Sums up the statements by table, most expensive first. */
export function tablesOf({ invocations }: Entry): readonly TableUse[] {
  const used = new Map<string, { statements: number; rowsRead: number; rowsWritten: number }>();
  for (const { table, rowsRead = 0, rowsWritten = 0, name } of invocations.flatMap(({ spans }) => spans)) {
    if (table === undefined && rowsRead + rowsWritten === 0) continue;
    const key = table ?? name;
    const sum = used.get(key) ?? { statements: 0, rowsRead: 0, rowsWritten: 0 };
    used.set(key, {
      statements: sum.statements + 1,
      rowsRead: sum.rowsRead + rowsRead,
      rowsWritten: sum.rowsWritten + rowsWritten,
    });
  }
  const list = [...used].map(([table, sum]) => ({ table, ...sum }));
  return list.toSorted((a, b) => b.rowsWritten - a.rowsWritten || b.rowsRead - a.rowsRead);
}
