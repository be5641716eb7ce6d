import * as ErrorCode from "../../core/protocol/error-codes.ts";
import {
  encodeError,
  type JSONRPCErrorResponse,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResultResponse,
  type JsonObject,
} from "../../core/protocol/jsonrpc.ts";

/** The response to a request: a result or an error. */
export type JSONRPCResponse = JSONRPCResultResponse | JSONRPCErrorResponse;

/** Receives the messages to a host that are not responses. */
export interface Sink {
  /** @throws {RangeError} if the message is too deep or too large to be encoded as JSON. */
  send(message: JSONRPCNotification | JSONRPCRequest): void;
}

/** Creates a notification. Empty params are left out. */
export function notification(method: string, params: JsonObject): JSONRPCNotification {
  return { jsonrpc: "2.0", method, ...(Object.keys(params).length === 0 ? {} : { params }) };
}

/** Encodes a response as JSON. If that is impossible, returns an error with the id of the request. */
export function encodeResponse(response: JSONRPCResponse): string {
  try {
    return JSON.stringify(response);
  } catch (error) {
    const message = `The server's response is nested too deeply, or too large, to be passed on (${error}).`;
    const data = { reason: "answer-invalid", mayHaveRun: true };
    return encodeError(response.id, { code: ErrorCode.InternalError, message, data });
  }
}
