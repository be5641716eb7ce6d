/**
 * Parses the headers of Streamable HTTP: `Accept`, and the headers that repeat values of the body.
 *
 * @module
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Request Metadata"
 */

import { decodeBase64, encodeBase64, encodeText, isBase64 } from "../core/basics/bytes.ts";
import { memo } from "../core/basics/memo.ts";

/** The headers by which a request is classified, unchanged. */
export interface ClassifyHeaders {
  readonly protocolVersion: string | null;
  readonly method: string | null;
  readonly name: string | null;
  readonly sessionId: string | null;
}

/** Returns the headers by which a request is classified. */
export function readProtocolHeaders(headers: Headers): ClassifyHeaders {
  return {
    protocolVersion: headers.get("MCP-Protocol-Version"),
    method: headers.get("Mcp-Method"),
    name: headers.get("Mcp-Name"),
    sessionId: headers.get("Mcp-Session-Id"),
  };
}

/** The forms that a response may take. `either` means JSON, or SSE if a message is sent before the result. */
export type AcceptedForm = "json" | "sse" | "either";

/**
 * Returns the form that an Accept header admits, or undefined if it admits neither form. A missing header or a wildcard
 * admits both, because many clients send no more. A type with `q=0` is not admitted (RFC 9110, 12.4.2).
 */
export function acceptedForm(accept: string | null): AcceptedForm | undefined {
  return parseAccept(accept ?? "") ?? undefined;
}

const parseAccept = memo((accept): AcceptedForm | null => {
  if (accept.trim() === "") return "either";
  const ranges = new Map(accept.toLowerCase().split(",").map(parseRange));
  // The most specific range decides: `application/json;q=0, *\/*` admits only SSE.
  const admits = (type: string) => {
    const [family] = type.split("/");
    return ranges.get(type) ?? ranges.get(`${family}/*`) ?? ranges.get("*/*") ?? false;
  };
  const [json, sse] = [admits("application/json"), admits("text/event-stream")];
  if (json) return sse ? "either" : "json";
  return sse ? "sse" : null;
});

/** Returns a media range, and whether it is admitted. */
function parseRange(range: string): [string, boolean] {
  const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
  return [type, !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))];
}

/** Returns whether a content type is `application/json`, with or without parameters, in upper or lower case. */
export function isJsonContentType(contentType: string | null): boolean {
  return isJson(contentType ?? "");
}

const isJson = memo((contentType) => contentType.split(";", 1)[0]?.trim().toLowerCase() === "application/json");

const BASE64_VALUE = /^=\?base64\?(.*)\?=$/;
const FIELD_VALUE = /^[\t\x20-\x7e]*$/;

/**
 * Returns the decoded value of a header: the value itself, or the text inside `=?base64?...?=`. Undefined when it has
 * characters that headers must not have, or when its base64 or UTF-8 is invalid.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Value Encoding"
 */
export function decodeHeaderValue(value: string): string | undefined {
  if (!FIELD_VALUE.test(value)) return undefined;
  const encoded = BASE64_VALUE.exec(value)?.[1];
  if (encoded === undefined) return value;
  if (!isBase64(encoded)) return undefined;
  try {
    // ignoreBOM: a leading U+FEFF belongs to the value.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(decodeBase64(encoded));
  } catch {
    // Not UTF-8. The caller refuses the value.
    return undefined;
  }
}

/**
 * Encodes a value for a header, in base64 if it is not safe unchanged. The counterpart of {@link decodeHeaderValue}.
 */
export function encodeHeaderValue(value: string): string {
  const isPlain = FIELD_VALUE.test(value) && value.trim() === value && !BASE64_VALUE.test(value);
  if (isPlain) return value;
  return `=?base64?${encodeBase64(encodeText(value))}?=`;
}
