/** The options of `new`. */
export interface NewOptions {
  /** The name of the template. */
  readonly template?: string;
  /** The name of the project. */
  readonly name?: string;
  /** The source of mcp-edge: a version, or the path of a file created by `npm pack`. */
  readonly package?: string;
  readonly install: boolean;
  readonly git: boolean;
}
