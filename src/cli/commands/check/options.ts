import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `check`. */
export interface CheckOptions extends ConnectionOptions {
  /** Whether to run the official suite. */
  readonly suite: boolean;
  /** Whether npm may fetch the official suite without asking. */
  readonly fetch?: boolean;
  /** The lock file to compare the server with; true for the one with the usual name. */
  readonly lock?: string | true;
  /** With `lock`: whether every change fails the command. */
  readonly strict?: boolean;
}
