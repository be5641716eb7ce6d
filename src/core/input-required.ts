/**
 * The explicit form of asking: a handler returns questions, and is run again with the answers. The same handler works in
 * both eras: modern clients get an `input_required` result and repeat the request; legacy clients are asked over the
 * stream of the request they are waiting on, and the handler is run again here.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import { capabilityObject, type Principal } from "./client-facts.ts";
import type { Call } from "./context.ts";
import { invalidParams, KitError, McpError } from "./errors.ts";
import { ErrorCode, isObject, type JSONRPCRequest, type JsonObject } from "./jsonrpc.ts";
import type { KeyRing } from "./key-ring.ts";
import { capabilitiesFor, type Question } from "./question.ts";
import { errorText } from "./result.ts";

/** Why a modern handler cannot ask in the middle of a request, and what it can do. */
export const ASK_BY_RETURNING =
  "this protocol version has no requests from the server; return inputRequired({ ... }) instead";

const BRAND = Symbol.for("mcp-edge.input-required");

/** What a handler returns to ask: see {@link inputRequired}. */
export interface InputRequired {
  readonly [BRAND]: true;
  readonly inputRequests: { readonly [key: string]: Question };
  readonly requestState: string | undefined;
}

/**
 * Ends this run of a handler with questions. It runs again with `ctx.inputResponses` (by the same keys) and
 * `ctx.requestState` set; a response that is missing or does not fit is asked for by returning this again.
 *
 * @param requestState Text to have back on the next run. It is sealed: clients can neither read nor change it, and it is
 *   good only for the same request of the same principal.
 */
export function inputRequired(
  inputRequests: { readonly [key: string]: Question },
  requestState?: string,
): InputRequired {
  return { [BRAND]: true, inputRequests, requestState };
}

export function isInputRequired(value: unknown): value is InputRequired {
  return isObject(value) && (value as { [BRAND]?: unknown })[BRAND] === true;
}

/** What an earlier round left for this one. */
export interface Round {
  readonly inputResponses: JsonObject;
  readonly requestState: string | undefined;
}

export const FIRST_ROUND: Round = { inputResponses: {}, requestState: undefined };

/** Minutes a person may take over one round before its state is refused. */
const STATE_LIFE_MS = 60 * 60 * 1000;
/** Rounds of one legacy request: stops a handler that always asks again from looping for ever. */
const ROUNDS_MAX = 32;

/**
 * The round a modern request presents.
 *
 * @throws {McpError} -32602 when the state is not one sealed here for this request, or has expired. Says no more.
 */
export async function readRound(request: JSONRPCRequest, call: Call<never>): Promise<Round> {
  const { inputResponses, requestState } = request.params ?? {};
  const responses = isObject(inputResponses) ? inputResponses : {};
  if (requestState === undefined) return { inputResponses: responses, requestState: undefined };
  if (typeof requestState !== "string") throw invalidState();
  const ring = await keysOf(call);
  const opened = await ring.open(requestState, bindingOf(request, call.principal));
  const sealed = opened && (JSON.parse(new TextDecoder().decode(opened)) as { state: string; expiresAtMs: number });
  if (!sealed || sealed.expiresAtMs <= Date.now()) throw invalidState();
  return { inputResponses: responses, requestState: sealed.state };
}

/** The modern result that asks. @throws {McpError} -32021 when the client has not declared what is asked for. */
export async function toInputRequiredResult(
  asked: InputRequired,
  request: JSONRPCRequest,
  call: Call<never>,
): Promise<JsonObject> {
  const questions = Object.entries(asked.inputRequests);
  const missing = [...new Set(questions.flatMap(([, question]) => capabilitiesFor(question)))].filter(
    (name) => !call.client.can(name),
  );
  if (missing.length > 0) {
    throw new McpError(
      ErrorCode.MissingRequiredClientCapability,
      `This needs the client capability ${missing.join(", ")}.`,
      {
        requiredCapabilities: capabilityObject(missing),
      },
    );
  }
  const inputRequests: JsonObject = {};
  for (const [key, { method, params }] of questions) {
    // Where questions are answered by repeating the request, an elicitation has its key and needs no id.
    const { elicitationId: _, ...rest } = params ?? {};
    inputRequests[key] = { method, params: rest };
  }
  const state =
    asked.requestState === undefined ? {} : { requestState: await sealState(asked.requestState, request, call) };
  return { resultType: "input_required", ...(questions.length > 0 ? { inputRequests } : {}), ...state };
}

