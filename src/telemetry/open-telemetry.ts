/**
 * Spans and histograms of OpenTelemetry. The API is passed in as a value, so that nothing is imported where it is not
 * used, and the types below are those members of `@opentelemetry/api` that are used.
 *
 * @module
 */
import type { Metric, MetricSink } from "./metrics.ts";
import type { Attributes, OpenSpan, Spans } from "./spans.ts";
import { type RemoteSpan, toTraceFields } from "./trace-context.ts";

/** Identifies a span. */
export interface OpenTelemetrySpanContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** 8 bits; the lowest says whether the trace is recorded. */
  readonly traceFlags: number;
  /** The values that other tracing systems add. */
  readonly traceState?: { serialize(): string };
}

/** A span of OpenTelemetry. */
export interface OpenTelemetrySpan {
  /** Identifies the span. */
  spanContext(): OpenTelemetrySpanContext;
  /** Sets attributes. */
  setAttributes(attributes: Record<string, string | number | boolean>): unknown;
  /** Sets the status; the code 2 is an error. */
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  /** Records an exception. */
  recordException(exception: Error | string): void;
  /** Ends the span. */
  end(): void;
}

/** The tracer of OpenTelemetry. */
export interface OpenTelemetryTracer {
  /** Runs a function within a new span. */
  startActiveSpan<F extends (span: OpenTelemetrySpan) => unknown>(
    name: string,
    options: object,
    context: object,
    run: F,
  ): ReturnType<F>;
}

/** The meter of OpenTelemetry. */
export interface OpenTelemetryMeter {
  /** Creates a histogram. */
  createHistogram(
    name: string,
    options: object,
  ): { record(value: number, attributes: Record<string, string | number | boolean>): void };
  /** Creates a counter. */
  createCounter(
    name: string,
    options: object,
  ): { add(value: number, attributes: Record<string, string | number | boolean>): void };
}

/** The members of the module `@opentelemetry/api` that are used. */
export interface OpenTelemetry {
  /** Creates tracers, and reads and writes the span of a context. */
  readonly trace: {
    getTracer(name: string): OpenTelemetryTracer;
    getSpanContext(context: object): OpenTelemetrySpanContext | undefined;
    setSpanContext(context: object, spanContext: OpenTelemetrySpanContext): object;
  };
  /** Returns the active context. */
  readonly context: { active(): object };
  /** Creates meters. */
  readonly metrics: { getMeter(name: string): OpenTelemetryMeter };
  /** Parses a `tracestate`. */
  createTraceState(raw?: string): { serialize(): string };
}

/** The name of the instrumentation. */
const SCOPE = "mcp-edge";

/** The numbers of `SpanKind` and `SpanStatusCode`. */
const KINDS = { server: 1, client: 2 } as const;
const ERROR = 2;

/** Records spans with OpenTelemetry. */
export function openTelemetrySpans(api: OpenTelemetry): Spans {
  const toContext = (span: RemoteSpan): OpenTelemetrySpanContext & { readonly isRemote: true } => ({
    traceId: span.traceId,
    spanId: span.spanId,
    traceFlags: span.traceFlags,
    isRemote: true,
    ...(span.tracestate === undefined ? {} : { traceState: api.createTraceState(span.tracestate) }),
  });
  const run: Spans["run"] = (start, work) => {
    const active = api.context.active();
    const ambient = api.trace.getSpanContext(active);
    const { name, kind, attributes, startedAtMs } = start;
    const parent = start.parent && toContext(start.parent);
    const adopted = start.isLinked ? undefined : parent;
    // A span is not linked to its own parent.
    const linked = [
      start.isLinked ? parent : undefined,
      adopted || start.isRoot ? ambient : undefined,
      start.transport && toContext(start.transport),
    ];
    const options = {
      kind: KINDS[kind],
      attributes: { ...attributes },
      links: linked.flatMap((context) => (context && context.spanId !== adopted?.spanId ? [{ context }] : [])),
      ...(start.isRoot ? { root: true } : {}),
      ...(startedAtMs === undefined ? {} : { startTime: startedAtMs }),
    };
    const context = adopted ? api.trace.setSpanContext(active, adopted) : active;
    return api.trace.getTracer(SCOPE).startActiveSpan(name, options, context, (span) => work(openSpan(span)));
  };
  return { run };
}

function openSpan(span: OpenTelemetrySpan): OpenSpan {
  let hasEnded = false;
  return {
    set: (attributes) => void span.setAttributes({ ...attributes }),
    fail: ({ message, exception }) => {
      span.setStatus({ code: ERROR, ...(message === undefined ? {} : { message }) });
      if (exception !== undefined) span.recordException({ ...exception });
    },
    end: () => {
      if (!hasEnded) span.end();
      hasEnded = true;
    },
    fields: () => {
      const { traceId, spanId, traceFlags, traceState } = span.spanContext();
      // Without a tracer provider, the ids are zeros.
      if (/^0*$/.test(traceId)) return undefined;
      return toTraceFields({ traceId, spanId, traceFlags, tracestate: traceState?.serialize() });
    },
  };
}

/** Records a value of an instrument. */
type Recorder = (value: number, attributes: Attributes) => void;

/**
 * Records measurements with OpenTelemetry. Instruments are kept for each meter, because the API returns a meter without
 * effect until a meter provider is registered.
 */
export function openTelemetryMetrics(api: OpenTelemetry): MetricSink {
  const known = new WeakMap<OpenTelemetryMeter, Map<string, Recorder>>();
  return ({ value, attributes, ...metric }) => {
    const meter = api.metrics.getMeter(SCOPE);
    const instruments = known.get(meter) ?? new Map<string, Recorder>();
    known.set(meter, instruments);
    const record = instruments.get(metric.name) ?? createInstrument(meter, metric);
    instruments.set(metric.name, record);
    record(value, attributes);
  };
}

function createInstrument(meter: OpenTelemetryMeter, { name, kind, unit, description, bounds }: Metric): Recorder {
  if (kind === "counter") {
    const counter = meter.createCounter(name, { unit, description });
    return (amount, about) => counter.add(amount, { ...about });
  }
  const advice = { explicitBucketBoundaries: [...bounds] };
  const histogram = meter.createHistogram(name, { unit, description, advice });
  return (amount, about) => histogram.record(amount, { ...about });
}
