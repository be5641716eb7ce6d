/**
 * Checks whether a URI lies within the client's roots.
 *
 * @module
 * @see MCP 2025-11-25, client/roots, "Security Considerations"
 */

/** The parts of a URI that are compared. */
interface Location {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly segments: readonly string[];
}

/**
 * Whether a URI is one of the roots or is inside one. `..` is resolved first. Path segments are compared whole and
 * case-sensitively, scheme and host case-insensitively. An encoded slash ("%2f", "%5c") could be a separator or part of
 * a name, so such a URI must be within the roots in both readings.
 *
 * Query and fragment are ignored. A URI that does not parse or is wrongly encoded is never within a root. Symbolic
 * links are not resolved: roots are guidance, not a security boundary.
 *
 * @param roots The roots, as `ctx.listRoots()` returns them.
 * @see MCP 2025-11-25, client/roots
 */
export function withinRoots(uri: string, roots: readonly { readonly uri: string }[]): boolean {
  const locations = readLocations(uri);
  return (
    locations !== undefined &&
    roots.some((root) => {
      const rootLocations = readLocations(root.uri);
      return rootLocations?.every((rootLocation, reading) => contains(rootLocation, locations[reading])) ?? false;
    })
  );
}

function contains(root: Location, location: Location | undefined): boolean {
  return (
    location?.origin === root.origin && root.segments.every((segment, index) => segment === location.segments[index])
  );
}

/** Reads the URI twice: with encoded slashes as part of a name, and as separators. */
function readLocations(uri: string): readonly Location[] | undefined {
  try {
    return [uri, uri.replace(/%2f|%5c|\\/gi, "/")].map(readLocation);
  } catch {
    // The URI does not parse, or its percent-encoding is malformed.
    return undefined;
  }
}

/** @throws {Error} if the URI does not parse. */
function readLocation(uri: string): Location {
  const { protocol, host, pathname } = new URL(uri);
  // URL does not lower-case the hosts of non-special schemes. The slash distinguishes absolute paths from opaque ones.
  const top = host !== "" || pathname.startsWith("/") ? "/" : "";
  return {
    origin: `${protocol}//${host.toLowerCase()}${top}`,
    segments: resolveDots(pathname.split("/").map(decodeURIComponent)),
  };
}

/** Resolves "." and "..", which `URL` leaves in opaque paths, and removes empty segments. */
function resolveDots(segments: readonly string[]): readonly string[] {
  const resolved: string[] = [];
  for (const segment of segments) {
    if (segment === "..") resolved.pop();
    else if (segment !== "." && segment !== "") resolved.push(segment);
  }
  return resolved;
}
