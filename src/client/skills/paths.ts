/**
 * The URIs of a skill's files.
 *
 * @module
 * @see io.modelcontextprotocol/skills, "Resource Mapping" and "Relative References"
 */
import { SkillError } from "./errors.ts";

const MANIFEST = "/SKILL.md";

/** Returns the URI of the folder of a skill, without a trailing slash; undefined if the URI is not the URI of a `SKILL.md`. */
export function findRoot(uri: string): string | undefined {
  return /^[a-z][a-z\d+.-]*:\/\/[^/]/i.test(uri) && uri.endsWith(MANIFEST) ? uri.slice(0, -MANIFEST.length) : undefined;
}

/**
 * Returns the URI of a file without its fragment.
 *
 * @param file A path in the folder of the skill, or a URI.
 * @throws {SkillError} `unlisted` if the file is outside the folder of the skill.
 */
export function resolveFile(skillUri: string, file: string): string {
  const root = findRoot(skillUri) ?? skillUri;
  const [name = ""] = file.split("#");
  const path = name.startsWith(`${root}/`) ? name.slice(root.length + 1) : name;
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    const decoded = decodeSegment(segment);
    // A server that decodes an encoded slash or dots would read a file in another folder.
    const isHidden = decoded !== segment && (decoded === undefined || /^\.{1,2}$|[/\\]/.test(decoded));
    const isAbove = segment === ".." && segments.pop() === undefined;
    if (isHidden || isAbove) throw outsideError(skillUri, file);
    if (segment !== ".." && segment !== "." && segment !== "") segments.push(segment);
  }
  // A path with a scheme is the URI of another skill or server.
  if (segments.length === 0 || /^[a-z][a-z\d+.-]*:/i.test(path)) throw outsideError(skillUri, file);
  return [root, ...segments].join("/");
}

/** Normalizes a URI, so that URIs that differ only in percent-encoding are equal. */
export function normalize(uri: string): string {
  return uri
    .split("/")
    .map((segment) => encodeURIComponent(decodeSegment(segment) ?? segment))
    .join("/");
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function outsideError(skillUri: string, file: string): SkillError {
  return new SkillError("unlisted", skillUri, `the file ${JSON.stringify(file)} is not a file of this skill.`);
}
