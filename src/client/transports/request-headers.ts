/**
 * The headers that repeat values of a request's body.
 *
 * @module
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Request Metadata"
 */

import { encodeBase64, encodeText } from "../../core/basics/bytes.ts";
import { KitError } from "../../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { toCall } from "../../core/protocol/methods.ts";
import type { ParamHeader } from "../../core/protocol/param-headers.ts";
import type { HeadersOption } from "./fetch-options.ts";

const FIELD_VALUE = /^[\t\x20-\x7e]*$/;
const ENCODED = /^=\?base64\?.*\?=$/;

/** Encodes a value for a header, in base64 if it is not safe unchanged. */
export function encodeHeaderValue(value: string): string {
  const isPlain = FIELD_VALUE.test(value) && value.trim() === value && !ENCODED.test(value);
  return isPlain ? value : `=?base64?${encodeBase64(encodeText(value))}?=`;
}

/** Returns the headers from the options. @throws {KitError} `options-invalid`, without their values, which may be secrets. */
export async function resolveHeaders(option: HeadersOption | undefined): Promise<Headers> {
  const given = typeof option === "function" ? await option() : option;
  try {
    return new Headers(given);
  } catch {
    throw new KitError("options-invalid", "headers: a name or a value is invalid in HTTP.");
  }
}

/** Returns `Mcp-Method`, and `Mcp-Name` for the methods that have it. */
export function standardHeaders(method: string, params: JsonObject | undefined): Record<string, string> {
  const name = findName(method, params);
  return { "mcp-method": method, ...(typeof name === "string" ? { "mcp-name": encodeHeaderValue(name) } : {}) };
}

function findName(method: string, params: JsonObject = {}): unknown {
  const [, member = method.startsWith("tasks/") ? "taskId" : ""] = toCall(method);
  return params[member];
}

/** Returns the `Mcp-Param-*` headers of a tool call. An argument that is absent or null has none. */
export function paramHeaders(expected: readonly ParamHeader[], args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { name, path } of expected) {
    const value = path.reduce<unknown>(
      (at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined),
      args,
    );
    if (value === undefined || value === null || typeof value === "object") continue;
    headers[`mcp-param-${name}`] = encodeHeaderValue(String(value));
  }
  return headers;
}
