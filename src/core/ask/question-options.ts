/** The name that a handler gives a question. */
export interface QuestionOptions {
  /**
   * Distinguishes this question from the handler's other questions, even if its text changes.
   *
   * @default derived from the question
   */
  readonly key?: string;
}
