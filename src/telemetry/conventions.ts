/**
 * The attributes and names that the semantic conventions of OpenTelemetry define for MCP.
 *
 * All values from a client are bounded. A client can also invent names of methods, tools and prompts, so names that the
 * server does not have are not used as names of spans and attributes of metrics: their number would grow without limit.
 *
 * @module
 * @see https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md
 */
import { fingerprint } from "../core/basics/bytes.ts";
import { printable } from "../core/basics/quote.ts";
import * as ErrorCode from "../core/protocol/error-codes.ts";
import { McpError } from "../core/protocol/errors.ts";
import { isObject, type RequestId } from "../core/protocol/jsonrpc.ts";
import type { Attributes, Failure, RecordedException } from "./spans.ts";

/** The subject of an operation. */
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

/** The part of an error message that is searched for URIs. @limit internal */
const MESSAGE_MAX = 1024;

/** The maximum length of a stack. @limit characters The stack of an exception in a span. A longer one is cut off. */
const STACK_MAX = 4096;

/** The maximum length of arguments and results. @limit characters The arguments or the result of a call in a span, with `contents: true`. Longer ones are cut off. */
const CONTENTS_MAX = 4096;

/** The name that stands for all names that the server does not have. */
export const OTHER = "_OTHER";

/** Returns the members that are not undefined, with long strings cut off. */
export function toAttributes(members: Readonly<Record<string, string | number | boolean | undefined>>): Attributes {
  const present = Object.entries(members).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return [[name, typeof value === "string" ? shorten(value, TEXT_MAX) : value] as const];
  });
  return Object.fromEntries(present);
}

/** Returns the beginning of a text, at most `charsMax` characters and on one line. Escaping can make a text longer. */
function shorten(text: string, charsMax: number): string {
  const escaped = printable(text.slice(0, charsMax + 1));
  return escaped.length > charsMax ? `${escaped.slice(0, charsMax - 3)}...` : escaped;
}

/** Returns a URI without user name, password, query and fragment, which may be secret. */
function withoutSecrets(uri: string): string {
  return uri.replace(/[?#].*$/s, "").replace(/:\/\/[^/]*@/, "://");
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
    "mcp.resource.uri": uri === undefined ? undefined : withoutSecrets(uri),
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
export function toFailure(error: unknown, hasStack: boolean): Failure {
  if (!McpError.is(error)) return { exception: describeException(error, hasStack) };
  // A message about a resource may repeat its URI.
  const shown = error.message.slice(0, MESSAGE_MAX).replace(/:\/\/[^\s"]+/g, withoutSecrets);
  return { message: shorten(shown, TEXT_MAX) };
}

/** Describes a value that a handler has thrown, even if the value cannot be converted to a string. */
function describeException(error: unknown, hasStack: boolean): RecordedException {
  try {
    if (!(error instanceof Error)) return { name: typeof error, message: shorten(String(error), TEXT_MAX) };
    const { name, message, stack } = error;
    const about = { name: shorten(String(name), TEXT_MAX), message: shorten(String(message), TEXT_MAX) };
    // The stack begins with the message, which may be long.
    return stack === undefined || !hasStack ? about : { ...about, stack: String(stack).slice(0, STACK_MAX) };
  } catch {
    return { name: typeof error, message: "The exception cannot be described." };
  }
}

const ERROR_CODES: readonly number[] = Object.values(ErrorCode);

/**
 * Returns the request and the outcome of a client's request for a measurement. The server chooses the code of an error, so
 * only codes of the protocol are kept; and a tool or prompt that it does not have is not named.
 */
export function withFewValues(operation: Operation, outcome: Outcome): readonly [Operation, Outcome] {
  const { errorCode } = outcome;
  if (errorCode === undefined) return [operation, outcome];
  if (!ERROR_CODES.includes(errorCode)) return [operation, { errorType: OTHER }];
  if (errorCode === ErrorCode.MethodNotFound) return [{ method: OTHER }, outcome];
  return [errorCode === ErrorCode.InvalidParams ? { method: operation.method } : operation, outcome];
}

/** Returns the attributes of a measurement. The operation and the outcome must have few different values. */
export function describeMeasurement(
  operation: Operation,
  outcome: Outcome,
  version: string | undefined,
  transport: NetworkTransport,
): Attributes {
  const { method, tool, prompt } = operation;
  return { ...describeOperation({ method, tool, prompt }, version, transport), ...describeOutcome(outcome) };
}

/** Returns the JSON text of arguments or a result, cut off if it is long. Undefined if it cannot be encoded. */
export function toContents(value: unknown): string | undefined {
  try {
    const text = value === undefined ? undefined : JSON.stringify(value);
    return text === undefined ? undefined : shorten(text, CONTENTS_MAX);
  } catch {
    return undefined;
  }
}

/** Returns 16 hexadecimal digits that identify a session or a task, and from which its id cannot be computed. */
export function toHash(text: string): string {
  const parts = [fingerprint(text), fingerprint(text, 0x1b873593, 15)];
  return parts.map((part) => (part >>> 0).toString(16).padStart(8, "0")).join("");
}
