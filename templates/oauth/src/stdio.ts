/** The notebook over standard input and output, for one user. The notes are stored in a SQLite file. */
import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { serveStdio } from "mcp-edge/node";
import type { NotebookEnv } from "./env.ts";
import { server } from "./notebook.ts";
import { Notes } from "./notes.ts";

const {
  NOTES_FOLDER = join(homedir(), "mcp-notes"),
  GITHUB_URL = "https://github.com",
  GITHUB_TOKEN: githubToken,
} = process.env;
mkdirSync(NOTES_FOLDER, { recursive: true });
const database = new DatabaseSync(join(NOTES_FOLDER, "notes.sqlite"));
const notes = new Notes((statement, ...values) => database.prepare(statement).all(...values));

const env: NotebookEnv = {
  NOTES: {
    getByName: () => ({
      add: async (text) => notes.add(text),
      search: async (text) => notes.search(text),
      find: async (id) => notes.find(id),
      remove: async (id) => notes.remove(id),
    }),
  },
  GITHUB_URL,
  localUser: { name: "local", githubToken },
};

await serveStdio(server, { env });
