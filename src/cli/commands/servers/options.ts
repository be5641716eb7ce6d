/** The options of `servers`. */
export interface ServersOptions {
  readonly json?: boolean;
  /** How long one server may take, in milliseconds. */
  readonly timeout?: number;
  /** Whether the servers are tried. */
  readonly try: boolean;
  /** Whether servers of the project's files are tried without asking. */
  readonly yes?: boolean;
}
