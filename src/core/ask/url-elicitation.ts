/**
 * Questions that send the user to a URL, for data that must not pass through the client, such as passwords and
 * payments.
 *
 * @module
 * @see MCP 2025-11-25, client/elicitation, "URL Mode Elicitation Requests"
 */
import { KitError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { Question } from "./questions.ts";

/** A URL for the user to open, and the reason. */
export interface UrlElicitation {
  /** The text that the client shows when it asks for consent. */
  readonly message: string;
  /** An absolute URL. It must not contain a secret with which another person could act for the user. */
  readonly url: string;
  /** The id of the elicitation, for versions that have such ids. @default a new UUID */
  readonly elicitationId?: string;
}

/** The user's consent to open a URL. `accept` does not mean that the user completed anything there. */
export interface ElicitUrlResult {
  /** Whether the user agreed to open the URL, declined, or closed the question. */
  readonly action: "accept" | "decline" | "cancel";
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
 * Returns the question that sends the user to a URL, for `inputRequired({ ... })`.
 *
 * @throws {KitError} `options-invalid` if the URL is not absolute.
 */
export function elicitUrlQuestion(elicitation: UrlElicitation): Question {
  return { method: "elicitation/create", params: urlParams(elicitation) };
}
