import { memo } from "../basics/memo.ts";
import type { Root } from "../protocol/root.ts";
import type { AnySchema } from "../protocol/schema.ts";
import type { Elicited } from "./answers.ts";
import type { AskedBy } from "./asked-by.ts";
import type { ElicitationSchema } from "./elicitation-schema.ts";
import { QuestionError } from "./question-errors.ts";
import type { QuestionOptions } from "./question-options.ts";
import type { Question } from "./questions.ts";
import type { SampleParams, SampleResult } from "./sampling-params.ts";
import type { ElicitUrlResult, UrlElicitation } from "./url-elicitation.ts";

export interface AskedOptions extends QuestionOptions {
  /** Checks an answer for the audit, by throwing. An answer that passes is returned unchanged. */
  readonly read?: (answer: unknown) => unknown;
  /** The digest of the question, if its outcome is stored. */
  readonly digest?: string;
}

/** Asks one client. Every method rejects with a {@link QuestionError} if there is no valid answer. */
export interface Asker {
  elicit<S extends AnySchema | ElicitationSchema>(
    message: string,
    schema: S,
    signal: AbortSignal,
    options?: QuestionOptions,
  ): Promise<Elicited<S>>;
  elicitUrl(elicitation: UrlElicitation, signal: AbortSignal, options?: QuestionOptions): Promise<ElicitUrlResult>;
  sample(params: SampleParams, signal: AbortSignal, options?: QuestionOptions): Promise<SampleResult>;
  listRoots(signal: AbortSignal, options?: QuestionOptions): Promise<readonly Root[]>;
  ping(signal: AbortSignal): Promise<void>;
  /** Throws if this question could not be sent, like `ask`. Absent where no client can be asked. */
  check?(question: Question): void;
  /** Sends one question unchanged. The answer is not checked. */
  ask(question: Question, signal: AbortSignal, options?: AskedOptions): Promise<unknown>;
  /** Returns the asker for one request, which reports name for each question. Absent where no client can be asked. */
  for?(by: AskedBy): Asker;
  /** Returns the asker for one context. Absent where there is nothing to close. */
  forContext?(): Asker;
  /** Called after the handler returns. Cancels open questions; later ones reject with a {@link KitError}. */
  close?(): void;
}

/** Returns an asker that rejects every question, for where no client can be asked. */
export const unavailableAsker: (why: string) => Asker = memo((why) => {
  const refuse = async (): Promise<never> => {
    throw new QuestionError("unavailable", `The client cannot be asked here: ${why}.`);
  };
  return { elicit: refuse, elicitUrl: refuse, sample: refuse, listRoots: refuse, ping: refuse, ask: refuse };
});
