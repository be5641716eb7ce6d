/**
 * Assembles invocations from the events of the tail Worker, and adds them to their entries.
 *
 * Everything that an exchange causes shares its trace: the Worker, the objects that it calls, and the messages of the WebSockets
 * that it opens. Alarms and cron jobs begin traces without an exchange, which become separate entries.
 *
 * @module
 */
import { INVOCATIONS_MAX, LINKS_MAX, LOGS_MAX, SPANS_MAX } from "../limits.ts";
import type { AttributeValue, LogEvent, OnsetEvent, TailEvent } from "../tail/tail-event.ts";
import type { Assembly } from "./assembly.ts";
import { BoundedMap } from "./bounded-map.ts";
import type { LiveEntry } from "./live-entry.ts";
import { LiveInvocation, type LiveSpan } from "./live-invocation.ts";
import { readLog, toException } from "./logs.ts";
import { CONTROL_METHOD, ROLE_METHOD, roleOfUrl } from "./roles.ts";
import { applyAttributes, countOpened, isHidden, isLocalStatement, toSpanName } from "./spans.ts";

/** An invocation, its entry, and the spans of its trace. */
interface Running {
  readonly invocation: LiveInvocation;
  readonly entry: LiveEntry;
  readonly trace: Trace;
}

interface Trace {
  readonly entry: LiveEntry;
  /** The invocation that opened a span, by the id of the span. It is the parent of the invocations that the span causes. */
  readonly owners: Map<string, string>;
}

/** The recent activity of an object. */
export interface ObjectActivity {
  readonly className: string;
  /** The number of invocations that have not ended, apart from WebSocket upgrades. */
  open: number;
  lastAtMs: number;
  /** The ids of the last entries that invoked it, newest last. */
  readonly entries: string[];
}

/** How long an object must be idle before workerd evicts it, in milliseconds. */
const IDLE_MS = 10_000;

/** The maximum number of stored alarms of an object. */
const ALARMS_KEPT_MAX = 20;

/** The maximum number of stored entries of an object, and of stored span owners of a trace. */
const [ENTRIES_OF_OBJECT_MAX, OWNERS_MAX] = [50, 10_000];

export class TraceAssembler {
  readonly #assembly: Assembly;
  readonly #traces = new Map<string, Trace>();
  readonly #running = new Map<string, Running>();
  readonly objects: BoundedMap<ObjectActivity> = new BoundedMap(LINKS_MAX);
  /** The ids of the entries of the last alarms of an object. */
  readonly #alarms: BoundedMap<readonly string[]> = new BoundedMap(LINKS_MAX);

  constructor(assembly: Assembly) {
    this.#assembly = assembly;
  }

