import { invalidParams, McpError } from "../protocol/errors.ts";
import { isObject, type JSONRPCRequest, type JsonObject } from "../protocol/jsonrpc.ts";
import type { RequestContext, RunRounds } from "./request-context.ts";
import { FIRST_ROUND } from "./round.ts";

/** Why a modern handler cannot ask in the middle of a request, and what to do instead. */
export const ASK_BY_RETURNING =
  "this protocol version has no requests from the server; add durable() or replay() to the option use of edge(), or return inputRequired({ ... })";

let askByReturning: RunRounds | undefined;

/**
 * Called by input-required.ts, so that programs whose handlers never return questions do not bundle the rounds. It
 * installs code, not configuration: a server whose handlers do not return `inputRequired()` behaves the same with and
 * without it.
 */
export function installRounds(run: RunRounds): void {
  askByReturning = run;
}

export const runRounds: RunRounds = async (context, run) => {
  const rounds = context.rounds ?? context.replay ?? askByReturning;
  if (rounds) return rounds(context, run);
  if (context.client.era === "modern") {
    readResponses(context.request);
    // Without rounds, this program cannot have sealed a state.
    if (context.request.params?.requestState !== undefined) throw invalidState();
  }
  return { returned: await run(FIRST_ROUND) };
};

/** Reads the answers in a modern request. @throws {McpError} -32602 if they are not an object of objects. */
export function readResponses({ params }: JSONRPCRequest): JsonObject {
  const { inputResponses = {} } = params ?? {};
  if (isObject(inputResponses) && Object.values(inputResponses).every(isObject)) return inputResponses;
  throw invalidParams("params.inputResponses is not an object of objects.", { field: "inputResponses" });
}

/** Returns a -32602 error. It gives no reason, so that it does not reveal anything about states. */
export function invalidState(): McpError {
  return invalidParams("params.requestState is not valid for this request. Start again without a state.", {
    field: "requestState",
  });
}

/** An error that becomes a result in some protocol versions. */
export interface AnsweringError {
  /**
   * Returns the result.
   *
   * @param kept The data for the next run, if the result asks questions.
   * @throws the error for the client, if its version has no such result.
   */
  answer(context: RequestContext, kept?: JsonObject): JsonObject | Promise<JsonObject>;
}

/** Whether an error can become a result. */
export function isAnswering(error: unknown): error is AnsweringError {
  return McpError.is(error) && "answer" in error && typeof error.answer === "function";
}
