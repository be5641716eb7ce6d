import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `check`. */
export interface CheckOptions extends ConnectionOptions {
  /** Whether to run the official suite. */
  readonly suite: boolean;
  /** Whether npm may fetch the official suite without asking. */
  readonly fetch?: boolean;
}
