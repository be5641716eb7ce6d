/**
 * Log messages to the client, and the levels that decide which are sent.
 *
 * @module
 * @see MCP 2026-07-28, server/utilities/logging
 */
import { invalidParams } from "./errors.ts";
import type { JSONRPCNotification } from "./jsonrpc.ts";

/** The levels, from least to most severe (RFC 5424). */
export const LOGGING_LEVELS = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;

/** The severity of a log message (RFC 5424). */
export type LoggingLevel = (typeof LOGGING_LEVELS)[number];

/** Reads a level that a peer sent. @throws {McpError} -32602 listing the levels. */
export function readLevel(value: unknown, field: string): LoggingLevel {
  const level = LOGGING_LEVELS.find((known) => known === value);
  if (level) return level;
  throw invalidParams(`${field} is not a level. Use ${LOGGING_LEVELS.join(", ")}.`, { field });
}

/**
 * Whether a message is at least as severe as the level that the client requested. Without a requested level, no message
 * passes.
 */
export function passesLevel(level: LoggingLevel, asked: LoggingLevel | undefined): boolean {
  return asked !== undefined && LOGGING_LEVELS.indexOf(level) >= LOGGING_LEVELS.indexOf(asked);
}

/** Returns a `notifications/message`. */
export function logNotification(level: LoggingLevel, data: unknown, logger: string | undefined): JSONRPCNotification {
  const params = { level, logger, data: logData(data) };
  return { jsonrpc: "2.0", method: "notifications/message", params };
}

/**
 * Returns the data, or a string if JSON cannot express it (undefined, functions, bigints, cycles), so that logging
 * never fails a call.
 */
export function logData(data: unknown): unknown {
  try {
    return JSON.stringify(data) === undefined ? String(data) : data;
  } catch {
    return typeof data === "object" ? "[data without JSON]" : String(data);
  }
}
