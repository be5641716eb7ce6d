/** The options of `servers`. */
export interface ServersOptions {
  readonly json?: boolean;
  /** The time limit for each server, in milliseconds. */
  readonly timeout?: number;
  /** Whether to connect to the servers. */
  readonly try: boolean;
  /** Whether to try servers from the project's files without asking. */
  readonly yes?: boolean;
}
