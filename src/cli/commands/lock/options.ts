import type { ConnectionOptions } from "../../server/options.ts";

/** The default name of a lock file. */
export const LOCK_FILE = "mcp.lock.json";

/** The options of `lock`. */
export interface LockCommandOptions extends ConnectionOptions {
  /** The lock file. */
  readonly out: string;
  /** Whether to replace a lock file that differs from the server. */
  readonly update?: boolean;
}
