/**
 * Reports of exceptions to `onError` or the runtime's log.
 *
 * @module
 */

import { quote } from "../basics/quote.ts";
import type { RequestId } from "./jsonrpc.ts";

/** The request or notification during which an exception was thrown. */
export interface ErrorPlace {
  /** A random id that is also in the text the client received, so that a report can be matched with it. */
  readonly correlationId: string;
  /**
   * The method of the request or notification. A name in parentheses, such as "(transport)", means that another part of
   * the server failed.
   */
  readonly method: string;
  /** Absent for a notification. */
  readonly requestId?: RequestId;
  /** Name of the tool that was called. */
  readonly tool?: string;
  /** Name of the prompt asked for. */
  readonly prompt?: string;
  /** URI of the resource. */
  readonly uri?: string;
  /** The arguments as the client sent them, not validated. */
  readonly arguments?: unknown;
  /** The params of a notification. */
  readonly params?: unknown;
}

/** Receives every exception. If it fails itself, the answer to the client stays the same. */
export type ErrorReporter = (error: unknown, where: ErrorPlace) => void | Promise<void>;

/** A server to which exceptions are reported. */
export interface Reporter {
  /** Reports to the server's `onError`, or to `runtime` if it has none. Never throws. */
  report(error: unknown, where: ErrorPlace, runtime: ErrorReporter): void;
}

/** Returns the log line of a failure. Method and tool come from a peer, so they are quoted. */
export function failureLine({ method, tool, correlationId }: ErrorPlace): string {
  return `mcp-edge: ${quote(method)}${tool ? ` ${quote(tool)}` : ""} failed (${correlationId})`;
}

/**
 * Runs a callback that no caller waits for. `failed` receives what it throws or rejects with.
 *
 * @param waitUntil Keeps the work of a returned promise running; otherwise the platform would end it with the request.
 */
export function runDetached(
  callback: () => void | Promise<void>,
  failed: (error: unknown) => void,
  waitUntil?: (work: Promise<unknown>) => void,
): void {
  try {
    const told = callback();
    if (!told) return;
    const heard = Promise.resolve(told).catch(failed);
    waitUntil?.(heard);
  } catch (error) {
    failed(error);
  }
}
