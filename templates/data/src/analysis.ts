/** The read-only tools: queries, pages of rows, statistics and charts. */
import { type McpServer, ToolError } from "mcp-edge";
import { imageContent, readSql } from "mcp-edge/safe";
import * as z from "zod";
import { drawChart } from "./chart.ts";
import { parseCsv } from "./csv.ts";
import { needTable, readRows, tableName } from "./database.ts";
import type { DataEnv } from "./env.ts";
import { readFile } from "./import.ts";
import { computeStats, OPERATIONS, summarize } from "./stats.ts";

const PAGE_ROWS = 100;
const CHART_POINTS_MAX = 100;

const annotations = { readOnlyHint: true, openWorldHint: false };
const parameters = z
  .array(z.union([z.string(), z.number(), z.null()]))
  .max(100)
  .default([])
  .describe("The values for the question marks of the query");
const query = z.string().max(10_000).describe("A single SELECT in SQLite's SQL, with a question mark for each value");
const rows = z.array(z.record(z.string(), z.unknown()));

export function addAnalysis(server: McpServer<DataEnv>): void {
  server.tool(
    "query",
    {
      title: "Query",
      description: `Run a SELECT statement. It returns at most ${PAGE_ROWS} rows; for more, use LIMIT and OFFSET.`,
      input: z.object({ sql: query, parameters }),
      output: z.object({ rows, isTruncated: z.boolean() }),
      annotations,
    },
    async (args, ctx) => runQuery(ctx.env, args.sql, args.parameters, PAGE_ROWS),
  );

  server.tool(
    "read_rows",
    {
      title: "Read rows",
      description: `Read a table in pages of ${PAGE_ROWS} rows. To get the next page, pass \`next\` of a page as \`after\`.`,
      input: z.object({ table: tableName, after: z.number().int().min(0).default(0) }),
      output: z.object({ rows, next: z.number().optional() }),
      annotations,
    },
    async ({ table, after }, ctx) => {
      await needTable(ctx.env.DB, table);
      // One additional row shows whether there is another page.
      const found = await readRows(ctx.env.DB, table, after, PAGE_ROWS + 1);
      const page = found.slice(0, PAGE_ROWS);
      return found.length > PAGE_ROWS ? { rows: page, next: Number(page.at(-1)?._row) } : { rows: page };
    },
  );

  server.tool(
    "calculate_stats",
    {
      title: "Calculate statistics",
      description: "Calculate the count, sum, mean, median, minimum, maximum and standard deviation of numbers",
      input: z.object({ numbers: z.array(z.number()).min(1).max(100_000) }),
      output: z.object({
        count: z.number(),
        sum: z.number(),
        mean: z.number(),
        median: z.number(),
        min: z.number(),
        max: z.number(),
        deviation: z.number(),
      }),
      annotations,
    },
    ({ numbers }) => computeStats(numbers),
  );

  server.tool(
    "analyze_csv",
    {
      title: "Analyze CSV",
      description:
        "Calculate statistics of each column. `filepath` is the name of an imported table or, if the server runs on your machine, the path of a CSV file.",
      input: z.object({
        filepath: z.string().min(1).max(1_000),
        operations: z
          .array(z.enum(OPERATIONS))
          .min(1)
          .default([...OPERATIONS]),
      }),
      output: z.object({
        rows: z.number(),
        columns: z.record(z.string(), z.partialRecord(z.enum(OPERATIONS), z.number())),
      }),
      annotations,
    },
    async ({ filepath, operations }, ctx) => {
      const columns = await valuesByColumn(ctx.env, filepath);
      const summaries = columns.map(([name, values]) => [name, summarize(values, operations)] as const);
      return { rows: columns[0]?.[1].length ?? 0, columns: Object.fromEntries(summaries) };
    },
  );

  server.tool(
    "chart",
    {
      title: "Draw a chart",
      description: `Draw the result of a SELECT statement as an image. The first column contains the labels, the second the numbers; at most ${CHART_POINTS_MAX} rows.`,
      input: z.object({
        title: z.string().max(60),
        sql: query,
        parameters,
        kind: z.enum(["bar", "line"]).default("bar"),
      }),
      annotations,
    },
    async ({ title, sql, parameters, kind }, ctx) => {
      const { rows } = await runQuery(ctx.env, sql, parameters, CHART_POINTS_MAX);
      const points = rows.map((row) => {
        const [label, value] = Object.values(row);
        if (typeof value !== "number") throw new ToolError("The second column of the query must contain only numbers.");
        return { label: String(label ?? ""), value };
      });
      if (points.length === 0) throw new ToolError("The query found no rows to draw.");
      // The text is for clients that do not show images.
      const text = points.map(({ label, value }) => `${label}: ${value}`).join("\n");
      return [imageContent(await drawChart(title, kind, points)), { type: "text", text }];
    },
  );
}

/** Runs a query written by a model. readSql refuses everything but a single SELECT statement. */
async function runQuery({ DB }: DataEnv, text: string, values: (string | number | null)[], rowsMax: number) {
  try {
    return await readSql(DB, text, { parameters: values, rowsMax });
  } catch (error) {
    if (error instanceof ToolError) throw error;
    // The query has a mistake, such as an unknown column. The model needs the database's message to correct it.
    throw new ToolError(`The database did not accept the query: ${error instanceof Error ? error.message : error}`);
  }
}

async function valuesByColumn(env: DataEnv, filepath: string): Promise<[string, unknown[]][]> {
  if (env.readFile && !tableName.safeParse(filepath).success) {
    const { columns, rows } = parseCsv(await readFile(env, filepath));
    return columns.map((name, at) => [name, rows.map((row) => row[at])]);
  }
  const columns = await needTable(env.DB, filepath);
  // The size of imports is limited, so a table fits into memory.
  const rows = await readRows(env.DB, filepath, 0, Number.MAX_SAFE_INTEGER);
  return columns.map(({ name }) => [name, rows.map((row) => row[name])]);
}
