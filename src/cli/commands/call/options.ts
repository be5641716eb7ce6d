import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `call`. */
export interface CallCommandOptions extends ConnectionOptions {
  readonly jsonArgs?: string;
  /** Whether the call runs in the background, and only its id is printed. */
  readonly task?: boolean;
  readonly help?: boolean;
}
