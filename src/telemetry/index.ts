/**
 * mcp-edge/telemetry: spans and metrics of servers and clients, by the semantic conventions of OpenTelemetry for MCP.
 *
 * @example
 * ```ts
 * import { tracing } from "cloudflare:workers";
 * import { telemetry } from "mcp-edge/telemetry";
 * import { edge } from "mcp-edge/worker";
 *
 * export default edge(server, { use: [telemetry({ tracing })] });
 * ```
 *
 * @module
 */

export type { ClientTelemetryOptions } from "./client.ts";
export { clientTelemetry } from "./client.ts";
export type { Measurement, Metric, MetricSink } from "./metrics.ts";
export type {
  OpenTelemetry,
  OpenTelemetryMeter,
  OpenTelemetrySpan,
  OpenTelemetrySpanContext,
  OpenTelemetryTracer,
} from "./open-telemetry.ts";
export type { RecordingOptions } from "./recording.ts";
export type { TelemetryOptions, TelemetryPlugin } from "./server.ts";
export { telemetry } from "./server.ts";
export type { Attributes, AttributeValue } from "./spans.ts";
export type { WorkersSpan, WorkersTracing } from "./workers-tracing.ts";
