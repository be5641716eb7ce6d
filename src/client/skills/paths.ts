/**
 * The URIs of a skill's files.
 *
 * @module
 * @see io.modelcontextprotocol/skills, "Resource Mapping" and "Relative References"
 */
import { SkillError } from "./errors.ts";

const MANIFEST = "/SKILL.md";

/** Returns the root of a skill, without a slash at the end; undefined if the URI is not that of a `SKILL.md`. */
export function findRoot(uri: string): string | undefined {
  return /^[a-z][a-z\d+.-]*:\/\/[^/]/i.test(uri) && uri.endsWith(MANIFEST) ? uri.slice(0, -MANIFEST.length) : undefined;
}

/**
 * Resolves the name of a file, a path below the root or a whole URI, and returns its URI. A fragment is left out.
 *
 * @throws {SkillError} `unlisted` if the file is outside the skill.
 */
export function resolveFile(skillUri: string, file: string): string {
  const root = findRoot(skillUri) ?? skillUri;
  const [name = ""] = file.split("#");
  const path = name.startsWith(`${root}/`) ? name.slice(root.length + 1) : name;
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    const decoded = decodeSegment(segment);
    // A server that decodes an encoded slash or dots would read another folder.
    const isHidden = decoded !== segment && (decoded === undefined || /^\.{1,2}$|[/\\]/.test(decoded));
    const isAbove = segment === ".." && segments.pop() === undefined;
    if (isHidden || isAbove) throw outside(skillUri, file);
    if (segment !== ".." && segment !== "." && segment !== "") segments.push(segment);
  }
  // A URI of another skill or server begins with a scheme.
  if (segments.length === 0 || /^[a-z][a-z\d+.-]*:/i.test(path)) throw outside(skillUri, file);
  return [root, ...segments].join("/");
}

/** Returns one form for all spellings of a URI that differ only in percent-encoding. */
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

function outside(skillUri: string, file: string): SkillError {
  return new SkillError("unlisted", skillUri, `the file ${JSON.stringify(file)} is not a file of this skill.`);
}
