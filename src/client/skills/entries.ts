/**
 * The entries that describe skills.
 *
 * @module
 * @see io.modelcontextprotocol/skills, "Skill Entries"
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { findRoot } from "./paths.ts";

/** A file of a skill, with what its content must be. */
export interface SkillResource {
  /** The URI to read it by. */
  readonly uri: string;
  /** The SHA-256 digest of the content: `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  /** The length of the content in bytes. */
  readonly size: number;
}

/** The entry of a skill: what it is, and which files it has. */
export interface Skill {
  /** The URI of its `SKILL.md`. It identifies the skill within its server, but not among several servers. */
  readonly uri: string;
  /** The frontmatter of its `SKILL.md`. Names need not be unique. Do not grant what `allowed-tools` asks for. */
  readonly frontmatter: JsonObject & { readonly name: string; readonly description: string };
  /** All files of the skill; or `dynamic` if the server cannot say beforehand what they contain. */
  readonly resources: readonly SkillResource[] | "dynamic";
}

/** Names of the Agent Skills specification. */
const NAME = /^[a-z\d]+(-[a-z\d]+)*$/;
const NAME_LENGTH_MAX = 64;
const DIGEST = /^sha256:[\da-f]{64}$/;

/** Returns what is wrong with an entry, or undefined if it may be used. */
export function describeProblem(entry: unknown): string | undefined {
  if (!isObject(entry)) return "the entry is not an object";
  const { uri, frontmatter, resources } = entry;
  const root = typeof uri === "string" ? findRoot(uri) : undefined;
  if (root === undefined) return "its uri is not that of a SKILL.md";
  if (!isObject(frontmatter) || typeof frontmatter.name !== "string" || typeof frontmatter.description !== "string") {
    return "its frontmatter has no name or no description";
  }
  const { name } = frontmatter;
  if (!NAME.test(name) || name.length > NAME_LENGTH_MAX) {
    return `its name ${JSON.stringify(name)} is not a skill name: 1 to 64 of a-z, 0-9 and single hyphens`;
  }
  if (!root.endsWith(`/${name}`)) return `its folder is not named ${JSON.stringify(name)}, as its frontmatter is`;
  if (resources === "dynamic") return undefined;
  if (!Array.isArray(resources)) return 'its resources are neither a list nor "dynamic"';
  return problemOfResources(resources, String(uri), root);
}

function problemOfResources(resources: readonly unknown[], uri: string, root: string): string | undefined {
  const seen = new Set<string>();
  for (const resource of resources) {
    if (!isObject(resource) || typeof resource.uri !== "string") return "one of its resources has no uri";
    const { uri: file, digest, size } = resource;
    if (!file.startsWith(`${root}/`)) return `its resource ${file} is outside its folder`;
    if (typeof digest !== "string" || !DIGEST.test(digest)) return `its resource ${file} has no SHA-256 digest`;
    if (!Number.isSafeInteger(size) || (size as number) < 0) return `its resource ${file} has no size`;
    if (seen.has(file)) return `its resource ${file} is listed twice`;
    seen.add(file);
  }
  return seen.has(uri) ? undefined : "its resources lack its own SKILL.md";
}
