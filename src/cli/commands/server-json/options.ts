import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `server-json`. */
export interface ServerJsonOptions extends ConnectionOptions {
  /** The name in the registry. */
  readonly name?: string;
  /** The public URL. */
  readonly url?: string;
  /** The file to write or to check. */
  readonly out: string;
  /** Whether to compare the file with the server instead of writing it. */
  readonly check?: boolean;
  readonly print?: boolean;
}
