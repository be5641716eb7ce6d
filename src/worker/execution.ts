/**
 * Access to the execution context of a Hono request.
 *
 * @module
 */
import type { Execution } from "../core/protocol/execution.ts";

/** Returns the execution context, or undefined if the app was called without one. Hono throws an error in this case. */
export function findExecution(context: { readonly executionCtx: Execution }): Execution | undefined {
  try {
    return context.executionCtx;
  } catch {
    return undefined;
  }
}
