/** The notebook, with its tools, resource and prompts. app.ts adds user accounts, stdio.ts serves it to a single user. */
import { McpServer, ToolError } from "mcp-edge";
import * as z from "zod";
import { getGithubToken, type NotebookEnv, openNotes } from "./env.ts";
import { createIssue } from "./github.ts";
import { NOTES_MAX } from "./notes.ts";
import { addPrompts } from "./prompts.ts";

export const server = new McpServer<NotebookEnv>({
  name: "oauth",
  title: "Notebook",
  version: "1.0.0",
  instructions: "Stores the user's own notes, and creates GitHub issues on behalf of the user.",
});

addPrompts(server);

const id = z.uuid().describe("The id of a note, from list_notes");
const note = z.object({ id: z.uuid(), text: z.string(), createdAt: z.iso.datetime() });
const noSuchNote = () => new ToolError("This note does not exist. Call list_notes for the ids.");

server.tool(
  "list_notes",
  {
    title: "List notes",
    description: "List the user's newest notes, or those that contain a string",
    input: z.object({ query: z.string().max(200).default("") }),
    output: z.object({ notes: z.array(note) }),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async ({ query }, ctx) => ({ notes: await openNotes(ctx).search(query) }),
);

server.tool(
  "add_note",
  {
    title: "Add a note",
    description: "Add a note to the user's notebook",
    input: z.object({ text: z.string().trim().min(1).max(10_000) }),
    output: note,
    annotations: { destructiveHint: false, openWorldHint: false },
    // If a client sends a request twice, only one note is added.
    once: true,
  },
  async ({ text }, ctx) => {
    const added = await openNotes(ctx).add(text);
    if (!added) throw new ToolError(`The notebook is full: it has ${NOTES_MAX} notes. Delete some first.`);
    return added;
  },
);

server.tool(
  "delete_note",
  {
    title: "Delete a note",
    description: "Delete one of the user's notes",
    input: z.object({ id }),
    annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
  },
  async (args, ctx) => {
    if (!(await openNotes(ctx).remove(args.id))) throw noSuchNote();
    return "Deleted.";
  },
);

server.tool(
  "github_create_issue",
  {
    title: "Create a GitHub issue",
    description:
      "Create an issue in a GitHub repository on behalf of the user. Its text is `body`, or the text of a note.",
    input: z.object({
      repository: z
        .string()
        // The name becomes part of a URL, so it must not be able to lead to another path.
        .regex(/^[A-Za-z\d-]{1,39}\/(?!\.{1,2}$)[\w.-]{1,100}$/, "Write owner/name, such as octocat/hello-world")
        .describe("owner/name"),
      title: z.string().trim().min(1).max(256),
      body: z.string().max(60_000).optional(),
      note: id.optional(),
    }),
    output: z.object({ number: z.number(), url: z.url() }),
    annotations: { destructiveHint: false, openWorldHint: true },
    once: true,
  },
  async ({ repository, title, body, note: noteId }, ctx) => {
    const found = noteId === undefined ? undefined : await openNotes(ctx).find(noteId);
    if (noteId !== undefined && !found) throw noSuchNote();
    const issue = { repository, title, body: body ?? found?.text ?? "" };
    const { number, html_url } = await createIssue(ctx.env.GITHUB_URL, await getGithubToken(ctx), issue, ctx.signal);
    return { number, url: html_url };
  },
);

/** A note as a resource. For another user, the same URI does not exist. */
server.resourceTemplate(
  "note://{id}",
  { name: "note", title: "A note", mimeType: "text/plain" },
  // Undefined means that there is no such resource.
  async (_, variables, ctx) => (await openNotes(ctx).find(String(variables.id)))?.text,
);
