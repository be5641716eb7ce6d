/**
 * The request whose handler asks.
 *
 * @module
 */
import type { Reporter } from "../protocol/error-reports.ts";
import type { HookContext } from "../protocol/execution.ts";
import type { JSONRPCRequest } from "../protocol/jsonrpc.ts";
import type { SampleHook } from "./sample-hook.ts";

/** The part of a server to which questions are reported. */
export interface QuestionReporter extends Reporter {
  readonly options: { readonly onSample?: SampleHook | undefined };
}

/** The request whose handler asks. */
export interface AskedBy extends HookContext {
  readonly registry: QuestionReporter;
  readonly request: JSONRPCRequest;
}
