/** The options of `skills`. */
export interface SkillsCommandOptions {
  /** The module to write. */
  readonly out: string;
  /** Whether to only check that the module is up to date. */
  readonly check?: boolean;
}
