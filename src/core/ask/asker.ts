/**
 * The interface through which a handler asks its client in the middle of a request. Sessions and connections provide
 * the implementation that sends questions. Where the client cannot be asked, only the one that refuses is bundled.
 *
 * @module
 */
import type { Reporter } from "../protocol/error-reports.ts";
import type { HookedCall } from "../protocol/execution.ts";
import type { JSONRPCRequest } from "../protocol/jsonrpc.ts";
import { memo } from "../protocol/memo.ts";
import type { AnySchema } from "../protocol/schema.ts";
import type { Elicited, Root } from "./answers.ts";
import type { ElicitationSchema } from "./elicitation-schema.ts";
import { QuestionError } from "./question-errors.ts";
import type { Question } from "./questions.ts";
import type { SampleHook } from "./sampling-audit.ts";
import type { SampleParams, SampleResult } from "./sampling-params.ts";
import type { ElicitUrlResult, UrlElicitation } from "./url-elicitation.ts";

/** The name that a handler gives a question. */
export interface QuestionOptions {
  /**
   * Distinguishes this question from the handler's other questions, even if its text changes.
   *
   * @default derived from the question
   */
  readonly key?: string;
}

/** The part of a server to which questions are reported. */
export interface QuestionReporter extends Reporter {
  readonly options: { readonly onSample?: SampleHook | undefined };
}

/** The request whose handler asks. */
export interface AskedBy {
  readonly server: QuestionReporter;
  readonly request: JSONRPCRequest;
  readonly call: HookedCall;
}

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
