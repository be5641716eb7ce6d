/**
 * Joins and resolves untrusted paths and URIs so that the result stays under a root.
 *
 * @module
 * @see MCP 2026-07-28, server/resources, "Security Considerations"
 */
import { withinRoots } from "../core/ask/within-roots.ts";
import { refusedValue } from "./refused.ts";

/**
 * The maximum number of characters of a path. Linux allows 4,096 bytes.
 * @limit characters A path. A longer one is refused.
 */
const PATH_MAX = 4_096;
/** The maximum number of times that a path can be percent-encoded. A path with more levels is refused. @limit internal */
const ENCODINGS_MAX = 4;

/**
 * Joins an untrusted path to a root, for keys of a storage such as R2 or KV. The result is the root itself, or begins with the
 * root and a slash. Empty and "." segments are removed.
 *
 * Segments "..", absolute paths, drive letters, backslashes, control characters, and paths of more than 4,096 characters are
 * refused. The path is checked as it is, in each percent-decoded form, and in the compatibility form (NFKC) of each, because the
 * storage may decode or convert it again.
 *
 * For files, use `resolveFile` or `readFileWithin` of `mcp-edge/node`, which also resolve symbolic links.
 *
 * @param root A trusted root, such as `notes/ada`. It is not checked.
 * @throws {RefusedError} `path`.
 */
export function joinPath(root: string, path: string): string {
  const segments = checkedSegments(path);
  if (segments.length === 0) return root;
  return `${root}${root === "" || root.endsWith("/") ? "" : "/"}${segments.join("/")}`;
}

/**
 * Joins an untrusted decoded path, such as a variable of a resource template, to a root URI. The path cannot add a host, a query
 * or a fragment, because all special characters in it are percent-encoded.
 *
 * @param root A trusted absolute URI, such as `https://api.example.com/files/`. It is not checked. Its query and fragment are
 *   removed.
 * @throws {RefusedError} `path`, as {@link joinPath} does.
 */
export function joinUri(root: string, path: string): string {
  const encoded = checkedSegments(path).map((segment) => encodeURIComponent(segment.toWellFormed()));
  const start = root.replace(/[?#].*$/s, "");
  return encoded.length === 0 ? start : `${start}${start.endsWith("/") ? "" : "/"}${encoded.join("/")}`;
}

/**
 * Resolves an untrusted absolute or relative URI against a root URI, and returns the normalized URI. The result has the scheme,
 * host and port of the root, and its path is the path of the root or inside it. A query is kept, and a fragment is removed.
 *
 * To check only whether a URI is within the roots of the client, use `withinRoots`.
 *
 * @param root A trusted absolute URI. Its path is treated as a folder, even without a final slash.
 * @throws {RefusedError} `uri` for a URI outside the root, with a user name or password, or with a path that {@link joinPath} would
 *   refuse.
 */
export function resolveUri(root: string, uri: string): string {
  const refused = (why: string) => refusedValue("uri", "URI", uri, why);
  // A URL parser removes line breaks and tabs and replaces backslashes, so these are refused before parsing.
  const problem = findPathProblem(
    uri
      .replace(/^[a-z][a-z\d+.-]*:\/*/i, "")
      .replace(/[?#].*$/s, "")
      .replace(/^\/+/, ""),
  );
  if (problem) throw refused(problem);
  const base = root.replace(/[?#].*$/s, "").replace(/\/*$/, "/");
  if (!URL.canParse(uri, base)) throw refused("it is not a URI");
  const resolved = new URL(uri, base);
  if (resolved.username !== "" || resolved.password !== "") throw refused("it has a user name or a password");
  resolved.hash = "";
  if (!withinRoots(resolved.href, [{ uri: base }])) throw refused(`it is not inside ${base}`);
  return resolved.href;
}

/** Returns the segments of a relative path. @throws {RefusedError} `path` if the path could leave its root. */
export function checkedSegments(path: string): string[] {
  const problem = typeof path === "string" ? findPathProblem(path) : "it is not a string";
  if (problem) throw refusedValue("path", "path", path, problem);
  return path.split("/").filter((segment) => segment !== "" && segment !== ".");
}

/** Returns why a relative path could leave its root in any of its decoded forms, or undefined if it could not. */
function findPathProblem(path: string): string | undefined {
  if (path.length > PATH_MAX) return `it has more than ${PATH_MAX} characters`;
  let readings = new Set([path]);
  for (let times = 0; times <= ENCODINGS_MAX; times++) {
    // Decoding and NFKC are applied in both orders: NFKC can produce percent signs, and can change the digits of an escape.
    const all = new Set([...readings].flatMap((reading) => [reading, reading.normalize("NFKC")]));
    for (const reading of all) {
      const problem = findPlainProblem(reading);
      if (problem) return problem;
    }
    readings = new Set([...all].map(decode));
    if ([...readings].every((reading) => all.has(reading))) return undefined;
  }
  return "it is percent-encoded too many times";
}

/** Decodes a path once, as UTF-8. */
function decode(path: string): string {
  return path.replace(/(?:%[\da-f]{2})+/gi, (escapes) => {
    return new TextDecoder().decode(Uint8Array.from(escapes.slice(1).split("%"), (hex) => Number.parseInt(hex, 16)));
  });
}

function findPlainProblem(path: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (/[\x00-\x1f\x7f]/.test(path)) return "it has a control character";
  if (path.includes("\\")) return "it has a backslash";
  if (path.startsWith("/")) return "it is absolute";
  if (/^[a-z]:/i.test(path)) return "it begins with a drive letter";
  // Overlong encodings, which lenient decoders accept as dots and slashes, and %uXXXX, which some servers decode.
  if (/%(?:c[01]|e0%[89]|f0%8|f[5-9a-f]|u[\da-f]{4})/i.test(path)) return "it has an invalid percent-encoding";
  // Windows ignores dots and spaces at the end of a name, so ".. " is equal to "..".
  if (path.split("/").some((segment) => /^[. ]*\.[. ]*$/.test(segment) && segment !== "."))
    return 'it has a segment ".."';
  return undefined;
}
