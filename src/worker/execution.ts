/**
 * The execution context of a request that Hono has routed.
 *
 * @module
 */
import type { Execution } from "../core/protocol/execution.ts";

/** Undefined where the app was called without one, which Hono answers by throwing. */
export function executionOf(context: { readonly executionCtx: Execution }): Execution | undefined {
  try {
    return context.executionCtx;
  } catch {
    return undefined;
  }
}
