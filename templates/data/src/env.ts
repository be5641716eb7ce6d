import type { Database } from "./database.ts";

/** The bindings that the server uses. On stdio, stdio.ts provides them. */
export interface DataEnv {
  readonly DB: Database;
  /** Reads a file of the folder that the server may read; undefined if there is none. Absent at the edge. */
  readonly readFile?: (path: string) => Promise<string | undefined>;
}
