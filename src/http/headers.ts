/**
 * Reading the headers of Streamable HTTP: what a client accepts, and the values that mirror the body.
 *
 * @module
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Request Metadata"
 */

import { decodeBase64, encodeBase64, encodeText } from "../core/protocol/bytes.ts";
import { memo } from "../core/protocol/memo.ts";

/** The forms an answer may take. `either`: JSON until the first emission, SSE after it. */
export type AcceptedForm = "json" | "sse" | "either";

/**
 * What an Accept header admits, or undefined when neither form. A missing header or a wildcard admits both, since
 * many tools send just that. A type with `q=0` is refused (RFC 9110, 12.4.2).
 */
export function acceptedForm(accept: string | null): AcceptedForm | undefined {
  return formOf(accept ?? "") ?? undefined;
}

const formOf = memo((accept): AcceptedForm | null => {
  if (accept.trim() === "") return "either";
  const ranges = new Map(accept.toLowerCase().split(",").map(parseRange));
  // The most specific range decides: `application/json;q=0, */*` admits SSE alone.
  const admits = (type: string) => {
    const [family] = type.split("/");
    return ranges.get(type) ?? ranges.get(`${family}/*`) ?? ranges.get("*/*") ?? false;
  };
  const [json, sse] = [admits("application/json"), admits("text/event-stream")];
  if (json) return sse ? "either" : "json";
  return sse ? "sse" : null;
});

/** A media range, and whether it is wanted. */
function parseRange(range: string): [string, boolean] {
  const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
  return [type, !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))];
}

/** True for `application/json`, with or without parameters, in any case. */
export function isJsonContentType(contentType: string | null): boolean {
  return isJson(contentType ?? "");
}

const isJson = memo((contentType) => contentType.split(";", 1)[0]?.trim().toLowerCase() === "application/json");

const BASE64_VALUE = /^=\?base64\?(.*)\?=$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const FIELD_VALUE = /^[\t\x20-\x7e]*$/;

/**
 * The value a header stands for: itself, or the text inside `=?base64?...?=`. Undefined when it has characters a
 * header may not have, or its base64 or UTF-8 is broken.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Value Encoding"
 */
export function decodeHeaderValue(value: string): string | undefined {
  if (!FIELD_VALUE.test(value)) return undefined;
  const encoded = BASE64_VALUE.exec(value)?.[1];
  if (encoded === undefined) return value;
  if (!BASE64.test(encoded)) return undefined;
  try {
    // ignoreBOM: a leading U+FEFF belongs to the value.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(decodeBase64(encoded));
  } catch {
    // Not UTF-8: the value is malformed, which the caller answers.
    return undefined;
  }
}

/** The header form of a value: itself where that is safe, else base64. The counterpart of {@link decodeHeaderValue}. */
export function encodeHeaderValue(value: string): string {
  const isPlain = FIELD_VALUE.test(value) && value.trim() === value && !BASE64_VALUE.test(value);
  if (isPlain) return value;
  return `=?base64?${encodeBase64(encodeText(value))}?=`;
}
