/** The reason why a skill or a file of it was refused. */
export type SkillErrorReason = "invalid" | "unlisted" | "size" | "digest" | "frontmatter";

/**
 * Thrown when a skill or a file of it must not be used. `reason` says which check failed:
 *
 * - `invalid`: the entry of the skill is invalid, or the result does not contain the file.
 * - `unlisted`: the file is not in the entry, or is outside the folder of the skill. The file was not requested.
 * - `size`, `digest`: the file does not match the entry. The skill may have changed: get its entry again.
 * - `frontmatter`: the frontmatter of `SKILL.md` differs from the entry, or cannot be read.
 *
 * @see io.modelcontextprotocol/skills, "Integrity and Verification"
 */
export class SkillError extends Error {
  /** The class of the error. */
  override readonly name = "SkillError";
  /** The failed check. */
  readonly reason: SkillErrorReason;
  /** The URI of the skill or the file. */
  readonly uri: string;

  /** Created by the client. @internal */
  constructor(reason: SkillErrorReason, uri: string, message: string, options?: ErrorOptions) {
    super(`${uri}: ${message}`, options);
    this.reason = reason;
    this.uri = uri;
  }
}
