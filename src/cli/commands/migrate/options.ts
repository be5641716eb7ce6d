/** The options of `migrate`. */
export interface MigrateOptions {
  readonly write?: boolean;
  readonly force?: boolean;
  /** Whether the difference is shown. */
  readonly diff: boolean;
  /** Whether the package is fetched without asking. */
  readonly yes?: boolean;
}
