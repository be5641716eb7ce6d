/** Notes in a D1 database. */
import { type McpServer, ToolError } from "mcp-edge";
import { runSql, sql } from "mcp-edge/safe";
import * as z from "zod";

export function addNotes<E extends { readonly DB: D1Database }>(server: McpServer<E>): void {
  server.tool(
    "add_note",
    {
      description: "Keeps a note",
      input: z.object({ text: z.string().min(1).max(10_000) }),
      annotations: { destructiveHint: false },
    },
    async ({ text }, ctx) => {
      await createTable(ctx.env.DB);
      await runSql(ctx.env.DB, sql`INSERT INTO notes (text, created_at) VALUES (${text}, ${new Date().toISOString()})`);
      return "The note is kept.";
    },
  );

  server.tool(
    "find_notes",
    {
      description: "Finds the newest notes that contain a text",
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

/** The table is small, so it is created when it is first needed. Use migrations for more: wrangler d1 migrations create. */
function createTable(db: D1Database | undefined): Promise<unknown> {
  if (db === undefined)
    throw new ToolError("The notes are in the database of the Worker, which this process does not have.");
  return runSql(
    db,
    sql`CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, created_at TEXT NOT NULL)`,
  );
}
