/**
 * JSON-RPC 2.0 messages as MCP defines them: types, parsing and encoding.
 *
 * Optional members may also be `undefined`, because the types of the official SDK allow it and messages are exchanged
 * with it. JSON leaves such members out.
 *
 * @module
 * @see MCP 2026-07-28, basic, "Messages"
 */

import * as codes from "./error-codes.ts";

export type RequestId = string | number;
/** An object whose members may be of any type. */
export type JsonObject = { [key: string]: unknown };

/** A request, which gets one response. @see MCP 2026-07-28, basic, "Requests" */
export interface JSONRPCRequest {
  /** The version of JSON-RPC. */
  readonly jsonrpc: "2.0";
  /** The id, which the response repeats. */
  readonly id: RequestId;
  /** The method, such as `tools/call`. */
  readonly method: string;
  /** The parameters of the method. */
  readonly params?: JsonObject | undefined;
}

/** A notification, which gets no response. @see MCP 2026-07-28, basic, "Notifications" */
export interface JSONRPCNotification {
  /** The version of JSON-RPC. */
  readonly jsonrpc: "2.0";
  /** The method, such as `notifications/progress`. */
  readonly method: string;
  /** The parameters of the method. */
  readonly params?: JsonObject | undefined;
}

/** The response to a request that succeeded. @see MCP 2026-07-28, basic, "Responses" */
export interface JSONRPCResultResponse {
  /** The version of JSON-RPC. */
  readonly jsonrpc: "2.0";
  /** The id of the request. */
  readonly id: RequestId;
  /** The result of the method. */
  readonly result: JsonObject;
}

/** The error of a response. @see JSON-RPC 2.0, section 5.1 */
export interface JSONRPCErrorObject {
  /** A code of JSON-RPC, of MCP or of the server. */
  readonly code: number;
  /** A human-readable message. */
  readonly message: string;
  /** Details of the error for programs. */
  readonly data?: unknown;
}

/** The response to a request that failed. @see MCP 2026-07-28, basic, "Responses" */
export interface JSONRPCErrorResponse {
  /** The version of JSON-RPC. */
  readonly jsonrpc: "2.0";
  /** Absent only when the id of the offending message could not be read. */
  readonly id?: RequestId | undefined;
  /** The code, the message and the data of the error. */
  readonly error: JSONRPCErrorObject;
}

/** A message of either side. */
export type JSONRPCMessage = JSONRPCRequest | JSONRPCNotification | JSONRPCResultResponse | JSONRPCErrorResponse;

/** The error codes that the kit sends. @see MCP 2026-07-28, basic, "Error Codes" */
export const ErrorCode = {
  /** The message is not JSON. */
  ParseError: codes.ParseError,
  /** The message is not a valid request, or is not allowed now. */
  InvalidRequest: codes.InvalidRequest,
  /** The method does not exist, or is not available to this client. */
  MethodNotFound: codes.MethodNotFound,
  /** The parameters do not fit the method. */
  InvalidParams: codes.InvalidParams,
  /** The server failed. */
  InternalError: codes.InternalError,
  /** 2025-11-25 only. */
  UrlElicitationRequired: codes.UrlElicitationRequired,
  /** Modern only. */
  HeaderMismatch: codes.HeaderMismatch,
  /** Modern only. */
  MissingRequiredClientCapability: codes.MissingRequiredClientCapability,
  /** Modern only. */
  UnsupportedProtocolVersion: codes.UnsupportedProtocolVersion,
} as const;

/** A parsed JSON value and its kind. An `invalid` value has the id for the error response, if it could be read. */
export type ParsedMessage =
  | { readonly kind: "request"; readonly message: JSONRPCRequest }
  | { readonly kind: "notification"; readonly message: JSONRPCNotification }
  | { readonly kind: "response"; readonly message: JSONRPCResultResponse | JSONRPCErrorResponse }
  | {
      readonly kind: "invalid";
      readonly problem: string;
      readonly id?: RequestId;
      /** Whether it has a method and no id. A notification gets no response, even if it is invalid. */
      readonly isNotification: boolean;
    };

/** Whether a value is a JSON object: not null, not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is a valid id: a string or an integer. 0 and "" are ids; null and 1.5 are not. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value));
}

/** Classifies a parsed JSON value. Never throws. */
export function parseMessage(value: unknown): ParsedMessage {
  if (!isObject(value)) return { kind: "invalid", problem: "it is not an object", isNotification: false };
  const { id } = value;
  if (value.jsonrpc !== "2.0") return invalid(value, '"jsonrpc" is not "2.0"');
  if (id !== undefined && !isRequestId(id)) return invalid(value, '"id" is not a string or an integer');
  if (value.method === undefined) return parseResponse(value);
  if (typeof value.method !== "string") return invalid(value, '"method" is not a string');
  if (value.params !== undefined && !isObject(value.params)) return invalid(value, '"params" is not an object');
  // Each member was checked above, so the cast is safe. The object itself is returned, to keep unknown members.
  return id === undefined
    ? { kind: "notification", message: value as unknown as JSONRPCNotification }
    : { kind: "request", message: value as unknown as JSONRPCRequest };
}

function parseResponse(value: JsonObject): ParsedMessage {
  const { error, result } = value;
  if (isObject(error) && result === undefined) {
    if (!Number.isInteger(error.code) || typeof error.message !== "string") {
      return invalid(value, '"error" has no integer "code" or no string "message"');
    }
    return { kind: "response", message: value as unknown as JSONRPCErrorResponse };
  }
  if (isObject(result) && error === undefined && value.id !== undefined) {
    return { kind: "response", message: value as unknown as JSONRPCResultResponse };
  }
  return invalid(value, 'there is no "method", and neither "result" with "id" nor "error"');
}

function invalid(value: JsonObject, problem: string): ParsedMessage {
  const { id, method } = value;
  const isNotification = id === undefined && typeof method === "string";
  return { kind: "invalid", problem, isNotification, ...(isRequestId(id) ? { id } : {}) };
}

/**
 * JSON text that is inserted into a message unchanged, so that a list is encoded only once in an isolate.
 */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Encodes a result response. */
export function encodeResult(id: RequestId, result: JsonObject | JsonText): string {
  const body = result instanceof JsonText ? result.text : JSON.stringify(result);
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${body}}`;
}

/** Encodes an error response. An undefined id is left out, because null is not a valid id in MCP. */
export function encodeError(id: RequestId | undefined, error: JSONRPCErrorObject): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}
