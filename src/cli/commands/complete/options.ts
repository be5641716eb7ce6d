import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `complete`. */
export interface CompleteCommandOptions extends ConnectionOptions {
  /** Arguments that were chosen before, each as `name=value`. */
  readonly context?: readonly string[];
}
