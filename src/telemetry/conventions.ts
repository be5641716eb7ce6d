/**
 * The attributes and names that the semantic conventions of OpenTelemetry define for MCP.
 *
 * Whatever comes from a client is bounded. A client can also make up names of methods, tools and prompts, so names that
 * the server does not have are not used as names of spans and attributes of metrics, whose number they would increase
 * without limit.
 *
 * @module
 * @see https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md
 */
import { fingerprint } from "../core/basics/bytes.ts";
import { printable } from "../core/basics/quote.ts";
import { McpError } from "../core/protocol/errors.ts";
import { ErrorCode, isObject, type RequestId } from "../core/protocol/jsonrpc.ts";
import type { Attributes, Failure } from "./spans.ts";

/** What an operation is about. */
export interface Operation {
  readonly method: string;
  readonly tool?: string | undefined;
  readonly prompt?: string | undefined;
  readonly uri?: string | undefined;
  readonly requestId?: RequestId | undefined;
}

/** The transport of an operation: HTTP, or a pipe such as stdio. */
export type NetworkTransport = "tcp" | "pipe";

/** The maximum length of a string attribute. @limit characters A string in a span, except for arguments and results. A longer string is cut off. */
const TEXT_MAX = 256;

/** The maximum length of arguments and results. @limit characters The arguments or the result of a call in a span, with `contents: true`. Longer ones are cut off. */
const CONTENTS_MAX = 4096;

/** The name for everything that the server does not have. */
export const OTHER = "_OTHER";

/** Returns the members that are not undefined, with long strings cut off. */
export function toAttributes(members: Readonly<Record<string, string | number | boolean | undefined>>): Attributes {
  const present = Object.entries(members).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return [[name, typeof value === "string" ? shorten(value, TEXT_MAX) : value] as const];
  });
  return Object.fromEntries(present);
}

function shorten(text: string, charsMax: number): string {
  return printable(text.length > charsMax ? `${text.slice(0, charsMax - 3)}...` : text);
}

/** Returns the name of a span. The URI of a resource is not part of it, because there may be any number of them. */
export function toSpanName({ method, tool, prompt }: Operation): string {
  const target = tool ?? prompt;
  return shorten(target === undefined ? method : `${method} ${target}`, TEXT_MAX);
}

/** Returns the attributes of a span that are known when it starts. */
export function describeOperation(
  operation: Operation,
  version: string | undefined,
  transport: NetworkTransport,
): Attributes {
  const { method, tool, prompt, uri, requestId } = operation;
  return toAttributes({
    "mcp.method.name": method,
    "gen_ai.operation.name": tool === undefined ? undefined : "execute_tool",
    "gen_ai.tool.name": tool,
    "gen_ai.prompt.name": prompt,
    "mcp.resource.uri": uri,
    "mcp.protocol.version": version,
    "jsonrpc.request.id": requestId === undefined ? undefined : String(requestId),
    "network.transport": transport,
    "network.protocol.name": transport === "tcp" ? "http" : undefined,
  });
}

/** How an operation ended. */
export interface Outcome {
  /** The class of the error. Undefined if the operation succeeded. */
  readonly errorType?: string | undefined;
  /** The code of the JSON-RPC error that is sent. */
  readonly errorCode?: number | undefined;
}

/** The outcome of an operation that its caller has cancelled. */
export const CANCELLED: Outcome = { errorType: "cancelled" };

/** The outcome of a call whose tool reports an error. */
export const TOOL_ERROR: Outcome = { errorType: "tool_error" };

/** Returns the outcome of an operation with a result. */
export function toOutcome(result: unknown): Outcome {
  return isObject(result) && result.isError === true ? TOOL_ERROR : {};
}

/** Returns the outcome of an operation that failed with a JSON-RPC error. */
export function ofCode(errorCode: number): Outcome {
  return { errorType: String(errorCode), errorCode };
}

/** Returns the attributes of an outcome. */
export function describeOutcome({ errorType, errorCode }: Outcome): Attributes {
  return toAttributes({
    "error.type": errorType,
    "rpc.response.status_code": errorCode === undefined ? undefined : String(errorCode),
  });
}

/** Returns what is recorded about the exception of a handler: its message only if the client receives it. */
export function toFailure(error: unknown): Failure {
  return McpError.is(error) ? { message: shorten(error.message, TEXT_MAX) } : { exception: error };
}

/** Returns the operation without names that the server does not have, as far as the outcome shows it. */
export function withKnownNames(operation: Operation, { errorCode }: Outcome): Operation {
  if (errorCode === ErrorCode.MethodNotFound) return { method: OTHER };
  return errorCode === ErrorCode.InvalidParams ? { method: operation.method } : operation;
}

/** Returns the attributes of a measurement. They have few different values. */
export function describeMeasurement(
  operation: Operation,
  outcome: Outcome,
  version: string | undefined,
  transport: NetworkTransport,
): Attributes {
  const { method, tool, prompt } = withKnownNames(operation, outcome);
  return { ...describeOperation({ method, tool, prompt }, version, transport), ...describeOutcome(outcome) };
}

/** Returns the JSON text of arguments or a result, cut off if it is long. Undefined if it has none. */
export function toContents(value: unknown): string | undefined {
  const text = value === undefined ? undefined : JSON.stringify(value);
  return text === undefined ? undefined : shorten(text, CONTENTS_MAX);
}

/** Returns 16 hexadecimal digits that identify a session or a task, and from which its id cannot be computed. */
export function toHash(text: string): string {
  const parts = [fingerprint(text), fingerprint(text, 0x1b873593, 15)];
  return parts.map((part) => (part >>> 0).toString(16).padStart(8, "0")).join("");
}
