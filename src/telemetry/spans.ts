/**
 * The interface through which spans are recorded, for both tracing systems: OpenTelemetry and the tracing of Workers.
 *
 * @module
 */
import type { RemoteSpan, TraceFields } from "./trace-context.ts";

/** The value of an attribute of a span or a measurement. */
export type AttributeValue = string | number | boolean;

/** Attributes of a span or a measurement, by name. */
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** The start of a span. */
export interface SpanStart {
  readonly name: string;
  /** `server`: a message was received. `client`: a message is sent. */
  readonly kind: "server" | "client";
  readonly attributes: Attributes;
  /** The span of the sender of the message. */
  readonly parent?: RemoteSpan | undefined;
  /** Whether the span begins a new trace. The active span is then only linked. */
  readonly isRoot?: boolean | undefined;
  /** Whether the sender's span is only linked. */
  readonly isLinked?: boolean | undefined;
  /** The span that the HTTP request names. It is always only linked. */
  readonly transport?: RemoteSpan | undefined;
  /** When it started, in milliseconds since 1970. @default now */
  readonly startedAtMs?: number | undefined;
}

/** How an operation ended, if it failed. */
export interface Failure {
  /** The message of the error, if the peer receives it too. */
  readonly message?: string | undefined;
  /** An exception of which the peer receives only a reference. */
  readonly exception?: RecordedException | undefined;
}

/** An exception as a span records it. Its strings are bounded. */
export interface RecordedException {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
}

/** A span that has not ended. */
export interface OpenSpan {
  set(attributes: Attributes): void;
  /** Marks the operation as failed. */
  fail(failure: Failure): void;
  /** Ends the span. Calls after the first have no effect. */
  end(): void;
  /** Returns the members of `_meta` that make the span the parent of the receiver's span. */
  fields(): TraceFields | undefined;
}

/** Records spans. */
export interface Spans {
  /** Runs work within a new span, which is the active span meanwhile. The work ends the span. */
  run<T>(start: SpanStart, work: (span: OpenSpan) => T): T;
}
