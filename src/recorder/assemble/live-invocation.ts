/**
 * An invocation while it is being recorded.
 *
 * @module
 */
import type { Invocation, LogLine, RecordedException, Span } from "../entry.ts";
import type { OnsetEvent } from "../tail/tail-event.ts";

/** A span that can still change. */
export type LiveSpan = { -readonly [Name in keyof Span]: Span[Name] };

/** How an invocation was caused. */
interface InvocationCause {
  readonly isRoot: boolean;
  /** Whether the object was not in memory before. */
  readonly woken: boolean;
  /** Returns the id of the calling invocation. workerd may report the span of a call after the invocation that it causes. */
  readonly findParent: () => string | undefined;
}

/** An invocation that can still change. */
export class LiveInvocation {
  readonly id: string;
  readonly onset: OnsetEvent;
  readonly startedAtMs: number;
  /** Whether it was not caused by another invocation. */
  readonly isRoot: boolean;
  readonly woken: boolean;
  readonly #findParent: () => string | undefined;
  endedAtMs: number | undefined;
  answeredAtMs: number | undefined;
  outcome: string | undefined;
  status: number | undefined;
  method: string | undefined;
  /** Whether the object belongs to the class of an endpoint. */
  isOfEndpoint = false;
  /** The role of the object, if it belongs to an endpoint and its role is known. */
  role: string | undefined;
  readonly spans: LiveSpan[] = [];
  /** The spans that were open when it returned its response. */
  openAtAnswer: readonly LiveSpan[] = [];
  readonly logs: LogLine[] = [];
  readonly exceptions: RecordedException[] = [];
  /** The visible span to which an open span belongs, by the id of the open span. Undefined for spans that are not stored. */
  readonly open: Map<string, LiveSpan | undefined> = new Map();
  /** The names that workerd gave to the open spans, by the id of the span. */
  readonly names: Map<string, string> = new Map();

  constructor(id: string, onset: OnsetEvent, startedAtMs: number, { isRoot, woken, findParent }: InvocationCause) {
    this.id = id;
    this.onset = onset;
    this.startedAtMs = startedAtMs;
    this.isRoot = isRoot;
    this.woken = woken;
    this.#findParent = findParent;
  }

  /** Returns the invocation as JSON. @param role The role of the object, which may have become known later. */
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
