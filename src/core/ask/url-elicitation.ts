/**
 * Sending a person to a URL: for what must not pass through the client, such as passwords, payments and consent.
 *
 * @module
 * @see MCP 2025-11-25, client/elicitation, "URL Mode Elicitation Requests"
 */

import { inputRequired, toInputRequiredResult } from "../define/input-required.ts";
import type { McpServer } from "../define/server.ts";
import { KitError, McpError } from "../protocol/errors.ts";
import { ErrorCode, type JSONRPCRequest, type JsonObject } from "../protocol/jsonrpc.ts";
import type { AnsweringError } from "../run/run-handler.ts";
import type { Call } from "../serve/context.ts";
import { errorText } from "../serve/result.ts";
import type { Question } from "./question.ts";

/** Where a person should go, and why. */
export interface UrlElicitation {
  /** What the client shows before it asks for consent. */
  readonly message: string;
  /** Absolute. It should carry nothing that lets whoever sees it act for the person. */
  readonly url: string;
  /** Names this elicitation, for versions that have ids. @default a new UUID */
  readonly elicitationId?: string;
}

/** Consent, not completion: `accept` says that the person agreed to open the URL, not what happened there. */
export interface ElicitUrlResult {
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

/** The methods whose result may ask. @see MCP 2026-07-28, schema, `InputRequiredResult` */
const ASKING: readonly string[] = ["tools/call", "prompts/get", "resources/read"];

/**
 * Thrown by a tool, prompt or resource that can only go on when the person has been to these URLs. The client sends them
 * there and repeats its request: 2025-11-25 gets the error -32042, 2026-07-28 an `input_required` result with the keys
 * "url-1", "url-2" and so on, and what is older a text with messages and URLs.
 *
 * @throws {KitError} `options-invalid` when a URL does not parse.
 * @see MCP 2025-11-25, client/elicitation, "URL Elicitation Required Error"
 */
export class UrlElicitationRequiredError extends McpError implements AnsweringError {
  /** The params of each elicitation. */
  readonly elicitations: readonly JsonObject[];

  constructor(elicitations: readonly UrlElicitation[], text = "This request needs you to open a URL first.") {
    const params = elicitations.map(urlParams);
    super(ErrorCode.UrlElicitationRequired, text, { elicitations: params });
    this.elicitations = params;
  }

  /** In the version's own way: the error itself, a result that asks, or a text. */
  answer(
    server: McpServer<never>,
    request: JSONRPCRequest,
    call: Call<never>,
    kept?: JsonObject,
  ): JsonObject | Promise<JsonObject> {
    const { urlsRequired } = call.client.rules;
    if (urlsRequired === "error") throw this;
    if (urlsRequired === "result" && ASKING.includes(request.method)) {
      const questions = this.elicitations.map((params, at): [string, Question] => {
        return [`url-${at + 1}`, { method: "elicitation/create", params }];
      });
      return toInputRequiredResult(inputRequired(Object.fromEntries(questions)), server, request, call, kept);
    }
    const text = [this.message, ...this.elicitations.map(({ message, url }) => `${message}: ${url}`)].join("\n");
    if (request.method === "tools/call") return errorText(text);
    throw new McpError(ErrorCode.InternalError, text);
  }
}
