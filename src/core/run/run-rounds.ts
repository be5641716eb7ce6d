import { invalidParams, McpError } from "../protocol/errors.ts";
import { isObject, type JSONRPCRequest, type JsonObject } from "../protocol/jsonrpc.ts";
import type { RequestContext, RunRounds } from "./request-context.ts";
import { FIRST_ROUND } from "./round.ts";

/** Why a modern handler cannot ask in the middle of a request, and what it can do. */
export const ASK_BY_RETURNING =
  "this protocol version has no requests from the server; add durable() or replay() to the option use of edge(), or return inputRequired({ ... })";

let askByReturning: RunRounds | undefined;

/**
 * Called by input-required.ts, so that programs in which nothing asks do not bundle the rounds. It installs code, not
 * configuration: a server whose handlers do not return `inputRequired()` behaves the same with and without it.
 */
export function installRounds(run: RunRounds): void {
  askByReturning = run;
}

export const runRounds: RunRounds = async (call, run) => {
  const rounds = call.rounds ?? call.replay ?? askByReturning;
  if (rounds) return rounds(call, run);
  if (call.client.era === "modern") {
    readResponses(call.request);
    // This program cannot have sealed a state.
    if (call.request.params?.requestState !== undefined) throw invalidState();
  }
  return { returned: await run(FIRST_ROUND) };
};

/** Reads the answers in a modern request. @throws {McpError} -32602 if they are not an object of objects. */
export function readResponses({ params }: JSONRPCRequest): JsonObject {
  const { inputResponses = {} } = params ?? {};
  if (isObject(inputResponses) && Object.values(inputResponses).every(isObject)) return inputResponses;
  throw invalidParams("params.inputResponses is not an object of objects.", { field: "inputResponses" });
}

/** Returns a -32602 error. It gives no reason, so that clients learn nothing about states. */
export function invalidState(): McpError {
  return invalidParams("params.requestState is not valid for this request. Start again without it.", {
    field: "requestState",
  });
}

/** An error that some protocol versions express as a result. */
export interface AnsweringError {
  /**
   * Returns the result.
   *
   * @param kept The data for the next run, if the result asks.
   * @throws the error for the client, if its version has no such result.
   */
  answer(call: RequestContext, kept?: JsonObject): JsonObject | Promise<JsonObject>;
}

/** Whether an error produces its own answer. */
export function isAnswering(error: unknown): error is AnsweringError {
  return McpError.is(error) && "answer" in error && typeof error.answer === "function";
}
