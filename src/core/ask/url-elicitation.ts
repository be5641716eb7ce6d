/**
 * Questions that send the user to a URL, for data that must not pass through the client, such as passwords and
 * payments.
 *
 * @module
 * @see MCP 2025-11-25, client/elicitation, "URL Mode Elicitation Requests"
 */
import { KitError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { type ElicitResult, readAnswer } from "./answers.ts";
import type { QuestionOptions } from "./question-options.ts";
import type { Question } from "./questions.ts";

/** A URL that the user must open, and the message that explains it. */
export interface UrlElicitation {
  /** The message that the client shows when it asks for consent. */
  readonly message: string;
  /** An absolute URL. It must not contain a secret with which another person could act for the user. */
  readonly url: string;
  /** The id of the elicitation, for versions that have such ids. @default a new UUID */
  readonly elicitationId?: string;
}

/** Options of `ctx.elicitUrl`. */
export interface ElicitUrlOptions extends QuestionOptions, Pick<UrlElicitation, "elicitationId"> {}

/** The user's answer to a URL: an {@link ElicitResult} that has no content. */
export interface ElicitUrlResult extends Pick<ElicitResult, "action"> {
  /** The id from the elicitation, or the generated one. */
  readonly elicitationId: string;
}

/** Returns the params of the request. @throws {KitError} `options-invalid` if the URL is not absolute. */
export function urlParams({ message, url, elicitationId = crypto.randomUUID() }: UrlElicitation): JsonObject & {
  readonly elicitationId: string;
} {
  if (!URL.canParse(url)) throw new KitError("options-invalid", `"${url}" is not an absolute URL.`);
  return { mode: "url", message, url, elicitationId };
}

/**
 * Returns the question that asks the user to open a URL, for `inputRequired({ ... })`.
 *
 * @param message The message that the client shows when it asks for consent.
 * @param url An absolute URL. It must not contain a secret that lets others who see it act for the user.
 * @throws {KitError} `options-invalid` if the URL is not absolute.
 */
export function elicitUrlQuestion(
  message: string,
  url: string,
  options?: Pick<ElicitUrlOptions, "elicitationId">,
): Question {
  return { method: "elicitation/create", params: urlParams({ ...options, message, url }) };
}

/**
 * Reads the answer to an {@link elicitUrlQuestion}, from `ctx.inputResponses`.
 *
 * @throws {QuestionError} `invalid-answer` if its action is not accept, decline or cancel.
 */
export function readElicitUrlResult(answer: unknown): Pick<ElicitUrlResult, "action"> {
  return { action: readAnswer(answer).action };
}
