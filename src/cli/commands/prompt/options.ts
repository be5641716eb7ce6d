import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `prompt`. */
export interface PromptCommandOptions extends ConnectionOptions {
  readonly jsonArgs?: string;
  readonly help?: boolean;
}
