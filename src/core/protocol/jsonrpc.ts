/**
 * JSON-RPC 2.0 as MCP narrows it: building, parsing and classifying single messages. Plain values in and out.
 *
 * An optional member may be `undefined` as well, which JSON leaves out: the types of the official SDK allow it, and
 * messages pass between the two.
 *
 * @module
 * @see MCP 2026-07-28, basic, "Messages"
 */

export type RequestId = string | number;
export type JsonObject = { [key: string]: unknown };

/** A request, which is answered once. @see MCP 2026-07-28, basic, "Requests" */
export interface JSONRPCRequest {
  /** The version of JSON-RPC. */
  readonly jsonrpc: "2.0";
  /** The id that the answer repeats. */
  readonly id: RequestId;
  /** The method, such as `tools/call`. */
  readonly method: string;
  /** The parameters of the method. */
  readonly params?: JsonObject | undefined;
}

/** A notification, which is not answered. @see MCP 2026-07-28, basic, "Notifications" */
export interface JSONRPCNotification {
  /** The version of JSON-RPC. */
  readonly jsonrpc: "2.0";
  /** The method, such as `notifications/progress`. */
  readonly method: string;
  /** The parameters of the method. */
  readonly params?: JsonObject | undefined;
}

/** The answer to a request that succeeded. @see MCP 2026-07-28, basic, "Responses" */
export interface JSONRPCResultResponse {
  /** The version of JSON-RPC. */
  readonly jsonrpc: "2.0";
  /** The id of the request. */
  readonly id: RequestId;
  /** The result of the method. */
  readonly result: JsonObject;
}

export interface JSONRPCErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The answer to a request that failed. @see MCP 2026-07-28, basic, "Responses" */
export interface JSONRPCErrorResponse {
  /** The version of JSON-RPC. */
  readonly jsonrpc: "2.0";
  /** Absent only when the id of the offending message could not be read. */
  readonly id?: RequestId | undefined;
  /** The code, a text for people, and data if there is any. */
  readonly error: JSONRPCErrorObject;
}

/** A single message of either side. */
export type JSONRPCMessage = JSONRPCRequest | JSONRPCNotification | JSONRPCResultResponse | JSONRPCErrorResponse;

/** Error codes this kit emits. @see MCP 2026-07-28, basic, "Error Codes" */
export const ErrorCode = {
  /** The message is not JSON. */
  ParseError: -32700,
  /** The message is not a request, or cannot be served as it is. */
  InvalidRequest: -32600,
  /** The method does not exist, or not for this client. */
  MethodNotFound: -32601,
  /** The parameters do not fit the method. */
  InvalidParams: -32602,
  /** The server failed. */
  InternalError: -32603,
  /** 2025-11-25 only. */
  UrlElicitationRequired: -32042,
  /** Modern only. */
  HeaderMismatch: -32020,
  /** Modern only. */
  MissingRequiredClientCapability: -32021,
  /** Modern only. */
  UnsupportedProtocolVersion: -32022,
} as const;

/** One parsed JSON value, classified. `invalid` carries the id when it could be read, so an answer can echo it. */
export type ParsedMessage =
  | { readonly kind: "request"; readonly message: JSONRPCRequest }
  | { readonly kind: "notification"; readonly message: JSONRPCNotification }
  | { readonly kind: "response"; readonly message: JSONRPCResultResponse | JSONRPCErrorResponse }
  | {
      readonly kind: "invalid";
      readonly problem: string;
      readonly id?: RequestId;
      /** A method without an id: however bad, a notification is never answered. */
      readonly isNotification: boolean;
    };

/** True for a plain JSON object: not null, not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True for a legal id: a string or an integer. 0 and "" are ids; null and 1.5 are not. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value));
}

/** Classifies one parsed JSON value. Total: never throws, and every value has exactly one kind. */
export function parseMessage(value: unknown): ParsedMessage {
  if (!isObject(value)) return { kind: "invalid", problem: "a message is a JSON object", isNotification: false };
  const { id } = value;
  if (value.jsonrpc !== "2.0") return invalid(value, '"jsonrpc" is not "2.0"');
  if (id !== undefined && !isRequestId(id)) return invalid(value, '"id" is not a string or an integer');
  if (value.method === undefined) return parseResponse(value);
  if (typeof value.method !== "string") return invalid(value, '"method" is not a string');
  if (value.params !== undefined && !isObject(value.params)) return invalid(value, '"params" is not an object');
  // Checked above field by field; the object itself is kept so that unknown members survive.
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

/** JSON text that is spliced into a message as it is, so that a list is encoded once per isolate, not once per call. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** The text of a result response. */
export function encodeResult(id: RequestId, result: JsonObject | JsonText): string {
  const body = result instanceof JsonText ? result.text : JSON.stringify(result);
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${body}}`;
}

/** The text of an error response. Without an id the member is left out (null is not a legal id in MCP). */
export function encodeError(id: RequestId | undefined, error: JSONRPCErrorObject): string {
  return JSON.stringify({ jsonrpc: "2.0", ...(id === undefined ? {} : { id }), error });
}
