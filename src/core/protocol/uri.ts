/**
 * The spellings of a URI. All code that looks up or compares URIs uses this module: exact resources, templates, scopes,
 * subscriptions, caches and records. See docs/decisions/003-eras-at-one-url.md.
 *
 * @module
 * @see RFC 3986, section 6.2.2, "Syntax-Based Normalization"
 */

/** A percent sign that does not begin an escape. A string that contains it is not a URI. */
const MALFORMED = /%(?![\da-f]{2})/i;
/** The characters that mean the same whether they are escaped or not (RFC 3986, section 2.3). */
const UNRESERVED = /[\w.~-]/;
/** The unreserved characters, plus the reserved characters that are delimiters only within a path segment or the query. */
const WITHIN_SEGMENT = /[\w.~:@!$&'()*+,;=[\]-]/;

/**
 * Returns the normal form of a URI: its scheme in lower case, no escapes of unreserved characters, and capital digits
 * in escapes. Dots in paths and the case of hosts are kept, because in URIs of MCP servers both can be parts of names.
 */
export function normalUri(uri: string): string {
  return withLowerScheme(decode(uri, UNRESERVED));
}

/**
 * Returns the key by which URIs are compared: the normal form, in which reserved characters other than `/`, `?` and `#`
 * are not escaped, and the pieces of the query are sorted. Clients differ in the characters that they escape, which a
 * template decodes, and in the order of the variables of a query.
 */
export function uriKey(uri: string): string {
  return withLowerScheme(unescapeUri(uri)).replace(
    /\?([^#]*)/,
    (_, query: string) => `?${query.split("&").sort().join("&")}`,
  );
}

/** Removes the escapes that make no difference to {@link uriKey}. */
export function unescapeUri(uri: string): string {
  return decode(uri, WITHIN_SEGMENT);
}

function decode(uri: string, plain: RegExp): string {
  if (!uri.includes("%") || MALFORMED.test(uri)) return uri;
  return uri.replace(/%[\da-f]{2}/gi, (found) => {
    const character = String.fromCharCode(Number.parseInt(found.slice(1), 16));
    return plain.test(character) ? character : found.toUpperCase();
  });
}

function withLowerScheme(uri: string): string {
  return uri.replace(/^[a-z][a-z\d+.-]*(?=:)/i, (scheme) => scheme.toLowerCase());
}
