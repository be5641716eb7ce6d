/**
 * An invocation while its events arrive.
 *
 * @module
 */
import type { Invocation, LogLine, RecordedException, Span } from "../entry.ts";
import type { OnsetEvent } from "../tail/tail-event.ts";

/** A span that can still change. */
export type LiveSpan = { -readonly [Name in keyof Span]: Span[Name] };

/** What caused an invocation. */
interface Caused {
  readonly isRoot: boolean;
  /** Whether the object was not in memory. */
  readonly woken: boolean;
  /** Returns the invocation that caused it. workerd may report the span of the call later than what it causes. */
  readonly findParent: () => string | undefined;
}

/** An invocation that can still change, with what is not shown of it. */
export class LiveInvocation {
  readonly id: string;
  readonly onset: OnsetEvent;
  readonly startedAtMs: number;
  /** Whether no other invocation has caused it. */
  readonly isRoot: boolean;
  readonly woken: boolean;
  readonly #findParent: () => string | undefined;
  endedAtMs: number | undefined;
  answeredAtMs: number | undefined;
  outcome: string | undefined;
  status: number | undefined;
  method: string | undefined;
  /** Whether the object belongs to the class of an endpoint, and if so, its role. */
  isOfEndpoint = false;
  role: string | undefined;
  readonly spans: LiveSpan[] = [];
  /** The spans that were open when it answered. */
  openAtAnswer: readonly LiveSpan[] = [];
  readonly logs: LogLine[] = [];
  readonly exceptions: RecordedException[] = [];
  /** What is open, by the id of the span: the visible span that a span belongs to. Undefined for spans that are not stored. */
  readonly open: Map<string, LiveSpan | undefined> = new Map();
  /** The names of spans, as workerd gives them, until they are closed. */
  readonly names: Map<string, string> = new Map();

  constructor(id: string, onset: OnsetEvent, startedAtMs: number, { isRoot, woken, findParent }: Caused) {
    this.id = id;
    this.onset = onset;
    this.startedAtMs = startedAtMs;
    this.isRoot = isRoot;
    this.woken = woken;
    this.#findParent = findParent;
  }

  /** Returns it as JSON. @param role The role of the object, if it became known later. */
  toInvocation(role: string | undefined): Invocation {
    const parent = this.#findParent();
    const { onset, endedAtMs, answeredAtMs, outcome, status, method } = this;
    const { entrypoint, objectId, closeCode, isObject, cause } = onset;
    return {
      id: this.id,
      ...(parent === undefined ? {} : { parent }),
      place: isObject ? "object" : "worker",
      ...(isObject && entrypoint !== undefined ? { className: entrypoint } : {}),
      ...(objectId === undefined ? {} : { object: objectId.slice(0, 8) }),
      ...(role === undefined ? {} : { role }),
      cause,
      ...(method === undefined ? {} : { method }),
      ...(isObject ? { woken: this.woken } : {}),
      ...(closeCode === undefined ? {} : { closeCode }),
      startedAtMs: this.startedAtMs,
      ...(endedAtMs === undefined ? {} : { endedAtMs }),
      ...(answeredAtMs === undefined ? {} : { answeredAtMs }),
      ...(outcome === undefined ? {} : { outcome }),
      ...(status === undefined ? {} : { status }),
      spans: this.spans,
      logs: this.logs,
      exceptions: this.exceptions,
    };
  }
}
