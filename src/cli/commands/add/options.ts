/** The options of `add`. */
export interface AddOptions {
  /** The issuer of the access tokens, for the parts auth and recorder. */
  readonly issuer?: string;
  /** Whether files of more than 1 MB are stored in an R2 bucket, for the part files. */
  readonly bucket?: boolean;
  /** Whether to only show the changes. */
  readonly print?: boolean;
  readonly yes?: boolean;
}

/** The names of the parts. */
export const PARTS = ["auth", "tasks", "d1", "app", "files", "test", "recorder"] as const;

/** The part that is generated from an OpenAPI description. */
export const OPENAPI = "openapi";
