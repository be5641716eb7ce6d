/**
 * The errors of the kit. Two families that never mix: {@link McpError} crosses the wire, {@link KitError} stays
 * local. {@link ToolError} is neither: it is a tool result the model reads.
 *
 * Recognised by a brand as well as by class, because two copies of the package can meet in one Worker.
 *
 * @module
 */
import { ErrorCode, isObject, type JSONRPCErrorObject, type JsonObject } from "./jsonrpc.ts";
import { quote } from "./quote.ts";

const BRAND = Symbol.for("mcp-edge.error");

function isBranded(value: unknown, brand: string): boolean {
  return isObject(value) && (value as { [BRAND]?: unknown })[BRAND] === brand;
}

/**
 * An error that travels to the client as a JSON-RPC error, with its code, message and data as they are.
 *
 * Codes of your own lie outside -32768..-32000, which JSON-RPC and MCP reserve.
 *
 * @see MCP 2026-07-28, basic, "Error Codes"
 */
export class McpError extends Error {
  /** Tells the class of the error. */
  override readonly name = "McpError";
  /** Marks the error, so that another copy of the package recognises it. */
  readonly [BRAND] = "McpError";
  /** The JSON-RPC error code. */
  readonly code: number;
  /** More about the error, as JSON; undefined sends none. */
  readonly data: unknown;

  /** Makes an error that the client is sent as it is. */
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }

  /** Whether a value is such an error, also one of another copy of the package. */
  static is(value: unknown): value is McpError {
    return value instanceof McpError || isBranded(value, "McpError");
  }
}

/** A refusal for the time being: there is too much of something. The status of a modern answer is 429 then. */
export class BusyError extends McpError {
  /** @param what How much there is, of which limit. */
  constructor(what: string) {
    super(ErrorCode.InvalidRequest, `Too much at once: ${what}.`, { reason: "too-many" });
  }
}

/**
 * A tool failure that the model is meant to read: its text becomes an `isError` result. Any other exception of a
 * handler gives a general text and a correlation id instead.
 *
 * @see MCP 2026-07-28, server/tools, "Error Handling"
 */
export class ToolError extends Error {
  /** Tells the class of the error. */
  override readonly name = "ToolError";
  /** Marks the error, so that another copy of the package recognises it. */
  readonly [BRAND] = "ToolError";
  /** Content to send instead of the message as one text block. */
  readonly content: readonly unknown[] | undefined;
  /** Structured content to send with it. The output schema is not enforced on errors. */
  readonly structuredContent: unknown;

  /** Makes a failure whose text the model reads. */
  constructor(message: string, more: { content?: readonly unknown[]; structuredContent?: unknown } = {}) {
    super(message);
    this.content = more.content;
    this.structuredContent = more.structuredContent;
  }

  /** Whether a value is such an error, also one of another copy of the package. */
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
  | "elicitation-secret"
  | "context-closed"
  | "message-invalid"
  | "transport-closed"
  | "timeout";

/** An error in configuration or in the use of the kit. Clients never see its text. */
export class KitError extends Error {
  /** Tells the class of the error. */
  override readonly name = "KitError";
  /** Marks the error, so that another copy of the package recognises it. */
  readonly [BRAND] = "KitError";
  /** The kind of mistake, for programs. */
  readonly code: KitErrorCode;

  /** Makes an error about configuration or use of the kit. */
  constructor(code: KitErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  /** Whether a value is such an error, also one of another copy of the package. */
  static is(value: unknown): value is KitError {
    return value instanceof KitError || isBranded(value, "KitError");
  }
}

/** Why a signal aborted: the client cancelled the request. Nothing is sent for it any more. */
export class CancelledError extends Error {
  /** Tells the class of the error. */
  override readonly name = "CancelledError";
  /** Marks the error, so that another copy of the package recognises it. */
  readonly [BRAND] = "CancelledError";
  /** The reason that the client gave, if it gave one as text. */
  readonly reason: string | undefined;

  /** Makes the error from the reason that the client gave, if it is text. */
  constructor(reason: unknown) {
    const text = typeof reason === "string" ? reason : undefined;
    super(
      text === undefined ? "The client cancelled the request." : `The client cancelled the request: ${quote(text)}`,
    );
    this.reason = text;
  }

  /** Whether a value is such an error, also one of another copy of the package. */
  static is(value: unknown): value is CancelledError {
    return value instanceof CancelledError || isBranded(value, "CancelledError");
  }
}

/**
 * Whether an error is the reason of an aborted signal. Code that stops because its signal aborted throws it, which is
 * no failure.
 */
export function isReasonOf(signal: AbortSignal, error: unknown): boolean {
  return signal.aborted && error === signal.reason;
}

/** The error object of an {@link McpError}. */
export function toErrorObject(error: McpError): JSONRPCErrorObject {
  return { code: error.code, message: error.message, ...(error.data === undefined ? {} : { data: error.data }) };
}

/**
 * Describes a value that an author's function should not have returned, for an error text. Never the value itself, which may
 * be a secret. The rejection of a returned promise is ignored, so that it cannot end the process.
 */
export function unfit(value: unknown): string {
  if (value instanceof Promise) {
    value.catch(() => undefined);
    return "a Promise";
  }
  return value === undefined || value === null ? String(value) : `a value of type ${typeof value}`;
}

/** @throws {KitError} `options-invalid` unless an option's value is a function, or undefined. */
export function checkFunction(option: string, value: unknown): void {
  if (value === undefined || typeof value === "function") return;
  throw new KitError("options-invalid", `${option} is ${unfit(value)}; it must be a function.`);
}

/** -32602 naming what does not fit. */
export function invalidParams(message: string, data?: JsonObject): McpError {
  return new McpError(ErrorCode.InvalidParams, message, data);
}
