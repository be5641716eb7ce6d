/** The plotter over standard input and output, for clients that start it as a process. */
import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { openFolders, serveStdio } from "mcp-edge/node";
import { server, store } from "./plotter.ts";

/** The folder into which plots are saved. */
const { PLOTS_FOLDER = join(homedir(), "plots") } = process.env;
mkdirSync(PLOTS_FOLDER, { recursive: true });
openFolders(store, { write: PLOTS_FOLDER, roots: false });

await serveStdio(server);
