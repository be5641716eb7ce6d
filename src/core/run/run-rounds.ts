/**
 * Running a handler that may ask by returning. The rounds that ask and
 * seal state are installed by input-required.ts when a program imports it: programs that never ask bundle none of it.
 *
 * @module
 */
import type { HandlerInput, HandlerRun } from "../define/handler-run.ts";
import type { Registry } from "../define/registry.ts";
import { invalidParams, McpError } from "../protocol/errors.ts";
import { isObject, type JSONRPCRequest, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Call } from "./call.ts";

/** Why a modern handler cannot ask in the middle of a request, and what it can do. */
export const ASK_BY_RETURNING =
  "this protocol version has no requests from the server; give edge() the option replay, or return inputRequired({ ... })";

/** The input that an earlier round leaves for this one. */
export interface Round extends HandlerInput {
  readonly replay?: SuspendableRun | undefined;
}

/** The value a run ends with that waits for an answer. */
export const SUSPENDED: unique symbol = Symbol.for("mcp-edge.suspended");

/** One run of a handler that may be run again. */
export interface SuspendableRun extends HandlerRun {
  /** Resolves when the run can go no further without an answer. */
  readonly suspended: Promise<typeof SUSPENDED>;
}

export const FIRST_ROUND: Round = { inputResponses: {}, requestState: undefined };

/** The value a handler returned in the end, or the result that asks the client. */
export type RoundsOutcome = { readonly returned: unknown } | { readonly asked: JsonObject };

/** Runs a handler, round by round, until it no longer asks. */
export type RunRounds = (
  server: Registry,
  request: JSONRPCRequest,
  call: Call,
  run: (round: Round) => Promise<unknown>,
) => Promise<RoundsOutcome>;

let askByReturning: RunRounds | undefined;

/**
 * Called by input-required.ts, so that programs in which nothing asks do not bundle it. It installs code, not configuration:
 * a server whose handlers do not return `inputRequired()` behaves the same with and without it.
 */
export function installRounds(run: RunRounds): void {
  askByReturning = run;
}

export const runRounds: RunRounds = async (server, request, call, run) => {
  const rounds = call.rounds ?? call.replay ?? askByReturning;
  if (rounds) return rounds(server, request, call, run);
  if (call.client.era === "modern") {
    readResponses(request);
    // Nothing here ever sealed a state.
    if (request.params?.requestState !== undefined) throw invalidState();
  }
  return { returned: await run(FIRST_ROUND) };
};

/** The answers a modern request brings. @throws {McpError} -32602 when they are not answers. */
export function readResponses({ params }: JSONRPCRequest): JsonObject {
  const { inputResponses = {} } = params ?? {};
  if (isObject(inputResponses) && Object.values(inputResponses).every(isObject)) return inputResponses;
  throw invalidParams("params.inputResponses is not an object of objects.", { field: "inputResponses" });
}

/** -32602. Says no more, so that nothing can be learned about states. */
export function invalidState(): McpError {
  return invalidParams("params.requestState is not valid for this request. Start again without it.", {
    field: "requestState",
  });
}

/** An error that some versions have a result for. */
export interface AnsweringError {
  /**
   * @param kept For the next run, where the answer asks.
   * @throws what the client is to get instead of a result.
   */
  answer(server: Registry, request: JSONRPCRequest, call: Call, kept?: JsonObject): JsonObject | Promise<JsonObject>;
}

/** True for an error that produces its own answer. */
export function isAnswering(error: unknown): error is AnsweringError {
  return McpError.is(error) && "answer" in error && typeof error.answer === "function";
}
