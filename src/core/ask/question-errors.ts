/**
 * The error a handler gets when a question has no good answer, and the text of each cause.
 *
 * @module
 */
import type { ClientCapabilityName } from "../protocol/client-facts.ts";
import { KitError } from "../protocol/errors.ts";
import type { JSONRPCErrorObject } from "../protocol/jsonrpc.ts";
import type { Limits } from "../protocol/limits.ts";
import { quote } from "../protocol/quote.ts";

/** Why a question could not be answered. A handler may catch it and go on without. */
export class QuestionError extends Error {
  /** Tells the class of the error. */
  override readonly name = "QuestionError";
  /**
   * unsupported: the client has not declared it. unavailable: this way of serving cannot ask. refused: the client
   * answered with an error. limit: as many questions as `limits` allows were asked already.
   */
  readonly reason: "unsupported" | "unavailable" | "limit" | "refused" | "timeout" | "interrupted" | "invalid-answer";
  /** The code of the client's error, for `refused`. */
  readonly code: number | undefined;
  /** The capabilities that the client has not declared, for `unsupported`. */
  readonly missing: readonly ClientCapabilityName[];

  /** The kit makes these; a test may make its own. */
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

/** The client answered with an error. */
export function refused({ code, message }: JSONRPCErrorObject): QuestionError {
  return new QuestionError("refused", `The client answered the question with an error: ${quote(message)}`, code);
}

/** The client did not answer in time. */
export function timedOut(method: string): QuestionError {
  return new QuestionError("timeout", `The client did not answer ${method} in time.`);
}

/** No answer can arrive any more. */
export function interrupted(): QuestionError {
  return new QuestionError("interrupted", "The client is gone.");
}

/** The client's answer is not one to the question. */
export function invalidAnswer(method: string, problem: string): QuestionError {
  return new QuestionError("invalid-answer", `The client's answer to ${method} is not valid: ${problem}.`);
}

/** There were as many sampling requests as a limit allows. */
export function overLimit(what: "call" | "session", limit: keyof Limits, max: number): QuestionError {
  return new QuestionError(
    "limit",
    `This ${what} has asked the client's model ${max} times, the most that limits.${limit} allows.`,
  );
}

/** The handler that asks has returned, so nothing can wait for the answer. */
export function contextClosed(what: string): KitError {
  return new KitError("context-closed", `${what} is off: the handler has returned.`);
}
