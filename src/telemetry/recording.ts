/**
 * What `telemetry()` and `clientTelemetry()` share: their options, and the destinations of spans and measurements.
 *
 * @module
 */
import { checkFunction, KitError } from "../core/protocol/errors.ts";
import { type Metric, type MetricSink, toAnalyticsEngine } from "./metrics.ts";
import { type OpenTelemetry, openTelemetryMetrics, openTelemetrySpans } from "./open-telemetry.ts";
import type { Attributes, OpenSpan, Spans } from "./spans.ts";
import { type WorkersTracing, workersSpans } from "./workers-tracing.ts";

/** Options of `telemetry()` and `clientTelemetry()`. */
export interface RecordingOptions<Env = unknown> {
  /**
   * The tracing of Workers, which records the spans: `tracing` of the module `cloudflare:workers`.
   *
   * @default no spans, unless `openTelemetry` is set
   */
  readonly tracing?: WorkersTracing;
  /**
   * The API of OpenTelemetry, which records the spans and, unless `metrics` is set, the measurements: all members of the
   * module `@opentelemetry/api`.
   *
   * @default no spans, unless `tracing` is set
   */
  readonly openTelemetry?: OpenTelemetry;
  /**
   * A function that receives each measurement, or the name of an Analytics Engine binding. An exception of the function is
   * logged. A data point has the tool or the method as its index, the name of the metric and its attributes as blobs, and
   * the value as its double.
   *
   * @default the histograms of `openTelemetry`
   */
  readonly metrics?: MetricSink<Env> | { readonly analyticsEngine: string };
  /**
   * Whether the spans of tool calls contain the arguments and the result, which may be personal or secret.
   *
   * @default false
   */
  readonly contents?: boolean;
  /**
   * Whether the exceptions in spans contain their stacks, which name the files and functions of the program.
   *
   * @default false
   */
  readonly stacks?: boolean;
}

/** Where spans and measurements go. */
export interface Recording {
  readonly spans: Spans;
  readonly contents: boolean;
  readonly stacks: boolean;
  /** Records a measurement. Never throws. */
  measure(metric: Metric, value: number, attributes: Attributes, env?: unknown): void;
}

/**
 * Returns where spans and measurements go.
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function toRecording(where: string, options: RecordingOptions<never>): Recording {
  const { tracing, openTelemetry, metrics, contents = false, stacks = false } = options;
  if (typeof metrics !== "object") checkFunction(`${where}: metrics`, metrics);
  else if (typeof metrics?.analyticsEngine !== "string") {
    const text = `${where}: metrics is not a function, and does not name a binding. Write { analyticsEngine: "METRICS" }.`;
    throw new KitError("options-invalid", text);
  }
  if (!tracing && !openTelemetry && !metrics) {
    throw new KitError(
      "options-invalid",
      `${where} has nothing to write to. Pass tracing (of the module cloudflare:workers), openTelemetry or metrics.`,
    );
  }
  if (tracing && openTelemetry) {
    throw new KitError("options-invalid", `${where}: tracing and openTelemetry both record spans; pass one of them.`);
  }
  const spans = openTelemetry ? openTelemetrySpans(openTelemetry) : tracing ? workersSpans(tracing) : NO_SPANS;
  // The function was declared with the type of the `env` of this server.
  const sink = (typeof metrics === "object" ? toAnalyticsEngine(metrics.analyticsEngine) : metrics) as
    | MetricSink
    | undefined;
  const measured = sink ?? (openTelemetry && openTelemetryMetrics(openTelemetry));
  return {
    spans: safely(spans),
    contents,
    stacks,
    measure: (metric, value, attributes, env) => {
      const lost = (error: unknown) => console.error("mcp-edge: a measurement was lost", error);
      try {
        const sent = measured?.({ ...metric, value, attributes }, env);
        if (typeof sent === "object") Promise.resolve(sent).catch(lost);
      } catch (error) {
        lost(error);
      }
    },
  };
}

const NO_SPAN: OpenSpan = {
  set: () => undefined,
  fail: () => undefined,
  end: () => undefined,
  fields: () => undefined,
};

const NO_SPANS: Spans = { run: (_, work) => work(NO_SPAN) };

/**
 * Returns spans whose failures are logged. The work runs exactly once, and its outcome is returned whatever the tracer
 * does: throw, reject, call the function twice or never, or return another value.
 */
function safely(spans: Spans): Spans {
  return {
    run: <T>(start: Parameters<Spans["run"]>[0], work: (span: OpenSpan) => T): T => {
      let outcome: (() => T) | undefined;
      const once = (span: OpenSpan): T => {
        outcome ??= attempt(() => work(quiet(span)));
        return outcome();
      };
      try {
        const returned: unknown = spans.run(start, once);
        if (typeof returned === "object") watch(returned, () => outcome?.());
      } catch (error) {
        report(error);
      }
      return once(NO_SPAN);
    },
  };
}

/** Calls a function, and returns a function that returns its value or throws its exception. */
function attempt<T>(act: () => T): () => T {
  try {
    const value = act();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Reports the rejection of what a tracer has returned, unless the work itself has failed. */
function watch(returned: unknown, work: () => unknown): void {
  Promise.resolve(returned).catch(async (error) => {
    try {
      await work();
    } catch {
      return;
    }
    report(error);
  });
}

function quiet(span: OpenSpan): OpenSpan {
  const guard = <T>(act: () => T): T | undefined => {
    try {
      return act();
    } catch (error) {
      report(error);
      return undefined;
    }
  };
  return {
    set: (attributes) => guard(() => span.set(attributes)),
    fail: (failure) => guard(() => span.fail(failure)),
    end: () => guard(() => span.end()),
    fields: () => guard(() => span.fields()),
  };
}

function report(error: unknown): void {
  console.error("mcp-edge: a span could not be recorded", error);
}
