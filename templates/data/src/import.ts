/** The tools that store a CSV as a table, and a table as a CSV. The first one asks before it replaces an existing table. */
import { type HandlerContext, type McpServer, ToolError } from "mcp-edge";
import { addFiles, type FileStore, file, withFiles } from "mcp-edge/files";
import * as z from "zod";
import { formatCsv, parseCsv } from "./csv.ts";
import { countRows, importTable, listColumns, needTable, readRows, tableName } from "./database.ts";
import type { DataEnv } from "./env.ts";

const CHARACTERS_MAX = 2_000_000;
const EXPORTED_ROWS_MAX = 10_000;

/** A CSV that is too long for an argument: it is uploaded, or dropped on a page. */
const upload = file({
  types: ["text/csv", "text/tab-separated-values", "text/plain"],
  bytesMax: CHARACTERS_MAX,
  description: "A CSV that is too long for `csv`",
  optional: true,
});

/** Adds the tools. Returns the files of the server, which index.ts and stdio.ts store. */
export function addImport(server: McpServer<DataEnv>): FileStore {
  const store = addFiles(server);
  server.tool(
    "import_csv",
    {
      title: "Import CSV",
      description:
        "Store a CSV as a table. Pass its text as `csv`, or a large one as `upload`. If the server runs on your machine, pass its path as `filepath`.",
      input: withFiles(
        z.object({
          table: tableName,
          csv: z.string().max(CHARACTERS_MAX).optional(),
          filepath: z.string().max(1_000).optional(),
        }),
        { upload },
      ),
      output: z.object({ table: z.string(), rows: z.number(), columns: z.array(z.string()) }),
      annotations: { destructiveHint: true, openWorldHint: false },
    },
    async ({ table, csv, filepath, upload }, ctx) => {
      const uploaded = upload && (await (await store.open(upload, ctx)).text());
      const parsed = parseCsv(uploaded ?? csv ?? (await readFile(ctx.env, filepath)));
      // A step, so that the result stays the same if the handler runs again after the question.
      const existing = await ctx.step("look", () => rowsIn(ctx.env, table));
      if (existing !== undefined) await confirm(`Replace the table "${table}" with its ${existing} rows?`, ctx);
      await ctx.step("import", () => importTable(ctx.env.DB, table, parsed));
      server.resourcesChanged();
      server.resourceUpdated(`data://tables/${table}`);
      return { table, rows: parsed.rows.length, columns: [...parsed.columns] };
    },
  );

  server.tool(
    "export_csv",
    {
      title: "Export CSV",
      description: `Return a link to a table as a CSV file, with at most ${EXPORTED_ROWS_MAX} rows.`,
      input: z.object({ table: tableName }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    async ({ table }, ctx) => {
      const columns = (await needTable(ctx.env.DB, table)).map(({ name }) => name);
      const rows = await readRows(ctx.env.DB, table, 0, EXPORTED_ROWS_MAX);
      const body = formatCsv([columns, ...rows.map((row) => columns.map((name) => row[name]))]);
      return store.create({ name: `${table}.csv`, type: "text/csv", body, description: `The table ${table}.` }, ctx);
    },
  );
  return store;
}

/** Reads a file in the data folder, if the server runs on a desktop. */
export async function readFile({ readFile: read }: DataEnv, filepath: string | undefined): Promise<string> {
  if (filepath === undefined) throw new ToolError("Pass the CSV as `csv`, or the path of a file as `filepath`.");
  if (!read)
    throw new ToolError("This server runs in a Worker and cannot read files. Pass the text of the CSV as `csv`.");
  const text = await read(filepath);
  if (text === undefined) throw new ToolError(`There is no file ${filepath} in the folder of this server.`);
  if (text.length > CHARACTERS_MAX) throw new ToolError(`The file has more than ${CHARACTERS_MAX} characters.`);
  return text;
}

async function rowsIn({ DB }: DataEnv, table: string): Promise<number | undefined> {
  return (await listColumns(DB, table)).length > 0 ? countRows(DB, table) : undefined;
}

async function confirm(question: string, ctx: HandlerContext<DataEnv>): Promise<void> {
  if (!ctx.client.can("elicitation")) throw new ToolError("A table with this name exists. Choose another name.");
  const answer = await ctx.elicit(question, z.object({ replace: z.boolean().meta({ title: "Replace it" }) }));
  if (answer.action !== "accept" || !answer.content.replace) throw new ToolError("The user kept the existing table.");
}
