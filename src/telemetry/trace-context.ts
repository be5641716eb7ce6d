/**
 * The trace context in the `_meta` of a message, in the formats of W3C Trace Context.
 *
 * @module
 * @see MCP 2026-07-28, basic, "OpenTelemetry trace context"
 */
import type { JsonObject } from "../core/protocol/jsonrpc.ts";

/** The span of a caller. */
export interface RemoteSpan {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** 8 bits; the lowest says whether the caller records the trace. */
  readonly traceFlags: number;
  /** The values that other tracing systems add. Undefined if there are none, or if they are not valid. */
  readonly tracestate: string | undefined;
}

/** The members of `_meta` that carry a trace context. */
export interface TraceFields {
  /** The trace and the span of the caller. */
  readonly traceparent: string;
  /** The values that other tracing systems add. */
  readonly tracestate?: string;
}

const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]*)?$/;

/** The maximum length of a `traceparent`. Version 00 has 55 characters; later versions may have more. @limit internal */
const TRACEPARENT_MAX = 128;

/** The maximum length of a `tracestate` that must be passed on. @limit internal */
const TRACESTATE_MAX = 512;

/** The maximum number of members of a `tracestate`. @limit internal */
const MEMBERS_MAX = 32;

const MEMBER =
  /^[ \t]*(?:[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e])?[ \t]*$/;

/** Reads the trace context of a message. Returns undefined if there is none, or if it is not valid. */
export function readTraceContext({ traceparent, tracestate }: JsonObject): RemoteSpan | undefined {
  if (typeof traceparent !== "string" || traceparent.length > TRACEPARENT_MAX) return undefined;
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(traceparent) ?? [];
  if (!traceId || !spanId || !flags || (version === "00" && more !== undefined)) return undefined;
  const isValid = typeof tracestate === "string" && isTracestate(tracestate);
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), tracestate: isValid ? tracestate : undefined };
}

function isTracestate(text: string): boolean {
  if (text.length > TRACESTATE_MAX) return false;
  const members = text.split(",");
  return members.length <= MEMBERS_MAX && members.every((each) => MEMBER.test(each));
}

/** Returns the members of `_meta` for a span. Version 00 of the format defines two flags. */
export function toTraceFields({ traceId, spanId, traceFlags, tracestate }: RemoteSpan): TraceFields {
  const flags = (traceFlags & 3).toString(16).padStart(2, "0");
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, ...(tracestate ? { tracestate } : {}) };
}
