/**
 * mcp-edge/worker: an MCP server as a Cloudflare Worker.
 *
 * @module
 */

export type { AuthHook, AuthResult } from "../http/endpoint-types.ts";
export type { OriginRules } from "../http/origin.ts";
export type { ResponseTimes } from "../http/response-times.ts";
export type { EdgeApp } from "./edge.ts";
export { edge } from "./edge.ts";
export type { EdgeOptions } from "./edge-options.ts";
export type { NoticesPart, PagePart, SessionsPart } from "./parts.ts";
export type { EdgeRuntime } from "./runtime.ts";
