/** The options of `skills`. */
export interface SkillsCommandOptions {
  /** The module to write. */
  readonly out: string;
  /** Whether to only check that the module is up to date. */
  readonly check?: boolean;
  /** The folder of a coding agent's skills, to which the skill of this package is copied. */
  readonly install?: string | true;
}
