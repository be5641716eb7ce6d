/**
 * Running a handler that may ask by returning. What really asks, and seals state meanwhile, is input-required.ts, which
 * installs itself here when a program imports something that asks: programs that never do bundle none of it.
 *
 * @module
 */
import type { Call } from "./context.ts";
import { invalidParams, McpError } from "./errors.ts";
import type { InputRequired } from "./input-required.ts";
import { isObject, type JSONRPCRequest, type JsonObject } from "./jsonrpc.ts";
import type { McpServer } from "./server.ts";

/** Why a modern handler cannot ask in the middle of a request, and what it can do. */
export const ASK_BY_RETURNING =
  "this protocol version has no requests from the server; return inputRequired({ ... }) instead";

/** Marks what a handler returns to ask, for two copies of the package to know each other's. */
export const ASKS: unique symbol = Symbol.for("mcp-edge.input-required");

export function isInputRequired(value: unknown): value is InputRequired {
  return isObject(value) && (value as { [ASKS]?: unknown })[ASKS] === true;
}

/** What an earlier round left for this one. */
export interface Round {
  readonly inputResponses: JsonObject;
  readonly requestState: string | undefined;
}

export const FIRST_ROUND: Round = { inputResponses: {}, requestState: undefined };

/** What a handler gave in the end, or the result that asks the client. */
export type RoundsOutcome = { readonly returned: unknown } | { readonly asked: JsonObject };

/** Runs a handler, round by round, until it no longer asks. */
export type RunRounds = (
  server: McpServer<never>,
  request: JSONRPCRequest,
  call: Call<never>,
  run: (round: Round) => Promise<unknown>,
) => Promise<RoundsOutcome>;

let engine: RunRounds | undefined;

/** For input-required.ts. Code, not configuration: it is the same for every server of the process. */
export function installRounds(run: RunRounds): void {
  engine = run;
}

export const runRounds: RunRounds = async (server, request, call, run) => {
  if (engine) return engine(server, request, call, run);
  // Nothing here ever sealed a state.
  if (request.params?.requestState !== undefined && call.client.era === "modern") throw invalidState();
  return { returned: await run(FIRST_ROUND) };
};

/** -32602. Says no more, so that nothing can be learned about states. */
export function invalidState(): McpError {
  return invalidParams("params.requestState is not valid for this request. Start again without it.", {
    field: "requestState",
  });
}

/** An error that some versions have a result for. */
export interface AnsweringError {
  /** @throws what the client is to get instead of a result. */
  answer(server: McpServer<never>, request: JSONRPCRequest, call: Call<never>): JsonObject | Promise<JsonObject>;
}

/** True for an error that answers by itself. */
export function isAnswering(error: unknown): error is AnsweringError {
  return McpError.is(error) && "answer" in error && typeof error.answer === "function";
}
