import {
  ErrorCode,
  encodeError,
  type JSONRPCErrorResponse,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResultResponse,
  type JsonObject,
} from "../../core/protocol/jsonrpc.ts";

/** The answer to a request. */
export type JSONRPCResponse = JSONRPCResultResponse | JSONRPCErrorResponse;

/** Receives what a host gets beside the answer to a request. */
export interface Sink {
  /** @throws {RangeError} for a message that JSON text cannot express. */
  send(message: JSONRPCNotification | JSONRPCRequest): void;
}

/** Returns a notification; without params if there are none. */
export function notification(method: string, params: JsonObject): JSONRPCNotification {
  return { jsonrpc: "2.0", method, ...(Object.keys(params).length === 0 ? {} : { params }) };
}

/** Encodes an answer. In place of one that JSON text cannot express, the host gets an error with the id of its request. */
export function encodeResponse(answer: JSONRPCResponse): string {
  try {
    return JSON.stringify(answer);
  } catch (error) {
    const message = `The server's answer is nested too deeply, or too large, to be passed on (${error}).`;
    const data = { reason: "answer-invalid", mayHaveRun: true };
    return encodeError(answer.id, { code: ErrorCode.InternalError, message, data });
  }
}
