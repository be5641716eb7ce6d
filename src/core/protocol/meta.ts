/**
 * The names of the protocol's own members of `_meta`. Other modules import them as the namespace `META`, because a bundle contains such a
 * constant without its name.
 *
 * @module
 * @see MCP 2026-07-28, basic, "_meta"
 */

/** The version of the protocol that a request uses. */
export const protocolVersion = "io.modelcontextprotocol/protocolVersion";
/** The client's description of itself. */
export const clientInfo = "io.modelcontextprotocol/clientInfo";
/** The capabilities that the client declares for a request. */
export const clientCapabilities = "io.modelcontextprotocol/clientCapabilities";
/** The server's description of itself. */
export const serverInfo = "io.modelcontextprotocol/serverInfo";
/** The least severe log messages that the client wants for a request. */
export const logLevel = "io.modelcontextprotocol/logLevel";
