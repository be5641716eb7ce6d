/**
 * Running a handler that may ask by returning. What really asks, and seals state meanwhile, is input-required.ts, which
 * installs itself here when a program imports something that asks: programs that never do bundle none of it.
 *
 * @module
 */
import type { Asker } from "../ask/asker.ts";
import type { InputRequired } from "../define/input-required.ts";
import type { McpServer } from "../define/server.ts";
import { invalidParams, McpError } from "../protocol/errors.ts";
import { isObject, type JSONRPCRequest, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Call } from "../serve/context.ts";

/** Why a modern handler cannot ask in the middle of a request, and what it can do. */
export const ASK_BY_RETURNING =
  "this protocol version has no requests from the server; give edge() the option replay, or return inputRequired({ ... })";

/** Marks what a handler returns to ask, for two copies of the package to know each other's. */
export const ASKS: unique symbol = Symbol.for("mcp-edge.input-required");

export function isInputRequired(value: unknown): value is InputRequired {
  return isObject(value) && (value as { [ASKS]?: unknown })[ASKS] === true;
}

/** What an earlier round left for this one. */
export interface Round {
  readonly inputResponses: JsonObject;
  readonly requestState: string | undefined;
  /** Where the handler may ask in the middle, and be run again from the top. */
  readonly replay?: Replaying | undefined;
}

/** How a handler names a question. */
export interface QuestionOptions {
  /** Tells this question from others of the handler, whatever its text. @default made of what is asked */
  readonly key?: string;
}

/** What a step is given. */
export interface StepContext {
  /** The same whenever this step of this call is run: to hand on as an idempotency key. */
  readonly key: string;
  /** What `retrying()` counts, where it outlives the run; absent: it counts in memory. */
  readonly tries?: Tries;
}

/** The tries of one step, over all runs. */
export interface Tries {
  /** How many have failed. */
  readonly failed: number;
  /**
   * Keeps how many have failed by now, and when the next is due.
   *
   * @returns What to wait for where the next try is for another run: it never settles. Undefined: it is for this one.
   */
  fail(failed: number, waitMs: number): Promise<never> | undefined;
}

/** The work of a step. What it returns is kept as JSON. */
export type Step<T> = (context: StepContext) => T | Promise<T>;

/** What a run ends with that waits for an answer. */
export const SUSPENDED: unique symbol = Symbol.for("mcp-edge.suspended");

/** One run of a handler that may be run again. */
export interface Replaying {
  readonly asker: Asker;
  /** Resolves when the run can go no further without an answer. */
  readonly suspended: Promise<typeof SUSPENDED>;
  /** Whether what the handler says was said by a run before, or comes too late. */
  readonly isSilent: boolean;
  step<T>(name: string, work: Step<T>): Promise<T>;
  /** Ends a run on the request, to go on as a task. Absent where that is not to be, or has been. */
  task?(): Promise<void>;
  /** Does what belongs to the run, unless it is over: then it never settles. */
  within<T>(work: () => Promise<T>): Promise<T>;
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

let askByReturning: RunRounds | undefined;

/**
 * For input-required.ts, so that programs in which nothing asks do not bundle it. It is code, not configuration: a server
 * whose handlers do not return `inputRequired()` behaves the same with and without it.
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
  answer(
    server: McpServer<never>,
    request: JSONRPCRequest,
    call: Call<never>,
    kept?: JsonObject,
  ): JsonObject | Promise<JsonObject>;
}

/** True for an error that answers by itself. */
export function isAnswering(error: unknown): error is AnsweringError {
  return McpError.is(error) && "answer" in error && typeof error.answer === "function";
}
