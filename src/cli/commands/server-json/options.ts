import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `server-json`. */
export interface ServerJsonOptions extends ConnectionOptions {
  /** The name in the registry. */
  readonly name?: string;
  /** The public address. */
  readonly url?: string;
  /** The file to write or to check. */
  readonly out: string;
  /** Whether the file is compared with the server instead of being written. */
  readonly check?: boolean;
  readonly print?: boolean;
}
