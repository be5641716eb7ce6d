/** The options of `skills`. */
export interface SkillsCommandOptions {
  /** The module to write. */
  readonly out: string;
  /** Writes nothing, and reports whether the module is up to date. */
  readonly check?: boolean;
}
