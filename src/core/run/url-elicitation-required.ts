/**
 * The error that asks the user to open URLs before a request can be served.
 *
 * @module
 * @see MCP 2025-11-25, client/elicitation, "URL Elicitation Required Error"
 */

import type { Question } from "../ask/questions.ts";
import { type UrlElicitation, urlParams } from "../ask/url-elicitation.ts";
import { errorText } from "../protocol/content.ts";
import * as ErrorCode from "../protocol/error-codes.ts";
import { McpError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { findRequest } from "../protocol/methods.ts";
// This import also installs the rounds, which serve the next request of the client.
import { inputRequired } from "./input-required.ts";
import { toInputRequiredResult } from "./input-required-result.ts";
import type { RequestContext } from "./request-context.ts";

/**
 * Thrown by a tool, prompt or resource that can only continue after the user has opened these URLs. Then the client
 * repeats its request. Clients of 2025-11-25 get the error -32042, modern clients an `input_required` result
 * with the keys "url-1", "url-2" and so on, and older clients a text with messages and URLs.
 *
 * @throws {KitError} `options-invalid` if a URL is not absolute.
 * @see MCP 2025-11-25, client/elicitation, "URL Elicitation Required Error"
 */
export class UrlElicitationRequiredError extends McpError {
  /** The params of each elicitation. */
  readonly elicitations: readonly JsonObject[];

  /** Creates the error from the URLs and a message. */
  constructor(elicitations: readonly UrlElicitation[], text = "This request needs you to open a URL first.") {
    const params = elicitations.map(urlParams);
    super(ErrorCode.UrlElicitationRequired, text, { elicitations: params });
    this.elicitations = params;
  }

  /**
   * Implements `AnsweringError`: returns or throws the form that the client's protocol version defines, which is an error, a
   * result that asks, or a text.
   *
   * @internal
   */
  answer(context: RequestContext, kept?: JsonObject): JsonObject | Promise<JsonObject> {
    const { urlsRequired } = context.client.rules;
    const { runs } = findRequest(context.request.method) ?? {};
    if (urlsRequired === "error") throw this;
    if (urlsRequired === "result" && runs) {
      const questions = this.elicitations.map((params, at): [string, Question] => {
        return [`url-${at + 1}`, { method: "elicitation/create", params }];
      });
      return toInputRequiredResult(inputRequired(Object.fromEntries(questions)), context, kept);
    }
    const text = [this.message, ...this.elicitations.map(({ message, url }) => `${message}: ${url}`)].join("\n");
    if (runs === "tool") return errorText(text);
    throw new McpError(ErrorCode.InternalError, text);
  }
}
