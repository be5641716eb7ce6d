/**
 * Redacts headers. Values that may contain secrets are replaced.
 *
 * @module
 */
import type { Header } from "../entry.ts";
import { isSecretName, REDACTED } from "./secrets.ts";
import { describeText, isName } from "./words.ts";

/** The members of the redactor that are used for headers. */
interface TextRedactor {
  readonly contents: boolean;
  text(text: string, max?: number): string;
  name(text: string): string;
  uri(text: string): string;
  url(url: string): string;
}

/** Headers whose values are protocol terms: names, numbers, and lists of them. */
const PLAIN: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-expose-headers",
  "access-control-max-age",
  "access-control-request-headers",
  "access-control-request-method",
  "allow",
  "cache-control",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "expires",
  "keep-alive",
  "mcp-method",
  "mcp-protocol-version",
  "retry-after",
  "sec-fetch-dest",
  "sec-fetch-mode",
  "sec-fetch-site",
  "server",
  "te",
  "transfer-encoding",
  "upgrade",
  "user-agent",
  "vary",
  "x-content-type-options",
]);

/** Headers whose value is a URL or a host. */
const ADDRESSES: ReadonlySet<string> = new Set([
  "access-control-allow-origin",
  "host",
  "location",
  "origin",
  "referer",
]);

/** The separators in header values. */
const SEPARATORS = /([,;="()\s]+|\*\/\*|\*)/;

/** The maximum number of characters of a header value. */
const VALUE_MAX = 500;

/** Returns the redacted value of a header. */
export function redactHeader(name: string, value: string, redactor: TextRedactor): string {
  const lower = name.toLowerCase();
  if (lower === "www-authenticate") return redactChallenge(value, redactor);
  if (lower === "mcp-name") return value.includes(":") ? redactor.uri(value) : redactor.name(value);
  if (ADDRESSES.has(lower)) return redactAddress(value, redactor);
  if (PLAIN.has(lower)) return redactWords(value.slice(0, VALUE_MAX));
  if (lower.startsWith("mcp-param-") && !isSecretName(lower)) {
    return redactor.contents ? redactor.text(value, VALUE_MAX) : describeText(value);
  }
  return REDACTED;
}

/** Returns a value in which everything except names, numbers and separators is replaced. */
function redactWords(value: string): string {
  return value
    .split(SEPARATORS)
    .map((part) =>
      part === "" || SEPARATORS.test(part) || isName(part) || /^q=?[\d.]*$/.test(part) ? part : describeText(part),
    )
    .join("");
}

function redactAddress(value: string, redactor: TextRedactor): string {
  if (value === "*" || value === "null") return value;
  return value.includes("//") ? redactor.url(value) : redactor.url(`http://${value}`).slice("http://".length);
}

/** Returns a challenge. Its error, its scopes and the URL of the metadata remain readable. */
function redactChallenge(value: string, redactor: TextRedactor): string {
  return value.slice(0, VALUE_MAX * 4).replace(/([\w-]+)="([^"]*)"/g, (_, parameter: string, content: string) => {
    return `${parameter}="${redactParameter(parameter, content, redactor)}"`;
  });
}

function redactParameter(parameter: string, content: string, redactor: TextRedactor): string {
  if (parameter === "error_description")
    return redactor.contents ? redactor.text(content, VALUE_MAX) : describeText(content);
  if (parameter === "resource_metadata" || parameter.endsWith("uri")) return redactor.url(content);
  if (/nonce/i.test(parameter)) return REDACTED;
  return redactWords(content);
}

/** Returns the secrets in a header, which must not appear in any other value either. */
export function readSecretsOfHeader([name, value]: Header): readonly string[] {
  const lower = name.toLowerCase();
  if (lower === "authorization" || lower === "proxy-authorization") {
    const [, scheme = "", token = ""] = /^(\S+)\s+(.*)$/s.exec(value) ?? [];
    return scheme.toLowerCase() === "basic" ? [token, ...readBasic(token)] : [token === "" ? value : token];
  }
  if (lower === "cookie") return value.split(/;\s*/).map((pair) => pair.slice(pair.indexOf("=") + 1));
  if (lower === "set-cookie") return [/^[^=]*=([^;]*)/.exec(value)?.[1] ?? ""];
  if (lower === "last-event-id" || lower === "mcp-session-id" || lower === "dpop") return [value];
  if (PLAIN.has(lower) || ADDRESSES.has(lower) || lower === "www-authenticate" || lower.startsWith("mcp-")) return [];
  // A value that looks random in an unknown header is assumed to be a secret.
  return isSecretName(lower) || !isName(value) ? [value] : [];
}

/** Returns the decoded credentials of HTTP Basic authentication, and the password. */
function readBasic(token: string): readonly string[] {
  try {
    const pair = atob(token);
    return [pair, pair.slice(pair.indexOf(":") + 1)];
  } catch {
    return [];
  }
}
