/**
 * Removes potential secrets from URLs, paths and keys.
 *
 * @module
 */
import { isName } from "./words.ts";

/** Replaces a hidden part of a path or a key. */
const HIDDEN = "…";

/** The maximum number of characters of a URL or key, and the maximum number of parts of a path or key. */
const [ADDRESS_MAX, PARTS_MAX] = [300, 20];

/** Returns a path without its query. Segments that are not names are hidden. */
export function hidePath(path: string): string {
  const [plain = ""] = path.split(/[?#]/, 1);
  return hideParts(plain, "/");
}

/** Returns a storage key. Parts that are not names are hidden. */
export function hideKey(key: string): string {
  return key
    .slice(0, ADDRESS_MAX)
    .split(/([:/.|])/)
    .slice(0, PARTS_MAX)
    .map((part) => (part === "" || /^[:/.|]$/.test(part) || isName(part) ? part : HIDDEN))
    .join("");
}

/** Returns an absolute or relative URL without user, password, query and fragment. Segments that are not names are hidden. */
export function hideUrl(text: string): string {
  const found = /^([a-z][a-z\d+.-]{0,30}:)(?:\/\/([^/?#]*))?([^?#]*)/i.exec(text.slice(0, ADDRESS_MAX));
  if (!found) return hidePath(text.slice(0, ADDRESS_MAX));
  const [, scheme = "", authority, path = ""] = found;
  const host = authority?.slice(authority.lastIndexOf("@") + 1);
  return scheme + (host === undefined ? "" : `//${hideHost(host)}`) + hideParts(path, "/");
}

/** Hides the labels of a host name that are not names. Host names of previews and tenants may contain random parts. */
function hideHost(host: string): string {
  if (/^[\d.:[\]a-f]+$/i.test(host)) return host;
  const [, name = "", port = ""] = /^(.*?)(:\d{1,5})?$/.exec(host) ?? [];
  return (
    name
      .split(".")
      .map((label) => (isName(label) ? label : HIDDEN))
      .join(".") + port
  );
}

function hideParts(text: string, separator: string): string {
  const parts = text.split(separator);
  const shown = parts.slice(0, PARTS_MAX).map((part) => (part === "" || isName(decode(part)) ? part : HIDDEN));
  return shown.join(separator) + (parts.length > PARTS_MAX ? separator + HIDDEN : "");
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A malformed escape. It is not a name.
    return "%";
  }
}
