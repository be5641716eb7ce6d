import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `call`. */
export interface CallCommandOptions extends ConnectionOptions {
  readonly jsonArgs?: string;
  /** Whether to run the call in the background and print only the id of its task. */
  readonly task?: boolean;
  readonly help?: boolean;
}
