import type {
  JSONRPCErrorResponse,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
  JsonObject,
} from "../../core/protocol/jsonrpc.ts";

/** The answer to a request. */
export type Answer = JSONRPCResultResponse | JSONRPCErrorResponse;

/** Receives what a host gets beside the answer to a request. */
export interface Sink {
  send(message: JSONRPCNotification | JSONRPCRequest): void;
}

/** Returns a notification; without params if there are none. */
export function notification(method: string, params: JsonObject): JSONRPCNotification {
  return { jsonrpc: "2.0", method, ...(Object.keys(params).length === 0 ? {} : { params }) };
}
