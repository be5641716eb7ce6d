/**
 * Determines the outcome of an exchange from its status and its messages.
 *
 * @module
 */
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { EntryOutcome } from "../entry.ts";
import { isReason } from "../redact/words.ts";

/** An outcome, and the text that describes it. */
export interface Ending {
  readonly outcome: EntryOutcome;
  readonly text?: string;
}

const CODES: ReadonlyMap<number, string> = new Map([
  [ErrorCode.ParseError, "not JSON"],
  [ErrorCode.InvalidRequest, "invalid request"],
  [ErrorCode.MethodNotFound, "method not found"],
  [ErrorCode.InvalidParams, "invalid params"],
  [ErrorCode.InternalError, "internal error"],
  [ErrorCode.UrlElicitationRequired, "a URL must be opened first"],
  [ErrorCode.HeaderMismatch, "header mismatch"],
  [ErrorCode.MissingRequiredClientCapability, "the client lacks a capability"],
  [ErrorCode.UnsupportedProtocolVersion, "protocol version not supported"],
  [-32002, "resource not found"],
  [-1, "rejected by the user"],
]);

/** Returns the outcome of a request from its JSON-RPC response. */
export function endingOf(answer: unknown, showText: (text: string) => string | undefined): Ending {
  if (!isObject(answer)) return { outcome: "error", text: "the response is not a JSON-RPC message" };
  const { error, result } = answer;
  if (isObject(error)) return endingOfError(error, showText);
  if (!isObject(result)) return { outcome: "error", text: "the response has neither result nor error" };
  if (result.resultType === "input_required") return { outcome: "input-required", text: countQuestions(result) };
  if (result.isError === true) return { outcome: "tool-error", ...withText(firstText(result), showText) };
  return { outcome: "ok" };
}

function endingOfError(error: JsonObject, showText: (text: string) => string | undefined): Ending {
  const reason = isObject(error.data) && typeof error.data.reason === "string" ? error.data.reason : undefined;
  const code = typeof error.code === "number" ? error.code : 0;
  const named = reason !== undefined && isReason(reason) ? reason : CODES.get(code);
  const message = typeof error.message === "string" ? showText(error.message) : undefined;
  const text = [String(code), named, message].filter((part) => part !== undefined).join(" ");
  return { outcome: reason === "timeout" ? "timeout" : "error", text };
}

function countQuestions({ inputRequests }: JsonObject): string {
  const count = isObject(inputRequests) ? Object.keys(inputRequests).length : 0;
  return count === 1 ? "1 question" : `${count} questions`;
}

function firstText({ content }: JsonObject): string | undefined {
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  return isObject(first) && typeof first.text === "string" ? first.text : undefined;
}

function withText(text: string | undefined, show: (text: string) => string | undefined): { readonly text?: string } {
  const shown = text === undefined ? undefined : show(text);
  return shown === undefined ? {} : { text: shown };
}

/** Returns the outcome of a response with a status of 400 or more. Its text includes the error of the body, if there is one. */
export function endingOfStatus(status: number, body: unknown, showText: (text: string) => string | undefined): Ending {
  const outcome = status >= 500 ? "error" : "refused";
  if (!isObject(body)) return { outcome, text: String(status) };
  // The error of an OAuth endpoint is a string (RFC 6749, section 5.2).
  if (typeof body.error === "string")
    return { outcome, text: isReason(body.error) ? `${status} ${body.error}` : String(status) };
  if (!isObject(body.error)) return { outcome, text: String(status) };
  const { text = "" } = endingOfError(body.error, showText);
  const [, ...rest] = text.split(" ");
  return { outcome, text: [String(status), ...rest].join(" ") };
}
