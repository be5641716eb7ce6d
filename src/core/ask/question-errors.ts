/**
 * The error that a handler gets if a question has no valid answer, and its messages.
 *
 * @module
 */

import { quote } from "../basics/quote.ts";
import type { ClientCapabilityName } from "../protocol/client-capabilities.ts";
import { KitError } from "../protocol/errors.ts";
import type { JSONRPCErrorObject } from "../protocol/jsonrpc.ts";
import type { Limits } from "../protocol/limits.ts";

/** Thrown when a question has no valid answer. A handler may catch it and continue without one. */
export class QuestionError extends Error {
  /** The class of the error. */
  override readonly name = "QuestionError";
  /**
   * unsupported: the client has not declared the capability. unavailable: this transport cannot ask. limit: `limits`
   * allows no more questions. refused: the client answered with an error. timeout: the client did not answer in time.
   * interrupted: the connection to the client ended. invalid-answer: the answer does not fit the question.
   */
  readonly reason: "unsupported" | "unavailable" | "limit" | "refused" | "timeout" | "interrupted" | "invalid-answer";
  /** The code of the client's error, for `refused`. */
  readonly code: number | undefined;
  /** The capabilities that the client has not declared, for `unsupported`. */
  readonly missing: readonly ClientCapabilityName[];

  /** Creates the error. The kit does this; tests may create their own. */
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

/** Returns the error for a client that answered with an error. */
export function refused({ code, message }: JSONRPCErrorObject): QuestionError {
  return new QuestionError("refused", `The client answered the question with an error: ${quote(message)}`, code);
}

/** Returns the error for a client that did not answer in time. */
export function timedOut(method: string): QuestionError {
  return new QuestionError("timeout", `The client did not answer ${method} in time.`);
}

/** Returns the error for a question whose client has disconnected. */
export function interrupted(): QuestionError {
  return new QuestionError("interrupted", "The client has disconnected.");
}

/** Returns the error for an answer that does not fit the question. */
export function invalidAnswer(method: string, problem: string): QuestionError {
  return new QuestionError("invalid-answer", `The client's answer to ${method} is not valid: ${problem}.`);
}

/** Returns the error for a sampling request that exceeds a limit. */
export function overLimit(what: "call" | "session", limit: keyof Limits, max: number): QuestionError {
  return new QuestionError(
    "limit",
    `This ${what} has asked the client's model ${max} times, the most that limits.${limit} allows.`,
  );
}

/** Returns the error for a question or step after the handler has returned. */
export function contextClosed(what: string): KitError {
  return new KitError("context-closed", `${what} is refused: the handler has returned.`);
}

/**
 * The description of each reason for clients. The message of the error is not sent, because the author's code may have
 * written it.
 */
const CAUSES: Readonly<Record<QuestionError["reason"], string>> = {
  unsupported: "the client does not support its question",
  unavailable: "questions cannot be asked over this connection",
  limit: "it asked the client's model too many times",
  refused: "the client answered its question with an error",
  timeout: "its question was not answered in time",
  interrupted: "the client has disconnected",
  "invalid-answer": "the client's answer was not valid",
};

/** Returns the message for clients about a question that failed. @param what The part that asked, such as the tool. */
export function explainQuestion(what: string, { reason, missing }: QuestionError): string {
  return missing.length > 0 ? needsCapabilities(what, missing) : `${what} failed: ${CAUSES[reason]}.`;
}

/** Returns the message for a client that lacks capabilities, with what its user can do. */
export function needsCapabilities(what: string, missing: readonly ClientCapabilityName[]): string {
  const names = missing.join(", ");
  return `${what} needs the client capability ${names}. Enable it in the settings of the client, or use another client.`;
}
