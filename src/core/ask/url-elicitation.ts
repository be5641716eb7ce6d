/**
 * Sending a person to a URL: for what must not pass through the client, such as passwords, payments and consent.
 *
 * @module
 * @see MCP 2025-11-25, client/elicitation, "URL Mode Elicitation Requests"
 */
import { KitError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { Question } from "./questions.ts";

/** A URL that a person should open, and the reason. */
export interface UrlElicitation {
  /** The text that the client shows when it asks for consent. */
  readonly message: string;
  /** An absolute URL. It must not contain a secret that lets others who see it act for the person. */
  readonly url: string;
  /** Names this elicitation, for versions that have ids. @default a new UUID */
  readonly elicitationId?: string;
}

/** The user's consent to open a URL. `accept` does not say that anything was completed there. */
export interface ElicitUrlResult {
  /** Whether the user agreed to open the URL, declined, or closed the question. */
  readonly action: "accept" | "decline" | "cancel";
  /** The id that was given or made. */
  readonly elicitationId: string;
}

/** The params of the request. @throws {KitError} `options-invalid` when the URL does not parse. */
export function urlParams({ message, url, elicitationId = crypto.randomUUID() }: UrlElicitation): JsonObject & {
  readonly elicitationId: string;
} {
  if (!URL.canParse(url)) throw new KitError("options-invalid", `"${url}" is no absolute URL to send a person to.`);
  return { mode: "url", message, url, elicitationId };
}

/**
 * The question that sends a person to a URL, for `inputRequired({ ... })`. Versions without elicitation ids get none.
 *
 * @throws {KitError} `options-invalid` when the URL does not parse.
 */
export function elicitUrlQuestion(elicitation: UrlElicitation): Question {
  return { method: "elicitation/create", params: urlParams(elicitation) };
}
