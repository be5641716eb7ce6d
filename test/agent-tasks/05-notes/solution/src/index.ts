import { DurableObject } from "cloudflare:workers";
import { McpServer, type Principal, ToolError } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import { bearer } from "mcp-edge/worker/auth";
import { durable } from "mcp-edge/worker/durable";
import * as z from "zod";

interface Env {
  readonly NOTES: DurableObjectNamespace<Notes>;
}

/** The notes of one user. */
export class Notes extends DurableObject {
  constructor(state: DurableObjectState, env: unknown) {
    super(state, env as never);
    state.storage.sql.exec("CREATE TABLE IF NOT EXISTS note (id TEXT PRIMARY KEY, text TEXT NOT NULL)");
  }

  add(text: string): string {
    const id = crypto.randomUUID();
    this.ctx.storage.sql.exec("INSERT INTO note VALUES (?, ?)", id, text);
    return id;
  }

  list(): { id: string; text: string }[] {
    return [...this.ctx.storage.sql.exec<{ id: string; text: string }>("SELECT id, text FROM note ORDER BY rowid")];
  }

  delete(id: string): boolean {
    return this.ctx.storage.sql.exec("DELETE FROM note WHERE id = ?", id).rowsWritten > 0;
  }
}

const server = new McpServer<Env>({ name: "notes", version: "1.0.0" });
const notesOf = ({ env, auth }: { readonly env: Env; readonly auth: Principal | undefined }) => {
  if (auth === undefined) throw new Error("The endpoint does not authenticate.");
  return env.NOTES.getByName(JSON.stringify([auth.issuer, auth.subject]));
};
server.tool(
  "add_note",
  {
    description: "Adds a note",
    input: z.object({ text: z.string().max(1_000) }),
    output: z.object({ id: z.string() }),
  },
  async ({ text }, ctx) => ({ id: await notesOf(ctx).add(text) }),
);
server.tool(
  "list_notes",
  {
    description: "Lists your notes",
    annotations: { readOnlyHint: true },
    output: z.object({ notes: z.array(z.object({ id: z.string(), text: z.string() })) }),
  },
  async (_, ctx) => ({ notes: (await notesOf(ctx).list()).map(({ id, text }) => ({ id, text })) }),
);
server.tool(
  "delete_note",
  { description: "Deletes a note", input: z.object({ id: z.string() }), output: z.object({ deleted: z.boolean() }) },
  async ({ id }, ctx) => {
    if (!(await notesOf(ctx).delete(id))) throw new ToolError("There is no such note. list_notes lists the notes.");
    return { deleted: true };
  },
);

const app = edge(server, { use: [durable(), bearer({ issuer: "https://login.example.com" })] });
export default app;
export class McpObject extends app.McpObject {}
