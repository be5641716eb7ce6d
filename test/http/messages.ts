/** Messages as clients of both eras write them, and the HTTP requests that carry them. */

import type { Ask, HeaderValue } from "./wire.ts";

export type Era = "legacy" | "modern";

export const MODERN_VERSION = "2026-07-28";
export const NEWEST_LEGACY = "2025-11-25";
export const LEGACY_VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;

export const PROTOCOL_VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
export const CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities";
export const CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo";

export type Members = Readonly<Record<string, unknown>>;

/** The `_meta` of a modern request; `undefined` in `more` removes a field. */
export function meta(more: Members = {}): Members {
  return {
    [PROTOCOL_VERSION_KEY]: MODERN_VERSION,
    [CLIENT_INFO_KEY]: { name: "ladder", version: "1.0.0" },
    [CAPABILITIES_KEY]: {},
    ...more,
  };
}

export function request(method: string, params?: unknown, id: unknown = 7): Members {
  return { jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) };
}

export function notification(method: string, params?: unknown): Members {
  return { jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) };
}

/** A request in the form of the given era. */
export function requestOf(era: Era, method: string, params: Members = {}, id: unknown = 7): Members {
  return request(method, era === "modern" ? { _meta: meta(), ...params } : params, id);
}

export function initialize(
  protocolVersion: string = NEWEST_LEGACY,
  id: unknown = 1,
  capabilities: Members = {},
): Members {
  const clientInfo = { name: "ladder", version: "1.0.0" };
  return request("initialize", { protocolVersion, capabilities, clientInfo }, id);
}

export type Headers = Readonly<Record<string, HeaderValue | undefined>>;

/** Headers that every client sends with a POST. */
export const CONTENT: Headers = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

export const LEGACY_HEADERS: Headers = {
  ...CONTENT,
  "mcp-session-id": "<session>",
  "mcp-protocol-version": NEWEST_LEGACY,
};

interface Changes extends Partial<Omit<Ask, "headers" | "body">> {
  /** Added to the defaults of the era; `undefined` removes a header. */
  readonly headers?: Headers;
  /** The body to send. With it, `message` only determines the standard headers. */
  readonly body?: string | Uint8Array;
  readonly message?: unknown;
}

/** A POST of the given era. Legacy: in an open session. Modern: with the headers that the message requires. */
export function post(era: Era, changes: Changes = {}): Ask {
  const { headers, body, message = requestOf(era, "tools/list"), ...rest } = changes;
  const defaults = era === "legacy" ? LEGACY_HEADERS : { ...CONTENT, ...standardHeaders(message) };
  return { method: "POST", ...rest, headers: { ...defaults, ...headers }, body: body ?? JSON.stringify(message) };
}

/** The headers that 2026-07-28 mirrors from a message. */
export function standardHeaders(message: unknown): Headers {
  const { method, params } = isMembers(message) ? message : {};
  const name = isMembers(params) ? (params.name ?? params.uri ?? params.taskId) : undefined;
  return {
    "mcp-protocol-version": MODERN_VERSION,
    ...(typeof method === "string" ? { "mcp-method": method } : {}),
    ...(typeof name === "string" ? { "mcp-name": name } : {}),
  };
}

export function base64(text: string): string {
  return `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

/** A JSON text of `depth` nested arrays. */
export function nested(depth: number): string {
  return `${"[".repeat(depth)}${"]".repeat(depth)}`;
}

export function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
