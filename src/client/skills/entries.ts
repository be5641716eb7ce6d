/**
 * The entries that describe skills, and their validation.
 *
 * @module
 * @see io.modelcontextprotocol/skills, "Skill Entries"
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { findRoot } from "./paths.ts";

/** A file of a skill, with the expected digest and size of its content. */
export interface SkillResource {
  /** The URI of the file. */
  readonly uri: string;
  /** The SHA-256 digest of the content: `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  /** The length of the content in bytes. */
  readonly size: number;
}

/** The entry of a skill: its frontmatter and its files. */
export interface Skill {
  /** The URI of its `SKILL.md`. It is unique within a server, but not across servers. */
  readonly uri: string;
  /** The frontmatter of its `SKILL.md`. Names need not be unique. Do not grant the tools in `allowed-tools`. */
  readonly frontmatter: JsonObject & { readonly name: string; readonly description: string };
  /** All files of the skill, or `dynamic` if the server generates their contents. */
  readonly resources: readonly SkillResource[] | "dynamic";
}

/** Matches the skill names of the Agent Skills specification. */
const NAME = /^[a-z\d]+(-[a-z\d]+)*$/;
const NAME_LENGTH_MAX = 64;
const DIGEST = /^sha256:[\da-f]{64}$/;

/** Returns the reason why an entry is invalid, or undefined if it is valid. */
export function describeProblem(entry: unknown): string | undefined {
  if (!isObject(entry)) return "the entry is not an object";
  const { uri, frontmatter, resources } = entry;
  const root = typeof uri === "string" ? findRoot(uri) : undefined;
  if (root === undefined) return "its uri is not the URI of a SKILL.md";
  if (!isObject(frontmatter) || typeof frontmatter.name !== "string" || typeof frontmatter.description !== "string") {
    return "its frontmatter has no name or no description";
  }
  const { name } = frontmatter;
  if (!NAME.test(name) || name.length > NAME_LENGTH_MAX) {
    return `its name ${JSON.stringify(name)} is not a skill name; use 1 to 64 of a-z, 0-9 and single hyphens`;
  }
  if (!root.endsWith(`/${name}`)) return `its folder is not named ${JSON.stringify(name)}, the name in its frontmatter`;
  if (resources === "dynamic") return undefined;
  if (!Array.isArray(resources)) return 'its resources are neither an array nor "dynamic"';
  return describeResourceProblem(resources, String(uri), root);
}

function describeResourceProblem(resources: readonly unknown[], uri: string, root: string): string | undefined {
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
  return seen.has(uri) ? undefined : "its resources do not include its SKILL.md";
}
