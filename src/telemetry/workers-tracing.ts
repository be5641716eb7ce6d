/**
 * Spans of the tracing that is built into Workers. It does not adopt the span of a caller as the parent, so the caller's
 * trace context becomes attributes; and it has no kinds and links.
 *
 * @module
 */
import type { Attributes, OpenSpan, Spans } from "./spans.ts";
import { toTraceFields } from "./trace-context.ts";

/** A span of the tracing of Workers. Some versions of the platform lack the optional members. */
export interface WorkersSpan {
  /** Identifies the span. */
  spanContext?(): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
  /** Sets attributes. */
  setAttributes(attributes: Record<string, string | number | boolean | undefined>): unknown;
  /** Records an exception. */
  recordException?(exception: { name: string; message: string; stack?: string }): void;
  /** Sets the status. */
  setStatus?(status: { code: "error"; message?: string }): unknown;
  /** Ends the span. */
  end?(): void;
}

/** The tracing of Workers: pass `tracing` of the module `cloudflare:workers`. */
export interface WorkersTracing {
  /** Runs a function within a new span. */
  startActiveSpan<T>(name: string, run: (span: WorkersSpan) => T): T;
}

/** Records spans with the tracing of Workers. */
export function workersSpans(tracing: WorkersTracing): Spans {
  return {
    run: ({ name, kind, attributes, parent }, work) =>
      tracing.startActiveSpan(name, (span) => {
        const caller: Attributes = parent
          ? {
              "mcp_edge.caller.trace_id": parent.traceId,
              "mcp_edge.caller.traceparent": toTraceFields(parent).traceparent,
            }
          : {};
        const { tracestate } = parent ?? {};
        span.setAttributes({
          ...attributes,
          "span.kind": kind,
          ...caller,
          ...(tracestate === undefined ? {} : { "mcp_edge.caller.tracestate": tracestate }),
        });
        return work(openSpan(span));
      }),
  };
}

function openSpan(span: WorkersSpan): OpenSpan {
  let hasEnded = false;
  return {
    set: (attributes) => void span.setAttributes({ ...attributes }),
    fail: ({ message, exception }) => {
      span.setStatus?.({ code: "error", ...(message === undefined ? {} : { message }) });
      if (exception !== undefined) span.recordException?.({ ...exception });
    },
    end: () => {
      if (!hasEnded) span.end?.();
      hasEnded = true;
    },
    fields: () => {
      const context = span.spanContext?.();
      if (!context || !/^[0-9a-f]{32}$/.test(context.traceId) || /^0*$/.test(context.traceId)) return undefined;
      return toTraceFields({ ...context, tracestate: undefined });
    },
  };
}
