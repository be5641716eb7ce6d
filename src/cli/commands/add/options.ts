/** The options of `add`. */
export interface AddOptions {
  /** The issuer of access tokens, for the part auth. */
  readonly issuer?: string;
  /** Whether the changes are only shown. */
  readonly print?: boolean;
  readonly yes?: boolean;
}

/** The names of the parts. */
export const PARTS = ["auth", "tasks", "d1", "app", "test"] as const;
