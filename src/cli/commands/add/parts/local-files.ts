/** Files of the server over stdio, where the argument of a tool is the path of a file. */
import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { FileStore } from "mcp-edge/files";
import { openFolders } from "mcp-edge/node";

/** Lets tools read the files in one folder and in the folders that the client's user has opened, and write into the first. */
export function openLocalFiles(store: FileStore): void {
  const { FILES_FOLDER = join(homedir(), "mcp-files") } = process.env;
  mkdirSync(FILES_FOLDER, { recursive: true });
  openFolders(store, { read: [FILES_FOLDER], write: FILES_FOLDER });
}
