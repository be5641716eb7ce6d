/** A one-line change to the source that the tests must notice. */
export interface Mutant {
  /** Unique, in lower case with hyphens, for `npm run mutants -- --only`. */
  readonly id: string;
  /** What would go wrong for users if the line were like this. */
  readonly reason: string;
  /** The file that is changed, from the project's root. */
  readonly file: string;
  /** The text that is replaced. It occurs exactly once in the file and contains no line break. */
  readonly find: string;
  readonly replace: string;
  /** The test files of which at least one test must fail, from the project's root. */
  readonly tests: readonly string[];
  /** Runs only the tests whose title matches this regular expression. @default all tests of the files */
  readonly title?: string;
}
