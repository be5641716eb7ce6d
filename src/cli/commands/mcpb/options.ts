/** The options of `mcpb`. */
export interface McpbOptions {
  /** The module that serves the project over stdio. */
  readonly entry: string;
  /** The file to write. */
  readonly out?: string;
}
