/** The options of `connect`. */
export interface ConnectOptions {
  /** The name of the server in the host. */
  readonly name?: string;
  /** Whether to change the host's file in this project. */
  readonly project?: boolean;
  /** Whether to only print the entry. */
  readonly print?: boolean;
  readonly yes?: boolean;
}
