/**
 * The errors of the kit. An {@link McpError} is sent to the client, a {@link KitError} never is. A {@link ToolError}
 * becomes a tool result that the model reads.
 *
 * Errors are recognised by a brand as well as by class, because one Worker can contain two copies of the package.
 *
 * @module
 */

import { quote } from "../basics/quote.ts";
import * as ErrorCode from "./error-codes.ts";
import { isObject, type JSONRPCErrorObject, type JsonObject } from "./jsonrpc.ts";

const BRAND = Symbol.for("mcp-edge.error");

function isBranded(value: unknown, brand: string): boolean {
  return isObject(value) && (value as { [BRAND]?: unknown })[BRAND] === brand;
}

/**
 * An error that is sent to the client as a JSON-RPC error, with its code, message and data unchanged.
 *
 * Choose codes outside -32768 to -32000, which JSON-RPC and MCP reserve.
 *
 * @see MCP 2026-07-28, basic, "Error Codes"
 */
export class McpError extends Error {
  /** The class of the error. */
  override readonly name = "McpError";
  /** Marks the error, so that another copy of the package recognises it. */
  readonly [BRAND] = "McpError";
  /** The JSON-RPC error code. */
  readonly code: number;
  /** Additional details as a JSON value. If undefined, the member is left out. */
  readonly data: unknown;

  /** Creates an error that is sent to the client unchanged. */
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }

  /** Whether a value is such an error, including one from another copy of the package. */
  static is(value: unknown): value is McpError {
    return value instanceof McpError || isBranded(value, "McpError");
  }
}

/** Thrown when a limit is currently reached. The HTTP status of the modern response is 429. */
export class BusyError extends McpError {
  /** @param what The current number and the limit. */
  constructor(what: string) {
    super(ErrorCode.InvalidRequest, `A limit is reached: ${what}.`, { reason: "too-many" });
  }
}

/**
 * A failure of a tool that the model is meant to read: its message becomes an `isError` result. For any other
 * exception, the client gets a general message with a correlation id.
 *
 * @see MCP 2026-07-28, server/tools, "Error Handling"
 */
export class ToolError extends Error {
  /** The class of the error. */
  override readonly name = "ToolError";
  /** Marks the error, so that another copy of the package recognises it. */
  readonly [BRAND] = "ToolError";
  /** The content to send. If undefined, the message is sent as one text block. */
  readonly content: readonly unknown[] | undefined;
  /** The structured content to send. It is not checked against the output schema. */
  readonly structuredContent: unknown;

  /** Creates a failure whose message the model reads. */
  constructor(message: string, more: { content?: readonly unknown[]; structuredContent?: unknown } = {}) {
    super(message);
    this.content = more.content;
    this.structuredContent = more.structuredContent;
  }

  /** Whether a value is such an error, including one from another copy of the package. */
  static is(value: unknown): value is ToolError {
    return value instanceof ToolError || isBranded(value, "ToolError");
  }
}

/** Why a {@link KitError} was thrown. */
export type KitErrorCode =
  | "definition-duplicate"
  | "definition-invalid"
  | "method-defined"
  | "schema-unsupported"
  | "options-invalid"
  | "binding-missing"
  | "binding-crossed"
  | "object-unreachable"
  | "replay-diverged"
  | "state-too-large"
  | "keys-missing"
  | "keys-invalid"
  | "result-invalid"
  | "output-misfit"
  | "progress-invalid"
  | "step-not-kept"
  | "elicitation-secret"
  | "context-closed"
  | "message-invalid"
  | "transport-closed"
  | "timeout";

/** An error in the configuration or the use of the kit. Its message is never sent to clients. */
export class KitError extends Error {
  /** The class of the error. */
  override readonly name = "KitError";
  /** Marks the error, so that another copy of the package recognises it. */
  readonly [BRAND] = "KitError";
  /** The kind of mistake, for programs. */
  readonly code: KitErrorCode;

  /** Creates an error about the configuration or the use of the kit. */
  constructor(code: KitErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  /** Whether a value is such an error, including one from another copy of the package. */
  static is(value: unknown): value is KitError {
    return value instanceof KitError || isBranded(value, "KitError");
  }
}

/**
 * The reason of a signal that aborted because the client cancelled the request. Nothing more is sent for that request.
 */
export class CancelledError extends Error {
  /** The class of the error. */
  override readonly name = "CancelledError";
  /** Marks the error, so that another copy of the package recognises it. */
  readonly [BRAND] = "CancelledError";
  /** The client's reason, if it gave one as a string. */
  readonly reason: string | undefined;

  /** Creates the error from the client's reason, which is kept if it is a string. */
  constructor(reason: unknown) {
    const text = typeof reason === "string" ? reason : undefined;
    super(
      text === undefined ? "The client cancelled the request." : `The client cancelled the request: ${quote(text)}`,
    );
    this.reason = text;
  }

  /** Whether a value is such an error, including one from another copy of the package. */
  static is(value: unknown): value is CancelledError {
    return value instanceof CancelledError || isBranded(value, "CancelledError");
  }
}

/**
 * Whether an error is the reason of an aborted signal. Code that stops because of the signal throws this reason, which
 * is not a failure.
 */
export function isReasonOf(signal: AbortSignal, error: unknown): boolean {
  return signal.aborted && error === signal.reason;
}

/** Returns the JSON-RPC error object of an {@link McpError}. */
export function toErrorObject(error: McpError): JSONRPCErrorObject {
  return { code: error.code, message: error.message, ...(error.data === undefined ? {} : { data: error.data }) };
}

/**
 * Describes a value of the wrong type for an error message, without the value itself, which may be a secret. A
 * rejection of the value is ignored, so that it cannot end the process.
 */
export function describeType(value: unknown): string {
  if (value instanceof Promise) {
    value.catch(() => undefined);
    return "a Promise";
  }
  return value === undefined || value === null ? String(value) : `a value of type ${typeof value}`;
}

/** @throws {KitError} `options-invalid` unless an option's value is a function, or undefined. */
export function checkFunction(option: string, value: unknown): void {
  if (value === undefined || typeof value === "function") return;
  throw new KitError("options-invalid", `${option} is ${describeType(value)}; it must be a function.`);
}

/** Returns a -32602 error. @param message Names the wrong parameter. */
export function invalidParams(message: string, data?: JsonObject): McpError {
  return new McpError(ErrorCode.InvalidParams, message, data);
}
