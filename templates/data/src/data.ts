/** The data server. index.ts serves it as a Worker with D1, stdio.ts over standard input and output with a SQLite file. */
import { type HandlerContext, McpServer } from "mcp-edge";
import { cleanText, mapText, markAsData, truncateResults } from "mcp-edge/safe";
import * as z from "zod";
import { addAnalysis } from "./analysis.ts";
import { countRows, listColumns, listTables, readRows, tableName } from "./database.ts";
import type { DataEnv } from "./env.ts";
import { addImport } from "./import.ts";

const RESULT_CHARACTERS_MAX = 200_000;

export const server = new McpServer<DataEnv>({
  name: "data",
  title: "Data",
  version: "1.0.0",
  instructions: "Imports CSV files as tables, and queries, analyzes and draws them. The resources describe the tables.",
  // Longer lists are divided into pages.
  pageSize: 50,
  // The cells of a table are untrusted text. Invisible characters, with which instructions could be hidden, are removed from
  // every result, and large results are truncated, so that they cannot fill the context of a model.
  around: [
    truncateResults({ charsMax: RESULT_CHARACTERS_MAX }),
    async (_request, next) => mapText(await next(), (text) => cleanText(text)),
  ],
});

/** The files that the tools take and return. */
export const store = addImport(server);
addAnalysis(server);

const toUri = (table: string) => `data://tables/${table}`;

/** Lists each table as a resource. The list is read for every request, so it includes tables that other Workers have imported. */
server.resourceProvider({
  list: async (ctx) =>
    (await listTables(ctx.env.DB)).map((table) => ({ uri: toUri(table), name: table, mimeType: "application/json" })),
  read: () => undefined,
});

server.resourceTemplate(
  "data://tables/{table}",
  {
    name: "table",
    title: "A table",
    description: "The columns of a table, its number of rows, and the first rows",
    mimeType: "application/json",
    complete: { table: (typed, _chosen, ctx) => tablesLike(typed, ctx) },
  },
  async (_, { table }, ctx) => {
    const description = await describeTable(String(table), ctx);
    // Undefined means that there is no such resource.
    return description && JSON.stringify(description, null, 2);
  },
);

server.prompt(
  "explore",
  {
    title: "Explore a table",
    description: "Look for anything remarkable in a table or in one of its columns",
    arguments: z.object({ table: z.string(), column: z.string().optional() }),
    complete: {
      table: (typed, _chosen, ctx) => tablesLike(typed, ctx),
      // The suggestions depend on the chosen table.
      column: async (typed, { table = "" }, ctx) =>
        (await listColumns(ctx.env.DB, table)).map(({ name }) => name).filter((name) => startsWith(name, typed)),
    },
  },
  ({ table, column }, ctx) => explore(table, column, ctx),
);

server.prompt(
  "compare",
  {
    title: "Compare two tables",
    description: "Look for anything remarkable in two tables, and compare them",
    arguments: z.object({ first: z.string(), second: z.string() }),
    complete: {
      first: (typed, _chosen, ctx) => tablesLike(typed, ctx),
      second: (typed, { first }, ctx) => tablesLike(typed, ctx).then((found) => found.filter((name) => name !== first)),
    },
  },
  // This prompt is composed of two others.
  async ({ first, second }, ctx) => [
    ...(await explore(first, undefined, ctx)),
    ...(await explore(second, undefined, ctx)),
    userMessage(
      `Then compare ${first} with ${second}: what do they have in common, and what explains the differences?`,
    ),
  ],
);

/** The messages of the prompt `explore`. */
async function explore(table: string, column: string | undefined, ctx: HandlerContext<DataEnv>) {
  const description = await describeTable(table, ctx);
  const what = column ? `the column ${column} of the table ${table}` : `the table ${table}`;
  const request = userMessage(`Find out what is remarkable in ${what}. Use analyze_csv, query and chart.`);
  if (!description) return [request];
  // The cells of the table are untrusted, so instructions in them must not look like instructions of the user.
  return [request, userMessage(markAsData(JSON.stringify(description, null, 2), { source: `the table ${table}` }))];
}

function userMessage(text: string) {
  return { role: "user" as const, content: { type: "text" as const, text } };
}

async function tablesLike(typed: string, ctx: HandlerContext<DataEnv>): Promise<string[]> {
  return (await listTables(ctx.env.DB)).filter((table) => startsWith(table, typed));
}

const startsWith = (name: string, typed: string) => name.toLowerCase().startsWith(typed.toLowerCase());

async function describeTable(table: string, { env }: HandlerContext<DataEnv>) {
  if (!tableName.safeParse(table).success) return undefined;
  const columns = await listColumns(env.DB, table);
  if (columns.length === 0) return undefined;
  return { table, columns, rows: await countRows(env.DB, table), first: await readRows(env.DB, table, 0, 5) };
}
