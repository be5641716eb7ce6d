/**
 * Reports of exceptions to `onError` or the runtime's log.
 *
 * @module
 */

import { quote } from "../basics/quote.ts";
import type { RequestId } from "./jsonrpc.ts";

/** The request or notification during which an exception was thrown. */
export interface ErrorContext {
  /** A random id that the message to the client also contains, so that the report can be found from it. */
  readonly correlationId: string;
  /**
   * The method of the request or notification. A name in parentheses, such as "(transport)", means that another part of
   * the server failed.
   */
  readonly method: string;
  /** Absent for a notification. */
  readonly requestId?: RequestId;
  /** The name of the called tool. */
  readonly tool?: string;
  /** The name of the requested prompt. */
  readonly prompt?: string;
  /** The URI of the resource. */
  readonly uri?: string;
  /** The arguments as the client sent them, not validated. */
  readonly arguments?: unknown;
  /** The params of a notification. Undefined if it has none. */
  readonly params?: unknown;
}

/** Receives every exception. A failure of the reporter does not affect the response to the client. */
export type ErrorReporter = (error: unknown, context: ErrorContext) => void | Promise<void>;

/** The context of an exception. The reporter adds the correlation id. */
export type ErrorSubject = Omit<ErrorContext, "correlationId">;

/** A server to which exceptions are reported. */
export interface Reporter {
  /** Reports to the server's `onError`, or to `runtime` if it has none. Never throws. Returns the correlation id. */
  report(error: unknown, subject: ErrorSubject, runtime: ErrorReporter): string;
}

/** Returns the log line of a failure. Method and tool come from a peer, so they are quoted. */
export function failureLine({ method, tool, correlationId }: ErrorContext): string {
  return `mcp-edge: ${quote(method)}${tool ? ` ${quote(tool)}` : ""} failed (${correlationId})`;
}

/**
 * Runs a callback without waiting for it. `failed` receives its exception or rejection.
 *
 * @param waitUntil Keeps the work of a returned promise running; without it, the platform may end the work with the
 *   request.
 */
export function runDetached(
  callback: () => void | Promise<void>,
  failed: (error: unknown) => void,
  waitUntil?: (work: Promise<unknown>) => void,
): void {
  try {
    const returned = callback();
    if (!returned) return;
    const work = Promise.resolve(returned).catch(failed);
    waitUntil?.(work);
  } catch (error) {
    failed(error);
  }
}
