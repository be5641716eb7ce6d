import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `types`. */
export interface TypesOptions extends ConnectionOptions {
  /** The file to write. */
  readonly out?: string;
}
