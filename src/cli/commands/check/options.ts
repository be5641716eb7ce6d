import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `check`. */
export interface CheckOptions extends ConnectionOptions {
  /** Whether the official suite runs. */
  readonly suite: boolean;
  /** Whether npm may fetch the official suite without asking. */
  readonly fetch?: boolean;
}