  /** Reads one event. Events of unknown invocations are ignored, because their entries were removed. */
  take(event: TailEvent): void {
    const { event: body, atMs } = event;
    if (body.type === "onset") {
      this.#begin(event, body);
      return;
    }
    const running = this.#running.get(event.invocation);
    if (!running) return;
    const { invocation, entry } = running;
    if (body.type === "spanOpen") this.#openSpan(running, event, body.name, body.spanId);
    else if (body.type === "spanClose") closeSpan(invocation, event.span ?? "", atMs);
    else if (body.type === "attributes") this.#applyAttributes(running, event.span ?? "", body.values);
    else if (body.type === "return") answered(invocation, atMs, body.status);
    else if (body.type === "log") this.#addLog(running, body, atMs);
    else if (body.type === "exception") {
      invocation.exceptions.push(toException(body, atMs, this.#assembly));
      entry.marks.add("exception");
    } else this.#end(running, atMs, body.outcome);
    this.#assembly.touch(entry);
  }

  /** Removes the traces and invocations of an entry. */
  remove(entry: LiveEntry): void {
    for (const trace of entry.traces) this.#traces.delete(trace);
    for (const { id } of entry.invocations) this.#running.delete(id);
  }

  /** Ends all running invocations, because workerd was killed. */
  endAll(atMs: number, outcome: string): void {
    for (const running of [...this.#running.values()]) {
      this.#end(running, atMs, outcome);
      this.#assembly.touch(running.entry);
    }
    for (const activity of this.objects.values()) {
      activity.open = 0;
      activity.lastAtMs = 0;
    }
  }

  /** Returns whether the root invocation of an entry has ended. */
  isSettled(entry: LiveEntry): boolean {
    return entry.invocations.some(({ isRoot, endedAtMs }) => isRoot && endedAtMs !== undefined);
  }

  #begin({ invocation: id, trace: traceId, span, atMs }: TailEvent, onset: OnsetEvent): void {
    // An invocation shares the trace of its caller. If that trace is unknown, its entry was removed.
    const trace = this.#traces.get(traceId) ?? (span === undefined ? this.#openTrace(traceId, onset, atMs) : undefined);
    if (!trace) return;
    const { entry } = trace;
    trace.owners.set(onset.spanId, id);
    const woken = onset.objectId !== undefined && this.#invoked(onset.objectId, onset, entry, atMs);
    const findParent = () => (span === undefined ? undefined : trace.owners.get(span));
    const invocation = new LiveInvocation(id, onset, atMs, { isRoot: span === undefined, woken, findParent });
    this.#running.set(id, { invocation, entry, trace });
    if (entry.invocations.length < INVOCATIONS_MAX) {
      entry.invocations.push(invocation);
      this.#assembly.grow(entry, 200);
    } else entry.omitted.spans += 1;
    countOnset(entry, onset, woken);
    if (onset.cause === "alarm" && onset.objectId !== undefined) this.#relateAlarm(onset.objectId, entry);
    const role = onset.isObject && onset.url !== undefined ? roleOfUrl(onset.url) : undefined;
    if (role !== undefined) this.#setRole(invocation, role);
    else if (onset.objectId !== undefined) invocation.role = this.#assembly.roles.get(onset.objectId);
    this.#assembly.touch(entry);
  }

  /** Links the entry of an alarm to the exchange that first invoked the object, such as the call that created a task. */
  #relateAlarm(objectId: string, entry: LiveEntry): void {
    const before = this.#alarms.get(objectId) ?? [];
    entry.alarmsBefore = before;
    this.#alarms.set(objectId, [...before.slice(1 - ALARMS_KEPT_MAX), entry.id]);
    const first = this.objects.get(objectId)?.entries[0];
    const other = first === undefined ? undefined : this.#assembly.find(first);
    if (!other || other === entry) return;
    entry.addRelated(other.id, "task");
    other.addRelated(entry.id, "task");
    this.#assembly.touch(other);
  }

  /** Finds or creates the entry of a new trace. */
  #openTrace(traceId: string, onset: OnsetEvent, atMs: number): Trace | undefined {
    const entry = this.#assembly.entryOfTrace(onset, atMs);
    if (!entry) return undefined;
    const trace = { entry, owners: new Map<string, string>() };
    this.#traces.set(traceId, trace);
    entry.traces.add(traceId);
    return trace;
  }

