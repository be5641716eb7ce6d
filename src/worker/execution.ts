/**
 * The execution context of a request that Hono has routed.
 *
 * @module
 */
import type { Execution } from "../core/protocol/execution.ts";

/** Returns the execution context, or undefined if the app was called without one. Hono throws in that case. */
export function findExecution(context: { readonly executionCtx: Execution }): Execution | undefined {
  try {
    return context.executionCtx;
  } catch {
    return undefined;
  }
}
