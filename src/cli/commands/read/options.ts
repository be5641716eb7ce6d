import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `prompt`. */
export interface PromptOptions extends ConnectionOptions {
  readonly jsonArgs?: string;
  readonly help?: boolean;
}

/** The options of `complete`. */
export interface CompleteOptions extends ConnectionOptions {
  /** The other arguments, each as `name=value`. */
  readonly context?: readonly string[];
}
