/**
 * The skills of a server, with their files and the digests for their entries.
 *
 * @module
 */
import type { JsonObject } from "../core/protocol/jsonrpc.ts";

/** A file of a skill. It has either `text` or `base64`. */
export interface ServedSkillFile {
  /** The path in the folder of the skill, with `/` as separator. */
  readonly path: string;
  /** The media type, such as `text/markdown`. */
  readonly mimeType: string;
  /** The SHA-256 digest of the bytes: `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  /** The length in bytes. */
  readonly size: number;
  /** The content as text, if it is UTF-8. */
  readonly text?: string;
  /** The content in base64, if it is not text. */
  readonly base64?: string;
}

/** A skill with all its files, created by `readSkills` or `mcp-edge skills` from a folder. */
export interface ServedSkill {
  /** The path of the skill in the folder of all skills, such as `acme/refunds`. Its last segment is the name of the skill. */
  readonly path: string;
  /** The frontmatter of its `SKILL.md`. */
  readonly frontmatter: JsonObject & { readonly name: string; readonly description: string };
  /** All files of the skill, including `SKILL.md`. */
  readonly files: readonly ServedSkillFile[];
}

/** An object with a URI: an entry in `skills/list`, or a file or folder in a folder. */
export type WithUri = JsonObject & { readonly uri: string };

/** Returns the URI for a path in the folder of all skills. */
export function skillUri(path: string): string {
  return `skill://${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** Returns the entry of a skill. @see io.modelcontextprotocol/skills, "Skill Entries" */
export function toEntry({ path, frontmatter, files }: ServedSkill): WithUri {
  return {
    uri: skillUri(`${path}/SKILL.md`),
    frontmatter,
    resources: files.map((file) => ({ uri: skillUri(`${path}/${file.path}`), digest: file.digest, size: file.size })),
  };
}
