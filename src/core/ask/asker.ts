/**
 * How a handler asks its client in the middle of a request. What really asks comes with sessions and connections; where
 * nobody can be asked only the error is bundled.
 *
 * @module
 */

import type { McpServer } from "../define/server.ts";
import type { ClientCapabilityName } from "../protocol/client-facts.ts";
import type { JSONRPCRequest, JsonObject } from "../protocol/jsonrpc.ts";
import { memo } from "../protocol/memo.ts";
import type { AnySchema, InferOutput } from "../protocol/schema.ts";
import type { QuestionOptions } from "../run/run-handler.ts";
import type { HookedCall } from "../serve/hooks.ts";
import type { ElicitationSchema } from "./elicitation-schema.ts";
import type { Question } from "./question.ts";
import type { ElicitResult, Root, SampleParams, SampleResult } from "./questions.ts";
import type { ElicitUrlResult, UrlElicitation } from "./url-elicitation.ts";

/** What comes back from a form of this schema. */
export type Elicited<S extends AnySchema | ElicitationSchema> = ElicitResult<
  S extends AnySchema ? InferOutput<S> : JsonObject
>;

/** The request whose handler asks. */
export interface AskedBy {
  readonly server: McpServer<never>;
  readonly request: JSONRPCRequest;
  readonly call: HookedCall<never>;
}

export interface AskedOptions extends QuestionOptions {
  /** Throws what is wrong with an answer. It is still given as it stands. */
  readonly read?: (answer: unknown) => unknown;
  /** Of the question, where what came of it is kept. */
  readonly digest?: string;
}

/** Asks one client. Every method rejects with a {@link QuestionError} when there is no good answer. */
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
  /** Throws what asking this would throw before anything is sent. Absent where nobody can be asked. */
  check?(question: Question): void;
  /** One question as it stands; the answer is not checked. */
  ask(question: Question, signal: AbortSignal, options?: AskedOptions): Promise<unknown>;
  /** The same for one request, so that what it asks is reported with it. Absent where nobody can be asked. */
  for?(by: AskedBy): Asker;
  /** The asker of one context; absent where there is nothing to close. */
  forContext?(): Asker;
  /** For when the handler has returned: what is open is called off, what comes later rejects, with a {@link KitError}. */
  close?(): void;
}

/** Why a question could not be answered. A handler may catch it and go on without. */
export class QuestionError extends Error {
  override readonly name = "QuestionError";
  /**
   * unsupported: the client has not declared it. unavailable: this way of serving cannot ask. refused: the client
   * answered with an error. limit: as many questions as `limits` allows were asked already.
   */
  readonly reason: "unsupported" | "unavailable" | "limit" | "refused" | "timeout" | "interrupted" | "invalid-answer";
  /** The code of the client's error, for `refused`. */
  readonly code: number | undefined;
  /** What the client has not declared, for `unsupported`. */
  readonly missing: readonly ClientCapabilityName[];

  constructor(
    reason: QuestionError["reason"],
    message: string,
    code?: number,
    missing: readonly ClientCapabilityName[] = [],
  ) {
    super(message);
    this.reason = reason;
    this.code = code;
    this.missing = missing;
  }
}

/** An asker where nobody can be asked. */
export const askNobody: (why: string) => Asker = memo((why) => {
  const refuse = async (): Promise<never> => {
    throw new QuestionError("unavailable", `The client cannot be asked here: ${why}.`);
  };
  return { elicit: refuse, elicitUrl: refuse, sample: refuse, listRoots: refuse, ping: refuse, ask: refuse };
});
