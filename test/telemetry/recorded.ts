/** OpenTelemetry's SDK for this process, with spans and measurements in memory. */
import * as openTelemetry from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

/** A span in the form that tests compare, and that another process can send. */
export interface Recorded {
  readonly name: string;
  readonly kind: "server" | "client" | "internal";
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly tracestate: string | undefined;
  readonly links: readonly string[];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly message: string | undefined;
  readonly exceptions: readonly unknown[];
  /** The attributes of the events, by the names of the events. */
  readonly events: readonly (readonly [name: string, attributes: Readonly<Record<string, unknown>> | undefined])[];
}

const spans = new InMemorySpanExporter();
const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 });

// OpenTelemetry refuses a second registration, so the first is removed if this file is loaded again after `vi.resetModules()`.
openTelemetry.context.disable();
openTelemetry.trace.disable();
openTelemetry.metrics.disable();
openTelemetry.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
openTelemetry.trace.setGlobalTracerProvider(
  new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }),
);
openTelemetry.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));

export { openTelemetry };

/** Returns the spans that have ended, in the order in which they ended, and removes them. */
export function takeSpans(): Recorded[] {
  const ended = spans.getFinishedSpans().map(toRecorded);
  spans.reset();
  return ended;
}

const KINDS: readonly Recorded["kind"][] = ["internal", "server", "client"];

function toRecorded(span: ReadableSpan): Recorded {
  const { traceId, spanId, traceState } = span.spanContext();
  return {
    name: span.name,
    kind: KINDS[span.kind] ?? "internal",
    traceId,
    spanId,
    parentId: span.parentSpanContext?.spanId,
    tracestate: traceState?.serialize(),
    links: span.links.map(({ context }) => context.spanId),
    attributes: span.attributes,
    isError: span.status.code === openTelemetry.SpanStatusCode.ERROR,
    message: span.status.message,
    exceptions: span.events.map(({ attributes }) => attributes?.["exception.message"]),
    events: span.events.map(({ name, attributes }) => [name, attributes]),
  };
}

/** A series of a metric. */
export interface Series {
  readonly name: string;
  readonly unit: string;
  readonly count: number;
  readonly bounds: readonly number[] | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Returns all series since the process started. */
export async function readMetrics(): Promise<Series[]> {
  measured.reset();
  await reader.forceFlush();
  return measured.getMetrics().flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }): Series => {
          const histogram = value as { readonly count: number; readonly buckets?: { readonly boundaries: number[] } };
          const { name, unit } = descriptor;
          const count = typeof value === "number" ? value : histogram.count;
          return { name, unit, count, bounds: histogram.buckets?.boundaries, attributes };
        }),
      ),
    ),
  );
}
