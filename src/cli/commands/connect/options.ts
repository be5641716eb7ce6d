/** The options of `connect`. */
export interface ConnectOptions {
  /** The name that the server gets in the host. */
  readonly name?: string;
  /** Whether the file of this project is used, for hosts that have one. */
  readonly project?: boolean;
  /** Whether the entry is only printed. */
  readonly print?: boolean;
  readonly yes?: boolean;
}
