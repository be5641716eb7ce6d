/**
 * Whether a URI lies within what the user has opened to the server.
 *
 * @module
 * @see MCP 2025-11-25, client/roots, "Security Considerations"
 */

interface Place {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly segments: readonly string[];
}

/**
 * True when a URI is one of the roots or lies below one. Segments are compared whole and with their case; scheme and
 * host without. `..` is followed first. An encoded slash ("%2f", "%5c") may be read as a separator or as part of a name,
 * so such a URI is within only when it is so either way.
 *
 * Query and fragment do not count. What does not parse, and what is encoded wrongly, is never within. Symbolic links are
 * not seen: roots guide, they do not protect.
 *
 * @param roots As `ctx.listRoots()` gives them.
 * @see MCP 2025-11-25, client/roots
 */
export function withinRoots(uri: string, roots: readonly { readonly uri: string }[]): boolean {
  const places = readPlaces(uri);
  return (
    places !== undefined &&
    roots.some((root) => {
      const rootPlaces = readPlaces(root.uri);
      return rootPlaces?.every((rootPlace, reading) => contains(rootPlace, places[reading])) ?? false;
    })
  );
}

function contains(root: Place, place: Place | undefined): boolean {
  return place?.origin === root.origin && root.segments.every((segment, at) => segment === place.segments[at]);
}

/** The URI in both readings: encoded slashes part of a name, and separators. Dots are followed after that choice. */
function readPlaces(uri: string): readonly Place[] | undefined {
  try {
    return [uri, uri.replace(/%2f|%5c|\\/gi, "/")].map(readPlace);
  } catch {
    // No URI, or percent-encoding that has no one meaning.
    return undefined;
  }
}

/** @throws {Error} when it does not parse. */
function readPlace(uri: string): Place {
  const { protocol, host, pathname } = new URL(uri);
  // Hosts of schemes the URL standard does not know keep their case. A path that starts nowhere is another than one
  // from the top.
  const top = host !== "" || pathname.startsWith("/") ? "/" : "";
  return {
    origin: `${protocol}//${host.toLowerCase()}${top}`,
    segments: resolveDots(pathname.split("/").map(decodeURIComponent)),
  };
}

/** Follows "." and "..", which stop at the top; empty segments name nothing. `URL` has done so where there is a top. */
function resolveDots(segments: readonly string[]): readonly string[] {
  const resolved: string[] = [];
  for (const segment of segments) {
    if (segment === "..") resolved.pop();
    else if (segment !== "." && segment !== "") resolved.push(segment);
  }
  return resolved;
}
