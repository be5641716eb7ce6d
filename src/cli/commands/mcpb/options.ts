/** The options of `mcpb`. */
export interface McpbOptions {
  /** The stdio entry. */
  readonly entry: string;
  /** The file to write. */
  readonly out?: string;
}