/** The methods whose result may ask. @see MCP 2026-07-28, schema, `InputRequiredResult` */
const ASKING: readonly string[] = ["tools/call", "prompts/get", "resources/read"];

/**
 * What a request that needs URL elicitations first is answered with, in the version's own way.
 *
 * @throws the error itself where it is another, or the version has it; {@link McpError} where only text is left.
 */
export function requireUrls(
  error: unknown,
  request: JSONRPCRequest,
  call: Call<never>,
): JsonObject | Promise<JsonObject> {
  const { urlsRequired } = call.client.rules;
  // By its member and not by its class: programs that never throw it do not bundle it.
  if (!McpError.is(error) || !("elicitations" in error) || urlsRequired === "error") throw error;
  const elicitations = error.elicitations as readonly JsonObject[];
  if (urlsRequired === "result" && ASKING.includes(request.method)) {
    const questions = elicitations.map((params, at): [string, Question] => {
      return [`url-${at + 1}`, { method: "elicitation/create", params }];
    });
    return toInputRequiredResult(inputRequired(Object.fromEntries(questions)), request, call);
  }
  const text = [error.message, ...elicitations.map(({ message, url }) => `${message}: ${url}`)].join("\n");
  if (request.method === "tools/call") return errorText(text);
  throw new McpError(ErrorCode.InternalError, text);
}

async function sealState(state: string, request: JSONRPCRequest, call: Call<never>): Promise<string> {
  const ring = await keysOf(call);
  const text = JSON.stringify({ state, expiresAtMs: Date.now() + STATE_LIFE_MS });
  return ring.seal(Uint8Array.from(new TextEncoder().encode(text)), bindingOf(request, call.principal));
}

async function keysOf(call: Call<never>): Promise<KeyRing> {
  if (call.stateKeys) return call.stateKeys();
  throw new KitError("keys-missing", "requestState needs sealing keys, and this way of serving has none.");
}

/** Principal, method, target and arguments, in one spelling: what a state is good for. */
function bindingOf(request: JSONRPCRequest, principal: Principal | undefined): string {
  const { name, uri, arguments: args } = request.params ?? {};
  const who = principal ? [principal.issuer, principal.subject] : null;
  return JSON.stringify([who, request.method, name ?? uri ?? null, canonical(args ?? {})]);
}

/** The value with the members of each object in one order. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (!isObject(value)) return value;
  return Object.keys(value)
    .sort()
    .map((key) => [key, canonical(value[key])]);
}

function invalidState(): McpError {
  return invalidParams("params.requestState is not valid for this request. Start again without it.", {
    field: "requestState",
  });
}

/**
 * Runs a handler, round by round, until it no longer asks. In the modern era one round is one request, and asking is
 * the result.
 */
export async function runRounds(
  request: JSONRPCRequest,
  call: Call<never>,
  run: (round: Round) => Promise<unknown>,
): Promise<{ readonly returned: unknown } | { readonly asked: JsonObject }> {
  if (call.client.era === "modern") {
    const returned = await run(await readRound(request, call));
    return isInputRequired(returned) ? { asked: await toInputRequiredResult(returned, request, call) } : { returned };
  }
  let round = FIRST_ROUND;
  for (let rounds = 0; rounds < ROUNDS_MAX; rounds++) {
    const returned = await run(round);
    if (!isInputRequired(returned)) return { returned };
    round = { inputResponses: await askAll(returned, call), requestState: returned.requestState };
  }
  throw new KitError("options-invalid", `A handler asked for input ${ROUNDS_MAX} times in one request.`);
}

async function askAll({ inputRequests }: InputRequired, call: Call<never>): Promise<JsonObject> {
  const answers = await Promise.all(
    Object.entries(inputRequests).map(
      async ([key, question]) => [key, await call.asker.ask(question, call.signal)] as const,
    ),
  );
  return Object.fromEntries(answers);
}
