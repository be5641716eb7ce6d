import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as metrics from "../../src/telemetry/metrics.ts";

const DASHBOARD = join(import.meta.dirname, "../../docs/dashboards/grafana-mcp.json");

/** Returns the series of a metric in Prometheus, by the rules for metrics that arrive over OTLP. */
function toSeries({ name, kind, unit }: metrics.Metric): string[] {
  const base = name.replaceAll(".", "_");
  if (kind === "counter") return [`${base}_total`];
  const own = unit === "s" ? `${base}_seconds` : base;
  return [`${own}_bucket`, `${own}_count`, `${own}_sum`];
}

/** The attributes of the metrics, with Prometheus' names. */
const LABELS = [
  "error_type",
  "gen_ai_operation_name",
  "gen_ai_tool_name",
  "job",
  "le",
  "mcp_edge_reason",
  "mcp_method_name",
  "mcp_protocol_version",
];

test("the Grafana dashboard uses metrics and attributes that exist, and every metric", () => {
  const all = [
    metrics.SERVER_OPERATION,
    metrics.TASK,
    metrics.REFUSALS,
    metrics.CLIENT_OPERATION,
    metrics.CLIENT_SESSION,
  ];
  const { panels } = JSON.parse(readFileSync(DASHBOARD, "utf8")) as {
    readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
  };
  const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const used = new Set(expressions.flatMap((expr) => expr.match(/\bmcp_\w+(?=\{)/g) ?? []));
  expect([...used].filter((series) => !all.flatMap(toSeries).includes(series))).toEqual([]);
  expect(all.filter((metric) => !toSeries(metric).some((series) => used.has(series)))).toEqual([]);
  const labels = expressions.flatMap((expr) => [
    ...[...expr.matchAll(/(\w+)(?:=~|!=|=)"/g)].map(([, label = ""]) => label),
    ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(", ")),
  ]);
  expect([...new Set(labels)].toSorted()).toEqual(LABELS);
});