  /** Updates the activity of an object. Returns whether the object was not in memory before. */
  #invoked(objectId: string, onset: OnsetEvent, entry: LiveEntry, atMs: number): boolean {
    const known = this.objects.get(objectId);
    const activity = known ?? { className: onset.entrypoint ?? "", open: 0, lastAtMs: 0, entries: [] };
    const woken = activity.open === 0 && atMs - activity.lastAtMs > IDLE_MS;
    if (onset.isUpgrade !== true) activity.open += 1;
    activity.lastAtMs = atMs;
    if (activity.entries.at(-1) !== entry.id) activity.entries.push(entry.id);
    if (activity.entries.length > ENTRIES_OF_OBJECT_MAX) activity.entries.shift();
    this.objects.set(objectId, activity);
    return woken;
  }

  #openSpan({ invocation, entry, trace }: Running, { span: parent = "", atMs }: TailEvent, name: string, id: string) {
    if (trace.owners.size < OWNERS_MAX) trace.owners.set(id, invocation.id);
    countOpened(entry, name);
    invocation.names.set(id, name);
    if (isHidden(name, invocation.names.get(parent))) {
      invocation.open.set(id, invocation.open.get(parent));
      return;
    }
    if (entry.spans >= SPANS_MAX) {
      entry.omitted.spans += 1;
      invocation.open.set(id, undefined);
      return;
    }
    const span: LiveSpan = { name: toSpanName(name), startedAtMs: atMs };
    entry.spans += 1;
    invocation.spans.push(span);
    invocation.open.set(id, span);
    this.#assembly.grow(entry, 80);
  }

  #applyAttributes(running: Running, spanId: string, values: Readonly<Record<string, AttributeValue>>): void {
    const { invocation, entry } = running;
    const name = invocation.names.get(spanId) ?? "";
    if (name === LOCAL_STATEMENT) return;
    if (isLocalStatement(values)) {
      leaveOut(running, spanId);
      return;
    }
    const method = values["jsrpc.method"];
    // workerd reports the call that began an invocation as a span of that invocation.
    if (typeof method === "string" && invocation.onset.isObject && invocation.onset.cause === "jsrpc") {
      invocation.method ??= method;
      if (method === ROLE_METHOD) invocation.isOfEndpoint = true;
      if (method === CONTROL_METHOD) this.#assembly.markAsControl(entry);
    }
    const found = applyAttributes({ name, span: invocation.open.get(spanId), entry, values }, this.#assembly.redactor);
    if (found.characters > 0) this.#assembly.grow(entry, found.characters);
    if (found.role !== undefined && invocation.isOfEndpoint && invocation.role === undefined) {
      this.#setRole(invocation, found.role);
    }
  }

  #setRole(invocation: LiveInvocation, role: string): void {
    invocation.isOfEndpoint = true;
    invocation.role = role;
    const { objectId } = invocation.onset;
    if (objectId !== undefined) this.#assembly.roles.set(objectId, role);
  }

  #addLog({ invocation, entry }: Running, log: LogEvent, atMs: number): void {
    entry.marks.add("log");
    const { line, exceptions } = readLog(log, atMs, this.#assembly);
    if (exceptions.length > 0) entry.marks.add("exception");
    if (entry.logs >= LOGS_MAX) {
      entry.omitted.logs += 1;
      return;
    }
    entry.logs += 1;
    invocation.logs.push(line);
    invocation.exceptions.push(...exceptions);
    this.#assembly.grow(entry, line.text.length + exceptions.length * 500);
  }

  #end({ invocation, entry }: Running, atMs: number, outcome: string): void {
    invocation.endedAtMs = atMs;
    invocation.outcome = outcome;
    invocation.open.clear();
    invocation.names.clear();
    this.#running.delete(invocation.id);
    const { objectId, isUpgrade } = invocation.onset;
    const activity = objectId === undefined ? undefined : this.objects.get(objectId);
    if (activity && isUpgrade !== true) {
      activity.open = Math.max(0, activity.open - 1);
      activity.lastAtMs = Math.max(activity.lastAtMs, atMs);
    }
    this.#assembly.invocationEnded(entry, invocation);
  }
}

function countOnset(entry: LiveEntry, { isObject, cause, socket }: OnsetEvent, woken: boolean): void {
  if (!isObject) return;
  if (cause === "fetch" || cause === "jsrpc") entry.counts.objectRequests += 1;
  if (socket === "message") entry.counts.messages += 1;
  if (cause === "alarm") entry.counts.alarmsRun += 1;
  if (woken) entry.counts.wakeUps += 1;
}

/** The name that replaces the name of an omitted span, so that its later attributes are ignored. */
const LOCAL_STATEMENT = "statement of miniflare";

/** Removes a span from its invocation. */
function leaveOut({ invocation, entry }: Running, spanId: string): void {
  const span = invocation.open.get(spanId);
  const at = span ? invocation.spans.lastIndexOf(span) : -1;
  if (at !== -1) {
    invocation.spans.splice(at, 1);
    entry.spans -= 1;
  }
  invocation.open.set(spanId, undefined);
  invocation.names.set(spanId, LOCAL_STATEMENT);
}

function closeSpan(invocation: LiveInvocation, id: string, atMs: number): void {
  const span = invocation.open.get(id);
  const name = invocation.names.get(id);
  // A hidden span maps to its visible parent, which is still open.
  if (span && name !== undefined && toSpanName(name) === span.name) span.endedAtMs = atMs;
  invocation.open.delete(id);
  invocation.names.delete(id);
}

function answered(invocation: LiveInvocation, atMs: number, status: number | undefined): void {
  invocation.answeredAtMs = atMs;
  invocation.openAtAnswer = [...new Set(invocation.open.values())].filter((span) => span !== undefined);
  if (status !== undefined) invocation.status = status;
}
