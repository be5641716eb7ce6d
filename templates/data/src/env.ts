import type { Database } from "./database.ts";

/** The bindings that the server uses. Over stdio, stdio.ts provides them. */
export interface DataEnv {
  readonly DB: Database;
  /** Reads a file in the data folder; returns undefined if it does not exist. Not available in the Worker. */
  readonly readFile?: (path: string) => Promise<string | undefined>;
}
