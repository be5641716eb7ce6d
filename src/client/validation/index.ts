/**
 * mcp-edge/client/validation: validates the structured results of tool calls.
 *
 * @example
 * ```ts
 * import { connect } from "mcp-edge/client";
 * import { validation } from "mcp-edge/client/validation";
 *
 * const client = await connect("https://example.com/mcp", { name: "my-app", version: "1.0.0", use: [validation()] });
 * const { structuredContent } = await client.callTool("weather", { city: "Berlin" });
 * ```
 *
 * @module
 */

export type { OutputIssue } from "./output-schema.ts";
export type { ValidationOptions } from "./validation.ts";
export { OutputError, validation } from "./validation.ts";
