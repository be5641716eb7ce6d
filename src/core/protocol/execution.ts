/**
 * The lifetime of a request: the signal that ends it early, and the platform that keeps the work of hooks running.
 *
 * @module
 */

import { quote } from "../basics/quote.ts";
import type { ClientFacts, Principal } from "./client-facts.ts";
import type { ErrorReporter, Reporter } from "./error-reports.ts";
import type { RequestId } from "./jsonrpc.ts";

/**
 * Ends work early, as an AbortController does. Some implementations create the signal on first use, because it is
 * expensive.
 */
export interface Ending {
  readonly signal: AbortSignal;
}

/** Calls `end` after this many milliseconds. Returns a function that stops the timer. */
export type StartTimer = (timeoutMs: number, end: () => void) => () => void;

/** The execution of a request by the platform: the `ExecutionContext` of a Worker, or the state of a Durable Object. */
export interface Execution {
  /** Keeps the Worker or the object running until the promise settles, even after the response has been sent. */
  waitUntil(work: Promise<unknown>): void;
  /** Values from a wrapper around the Worker, such as an OAuth provider. */
  readonly props?: unknown;
}

/** The members that every hook receives. */
export interface HookTools<Env = unknown> {
  /** The bindings of the Worker or object that serves the request; on stdio, the `env` given to `serveStdio`. */
  readonly env: Env;
  /**
   * Keeps the Worker, Durable Object or connection that serves the request running until the promise settles, even
   * after the response has been sent. A rejection is reported to `onError`.
   */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/** The part of a request or notification that hooks need. */
export interface HookContext {
  readonly client: ClientFacts;
  readonly principal: Principal | undefined;
  readonly env: unknown;
  /** Keeps the work of hooks running after the response. Absent where the platform does not end such work. */
  readonly execution?: Execution | undefined;
  /** Used if the server has no `onError`. */
  readonly onError: ErrorReporter;
}

/** Returns the {@link HookTools} of a request, or of a notification, which has no id. */
export function hookTools(
  server: Reporter,
  { method, id }: { readonly method: string; readonly id?: RequestId },
  { env, execution, onError }: HookContext,
): HookTools {
  const waitUntil = (work: Promise<unknown>): void => {
    const failed = (error: unknown) => {
      const context = { method: `(waitUntil of ${quote(method)})` };
      server.report(error, id === undefined ? context : { ...context, requestId: id }, onError);
    };
    const settled = Promise.resolve(work).catch(failed);
    execution?.waitUntil(settled);
  };
  return { env, waitUntil };
}
