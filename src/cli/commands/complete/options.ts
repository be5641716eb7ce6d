import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `complete`. */
export interface CompleteCommandOptions extends ConnectionOptions {
  /** The values of other arguments, each as `name=value`. */
  readonly context?: readonly string[];
}
