/** The options of `new`. */
export interface NewOptions {
  /** The name of the template. */
  readonly template?: string;
  /** The name of the project. */
  readonly name?: string;
  /** Where mcp-edge comes from: a version, or the path of a file made by `npm pack`. */
  readonly package?: string;
  readonly install: boolean;
  readonly git: boolean;
}
