/**
 * From one request to the text of its response, for both eras. A method an era lacks is absent from its table, so it
 * falls to -32601 by itself.
 *
 * @module
 */
import type { Call } from "./context.ts";
import { McpError, toErrorObject } from "./errors.ts";
import { ErrorCode, encodeError, encodeResult, type JSONRPCRequest, JsonText } from "./jsonrpc.ts";
import { completeResult } from "./lifecycle.ts";
import { METHODS } from "./methods.ts";
import { quote } from "./quote.ts";
import type { McpServer } from "./server.ts";

/** A response: its text, and the error code when it is an error (HTTP derives a status from it). */
export interface Answer {
  readonly text: string;
  readonly errorCode: number | undefined;
}

/** Serves one request. Never rejects: whatever goes wrong is an error response, and unknown exceptions go to `onError`. */
export async function dispatch<Env>(server: McpServer<Env>, request: JSONRPCRequest, call: Call<Env>): Promise<Answer> {
  // Handlers see the Env they were defined with; in between it is opaque.
  const [anyServer, anyCall] = [server as unknown as McpServer<never>, call as unknown as Call<never>];
  try {
    const result = await findMethod(anyServer, request, anyCall)(anyServer, request, anyCall);
    const { rules } = call.client;
    const complete = result instanceof JsonText ? result : completeResult(result, anyServer, rules);
    return { text: encodeResult(request.id, complete), errorCode: undefined };
  } catch (error) {
    const known = McpError.is(error) ? error : redact(error, anyServer, request, anyCall);
    return { text: encodeError(request.id, toErrorObject(known)), errorCode: known.code };
  }
}

function findMethod(server: McpServer<never>, request: JSONRPCRequest, call: Call<never>) {
  const methods = METHODS[call.client.rules.era];
  const method = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
  if (method && (method.isOffered?.(server, call) ?? true)) return method.serve;
  throw new McpError(ErrorCode.MethodNotFound, `Method not found: ${quote(request.method)}`);
}

/**
 * True for requests that run no author code: they end at once and emit nothing, so they are served where they arrive
 * and wake no object for the work.
 */
export function isStatic(server: McpServer<never>, request: JSONRPCRequest): boolean {
  return METHODS.legacy[request.method]?.isStatic?.(server) ?? false;
}

/** -32603 with a correlation id in place of the exception, which goes to `onError` under the same id. */
function redact(error: unknown, server: McpServer<never>, request: JSONRPCRequest, call: Call<never>): McpError {
  const correlationId = crypto.randomUUID();
  server.report(error, { correlationId, method: request.method, requestId: request.id }, call.onError);
  return new McpError(ErrorCode.InternalError, `Internal error. Reference: ${correlationId}`, {
    reason: "internal",
    correlationId,
  });
}
