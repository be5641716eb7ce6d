/** The data server over standard input and output, with a SQLite file instead of D1, and CSV files in one folder. */
import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { openFolders, readFileWithin, serveStdio } from "mcp-edge/node";
import { addCommands } from "./commands.ts";
import { server, store } from "./data.ts";
import type { DataEnv } from "./env.ts";
import { openDatabase } from "./sqlite-file.ts";

/** The only folder whose files can be read, whatever path a model requests. It also contains the database. */
const { DATA_FOLDER = join(homedir(), "mcp-data") } = process.env;
mkdirSync(DATA_FOLDER, { recursive: true });

const env: DataEnv = {
  DB: openDatabase(join(DATA_FOLDER, "data.sqlite")),
  readFile: async (path) => {
    const bytes = await readFileWithin(DATA_FOLDER, path);
    return bytes && new TextDecoder().decode(bytes);
  },
};

addCommands(server, DATA_FOLDER);
openFolders(store, { read: [DATA_FOLDER], write: DATA_FOLDER });

await serveStdio(server, { env });
