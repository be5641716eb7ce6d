/** Messages as clients of both eras write them, and the HTTP requests they travel in. */

import type { Ask, HeaderValue } from "./wire.ts";

export type Era = "legacy" | "modern";

export const MODERN_VERSION = "2026-07-28";
export const NEWEST_LEGACY = "2025-11-25";
export const LEGACY_VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;

export const PROTOCOL_VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
export const CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities";
export const CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo";

export type Members = Readonly<Record<string, unknown>>;

/** The `_meta` of a modern request; `undefined` in `more` takes a field away. */
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

/** A request in the form of an era. */
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

/** What every client sends with a POST. */
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
  /** Over the defaults of the era; `undefined` takes a header away. */
  readonly headers?: Headers;
  /** The body as it is sent. Beside it `message` only decides the standard headers. */
  readonly body?: string | Uint8Array;
  readonly message?: unknown;
}

/** A POST of an era. Legacy: within an open session. Modern: with the headers that the message calls for. */
export function post(era: Era, changes: Changes = {}): Ask {
  const { headers, body, message = requestOf(era, "tools/list"), ...rest } = changes;
  const defaults = era === "legacy" ? LEGACY_HEADERS : { ...CONTENT, ...standardHeaders(message) };
  return { method: "POST", ...rest, headers: { ...defaults, ...headers }, body: body ?? JSON.stringify(message) };
}

/** The headers 2026-07-28 mirrors from a message. */
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

/** A JSON text of `depth` arrays and objects, one in the other. */
export function nested(depth: number): string {
  return `${"[".repeat(depth)}${"]".repeat(depth)}`;
}

export function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
