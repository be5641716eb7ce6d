/** A folder or file that the client says the server may work with. @see MCP 2026-07-28, client/roots */
export interface Root {
  /** The location, as a `file://` URI. It guides the server, but protects nothing. */
  readonly uri: string;
  /** The human-readable name of the root. */
  readonly name?: string;
}
