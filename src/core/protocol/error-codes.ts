/**
 * The error codes that the kit sends. Other modules import them as the namespace `ErrorCode`, because a bundle contains the number of
 * such a constant and not its name.
 *
 * @module
 * @see MCP 2026-07-28, basic, "Error Codes"
 */

/** The message is not JSON. */
export const ParseError = -32700;
/** The message is not a valid request, or is not allowed now. */
export const InvalidRequest = -32600;
/** The method does not exist, or is not available to this client. */
export const MethodNotFound = -32601;
/** The parameters do not fit the method. */
export const InvalidParams = -32602;
/** The server failed. */
export const InternalError = -32603;
/** 2025-11-25 only. */
export const UrlElicitationRequired = -32042;
/** Modern only. */
export const HeaderMismatch = -32020;
/** Modern only. */
export const MissingRequiredClientCapability = -32021;
/** Modern only. */
export const UnsupportedProtocolVersion = -32022;
