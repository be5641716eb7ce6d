/**
 * Measurements and their destinations.
 *
 * @module
 */
import { KitError } from "../core/protocol/errors.ts";
import type { Attributes } from "./spans.ts";

/** A measurement of a metric. */
export interface Measurement extends Metric {
  /** The measured value, in the unit of the metric. */
  readonly value: number;
  /** The attributes, by the names of the conventions. Each has a small number of different values. */
  readonly attributes: Attributes;
}

/** A metric. */
export interface Metric {
  /** The name, such as `mcp.server.operation.duration`. */
  readonly name: string;
  /** `histogram`: the values are counted in buckets. `counter`: they are added up. */
  readonly kind: "histogram" | "counter";
  /** The unit, in the notation of UCUM: `s` is seconds. */
  readonly unit: string;
  /** A human-readable description. */
  readonly description: string;
  /** The upper bounds of the buckets of a histogram. */
  readonly bounds: readonly number[];
}

/** Receives a measurement. */
export type MetricSink<Env = unknown> = (measurement: Measurement, env: Env) => unknown;

/** The buckets that the conventions define, in seconds. */
const SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300] as const;

const duration = (name: string, description: string): Metric => ({
  name,
  kind: "histogram",
  unit: "s",
  description,
  bounds: SECONDS,
});

/** The metrics of a server. */
export const SERVER_OPERATION = duration(
  "mcp.server.operation.duration",
  "The time from a request or notification to its result, as the server observes it.",
);
export const TASK = duration("mcp_edge.server.task.duration", "The time from the creation of a task to its end.");
export const REFUSALS: Metric = {
  name: "mcp_edge.server.refusals",
  kind: "counter",
  unit: "{request}",
  description: "HTTP requests that were refused before a handler ran.",
  bounds: [],
};

/** The metrics of a client. */
export const CLIENT_OPERATION = duration(
  "mcp.client.operation.duration",
  "The time from a request to its result, as the client observes it.",
);
export const CLIENT_SESSION = duration(
  "mcp.client.session.duration",
  "The time from the start of a connection to its end, as the client observes it.",
);

/** The attributes of a data point, in the order of its blobs, after the name of the metric. */
const BLOBS = [
  "mcp.method.name",
  "gen_ai.tool.name",
  "gen_ai.prompt.name",
  "error.type",
  "mcp.protocol.version",
  "network.transport",
  "mcp_edge.reason",
] as const;

/** Returns a sink that writes data points to an Analytics Engine binding. */
export function toAnalyticsEngine(binding: string): MetricSink {
  return ({ name, value, attributes }, env) => {
    const dataset = (env as Record<string, AnalyticsEngineDataset | undefined> | undefined)?.[binding];
    if (typeof dataset?.writeDataPoint !== "function") {
      const text = `telemetry(): the binding "${binding}" is missing. In wrangler.toml write: [[analytics_engine_datasets]] binding = "${binding}"`;
      throw new KitError("binding-missing", text);
    }
    const blobs = BLOBS.map((attribute) => String(attributes[attribute] ?? ""));
    // An index may have at most 96 bytes.
    const index = (blobs[1] || blobs[0] || name).slice(0, 32);
    dataset.writeDataPoint({ indexes: [index], blobs: [name, ...blobs], doubles: [value] });
  };
}
