import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `listen`. */
export interface ListenOptions extends ConnectionOptions {
  /** The lowest level of log messages. */
  readonly level?: string;
  /** How many notifications end the command. */
  readonly count?: number;
}
