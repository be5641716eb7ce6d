/** Notes in a D1 database. */
import { type McpServer, ToolError } from "mcp-edge";
import { runSql, sql } from "mcp-edge/safe";
import * as z from "zod";

export function addNotes<E extends { readonly DB: D1Database }>(server: McpServer<E>): void {
  server.tool(
    "add_note",
    {
      description: "Adds a note",
      input: z.object({ text: z.string().min(1).max(10_000) }),
      annotations: { destructiveHint: false },
    },
    async ({ text }, ctx) => {
      await createTable(ctx.env.DB);
      await runSql(ctx.env.DB, sql`INSERT INTO notes (text, created_at) VALUES (${text}, ${new Date().toISOString()})`);
      return "The note was added.";
    },
  );

  server.tool(
    "find_notes",
    {
      description: "Finds the newest notes that contain a string",
      input: z.object({ containing: z.string().default("") }),
      annotations: { readOnlyHint: true },
    },
    async ({ containing }, ctx) => {
      await createTable(ctx.env.DB);
      const notes = await runSql<{ text: string; created_at: string }>(
        ctx.env.DB,
        sql`SELECT text, created_at FROM notes WHERE instr(text, ${containing}) > 0 ORDER BY id DESC LIMIT 50`,
      );
      if (notes.length === 0) return "There are no such notes.";
      return notes.map((note) => `${note.created_at}: ${note.text}`).join("\n");
    },
  );
}

/** Creates the table when it is first needed. For a larger schema, use migrations: wrangler d1 migrations create. */
function createTable(db: D1Database | undefined): Promise<unknown> {
  if (db === undefined)
    throw new ToolError("Notes are stored in the Worker's database, which is not available in this process.");
  return runSql(
    db,
    sql`CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, created_at TEXT NOT NULL)`,
  );
}
