import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `listen`. */
export interface ListenOptions extends ConnectionOptions {
  /** The minimum level of log messages. */
  readonly level?: string;
  /** The number of notifications after which the command exits. */
  readonly count?: number;
}
