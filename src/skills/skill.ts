/**
 * Skills as a server holds them: read from a folder, with everything that their entries say about them.
 *
 * @module
 */
import type { JsonObject } from "../core/protocol/jsonrpc.ts";

/** A file of a skill. It has either `text` or `base64`. */
export interface ServedSkillFile {
  /** The path below the folder of the skill, with `/` between its names. */
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

/** A skill with all its files. `readSkills` and `mcp-edge skills` create it from a folder. */
export interface ServedSkill {
  /** The place of the skill below the folder of all skills, such as `acme/refunds`. Its last name is the skill's name. */
  readonly path: string;
  /** The frontmatter of its `SKILL.md`. */
  readonly frontmatter: JsonObject & { readonly name: string; readonly description: string };
  /** All files of the skill, `SKILL.md` among them. */
  readonly files: readonly ServedSkillFile[];
}

/** An object with a URI: an entry of `skills/list`, or a child of a folder. */
export type WithUri = JsonObject & { readonly uri: string };

/** Returns the URI of a path below the folder of all skills. */
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
