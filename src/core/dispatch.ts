/**
 * From one request to the text of its response, for both eras. A method an era lacks is absent from its table, so it
 * falls to -32601 by itself.
 *
 * @module
 */
import type { Call } from "./context.ts";
import { invalidParams, McpError, toErrorObject } from "./errors.ts";
import { ErrorCode, encodeError, encodeResult, type JSONRPCRequest, type JsonObject, JsonText } from "./jsonrpc.ts";
import { META, negotiate } from "./lifecycle.ts";
import { quote } from "./quote.ts";
import type { McpServer } from "./server.ts";
import { callTool } from "./tool-call.ts";
import type { Era } from "./versions.ts";

/** A response: its text, and the error code when it is an error (HTTP derives a status from it). */
export interface Answer {
  readonly text: string;
  readonly errorCode: number | undefined;
}

type Method = (
  server: McpServer<never>,
  request: JSONRPCRequest,
  call: Call<never>,
) => JsonObject | JsonText | Promise<JsonObject>;

/** Methods that run no author code: they end at once and emit nothing. */
const LISTS: Record<string, Method> = { "tools/list": listTools };

const METHODS: Readonly<Record<Era, Readonly<Record<string, Method>>>> = {
  legacy: {
    ...LISTS,
    initialize: (server, request) => negotiate(server, request).result,
    ping: () => ({}),
    "tools/call": callTool,
  },
  modern: { ...LISTS, "server/discover": discover, "tools/call": callTool },
};

/** True for methods that only read what is compiled: served where they arrive, without waking an object for the work. */
export function isStaticMethod(method: string): boolean {
  return method === "ping" || Object.hasOwn(LISTS, method);
}

/** Serves one request. Never rejects: whatever goes wrong is an error response, and unknown exceptions go to `onError`. */
export async function dispatch<Env>(server: McpServer<Env>, request: JSONRPCRequest, call: Call<Env>): Promise<Answer> {
  // Handlers see the Env they were defined with; in between it is opaque.
  const [anyServer, anyCall] = [server as unknown as McpServer<never>, call as unknown as Call<never>];
  try {
    const methods = METHODS[call.client.rules.era];
    const method = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
    if (!method || (request.method.startsWith("tools/") && server.tools.size === 0))
      throw unknownMethod(request.method);
    const result = await method(anyServer, request, anyCall);
    return { text: encodeResult(request.id, complete(result, anyServer, anyCall)), errorCode: undefined };
  } catch (error) {
    const known = McpError.is(error) ? error : redact(error, anyServer, request, anyCall);
    return { text: encodeError(request.id, toErrorObject(known)), errorCode: known.code };
  }
}

/** -32601 naming the method. */
export function unknownMethod(method: string): McpError {
  return new McpError(ErrorCode.MethodNotFound, `Method not found: ${quote(method)}`);
}

/** Adds what every modern result has; lists already carry it in their text. */
function complete(result: JsonObject | JsonText, server: McpServer<never>, call: Call<never>): JsonObject | JsonText {
  const { rules } = call.client;
  if (!rules.resultEnvelope || result instanceof JsonText) return result;
  const meta = { ...(result._meta as JsonObject | undefined), [META.serverInfo]: server.info(rules) };
  return { resultType: "complete", ...result, _meta: meta };
}

function discover(server: McpServer<never>): JsonObject {
  return {
    supportedVersions: server.versions.modern.map((rules) => rules.version),
    capabilities: server.capabilities(),
    ...(server.instructions === undefined ? {} : { instructions: server.instructions }),
    ...server.cacheHint("server/discover"),
  };
}

function listTools(server: McpServer<never>, request: JSONRPCRequest, call: Call<never>): JsonText {
  const { rules } = call.client;
  if (request.params?.cursor !== undefined)
    throw invalidParams("params.cursor was not issued by this server.", { field: "cursor" });
  const tools = server.tools.listText(rules);
  if (!rules.resultEnvelope) return new JsonText(`{"tools":${tools}}`);
  const envelope = complete({ ...server.cacheHint("tools/list") }, server, call);
  return new JsonText(`{"tools":${tools},${JSON.stringify(envelope).slice(1)}`);
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
