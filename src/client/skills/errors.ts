/** Why a skill or one of its files was refused. */
export type SkillErrorReason = "invalid" | "unlisted" | "size" | "digest" | "frontmatter";

/**
 * Thrown when a skill or one of its files must not be used. `reason` says which check failed:
 *
 * - `invalid`: the entry of the skill is not what the extension defines, or the answer has no such file.
 * - `unlisted`: the file is not in the entry, or is outside the skill. Nothing was requested.
 * - `size`, `digest`: the file is not the one that the entry describes. The skill may have changed: get its entry again.
 * - `frontmatter`: the frontmatter of `SKILL.md` differs from that of the entry, or cannot be read.
 *
 * @see io.modelcontextprotocol/skills, "Integrity and Verification"
 */
export class SkillError extends Error {
  /** The class of the error. */
  override readonly name = "SkillError";
  /** The check that failed. */
  readonly reason: SkillErrorReason;
  /** The URI of the skill or the file. */
  readonly uri: string;

  /** Creates an error. The client does this; tests may create their own. */
  constructor(reason: SkillErrorReason, uri: string, message: string, options?: ErrorOptions) {
    super(`${uri}: ${message}`, options);
    this.reason = reason;
    this.uri = uri;
  }
}
