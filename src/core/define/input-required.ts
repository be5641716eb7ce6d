/**
 * The explicit form of asking: a handler returns questions, and is run again with the answers. The same handler works in
 * both eras: modern clients get an `input_required` result and repeat the request; legacy clients are asked over the
 * stream of the request they are waiting on, and the handler is run again here.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */

import { QuestionError } from "../ask/asker.ts";
import { capabilitiesFor, type Question } from "../ask/question.ts";
import { checkSampling } from "../ask/questions.ts";
import { warnOfSecrets } from "../ask/secret-fields.ts";
import { encodeText } from "../protocol/bytes.ts";
import { type ClientCapabilityName, capabilityObject } from "../protocol/client-facts.ts";
import { KitError, McpError } from "../protocol/errors.ts";
import { ErrorCode, type JSONRPCRequest, type JsonObject } from "../protocol/jsonrpc.ts";
import {
  ASKS,
  FIRST_ROUND,
  installRounds,
  invalidState,
  isAnswering,
  isInputRequired,
  type Replaying,
  type Round,
  type RoundsOutcome,
  type RunRounds,
  readResponses,
  SUSPENDED,
} from "../run/run-handler.ts";
import { hearSamples, type SentSamples, sentSamples } from "../run/sampling-rounds.ts";
import { canonical } from "../seal/canonical.ts";
import { EnvKeys } from "../seal/env-keys.ts";
import type { KeyRing } from "../seal/key-ring.ts";
import type { Call } from "../serve/context.ts";
import type { McpServer } from "./server.ts";

/** What a handler returns to ask: see {@link inputRequired}. */
export interface InputRequired {
  readonly [ASKS]: true;
  readonly inputRequests: { readonly [key: string]: Question };
  readonly requestState: string | undefined;
}

/**
 * Ends this run of a handler with questions. It runs again with `ctx.inputResponses` (by the same keys) and
 * `ctx.requestState` set; a response that is missing or does not fit is asked for by returning this again.
 *
 * @throws {KitError} `options-invalid` when there is neither a question nor a state.
 * @param requestState Text to have back on the next run. It is sealed: clients can neither read nor change it, and it is
 *   good only for the same request of the same principal.
 */
export function inputRequired(
  inputRequests: { readonly [key: string]: Question },
  requestState?: string,
): InputRequired {
  if (Object.keys(inputRequests).length === 0 && requestState === undefined) {
    throw new KitError("options-invalid", "inputRequired({}) asks nothing; give it a question, or a state.");
  }
  return { [ASKS]: true, inputRequests, requestState };
}

const ENV_KEYS = new EnvKeys("request state", "What a handler keeps in requestState needs");

/** Minutes a person may take over one round before its state is refused. */
const STATE_LIFE_MS = 60 * 60 * 1000;
/** Rounds of one legacy request, or of a task without a question: stops a handler that always asks again. */
export const ROUNDS_MAX = 32;

/** What was sealed: what the author gave, and what the engine keeps. */
interface SealedState {
  readonly state?: string | undefined;
  readonly journal?: unknown;
  /** Of a run that was suspended: what its handler had as `ctx.inputResponses`, and is to have again. */
  readonly responses?: JsonObject;
  /** For `onSample`. */
  readonly samples?: SentSamples | undefined;
}

/**
 * Begins a run that may ask in the middle.
 *
 * @param journal What an earlier run of the same call left.
 * @param check Throws when a journal is too large for the state that is to carry it.
 */
export type BeginReplay = (
  call: Call<never>,
  journal: unknown,
  inputResponses: JsonObject,
  check?: (journal: unknown) => void,
) => Attempted;

/** Such a run, and what is left of it when it is suspended. */
export interface Attempted extends Replaying {
  /** What it waits for. @throws {KitError} when the handler is not the one that was asked. */
  questions(): Readonly<Record<string, Question>>;
  /** To be given to the next run; JSON. */
  readonly journal: unknown;
  /** Whether the next run needs it although nothing waits. */
  readonly hasEntries: boolean;
  /** Resolves when no step is under way: only then the journal has all. */
  settled(): Promise<void>;
}

/**
 * What a modern request presents.
 *
 * @throws {McpError} -32602 when the state is not one sealed here for this request, or has expired. Says no more.
 */
async function readPresented(
  server: McpServer<never>,
  request: JSONRPCRequest,
  call: Call<never>,
): Promise<SealedState & { readonly inputResponses: JsonObject }> {
  const opened = await openState(server, request, call);
  if (opened && opened.expiresAtMs <= Date.now()) throw invalidState();
  return { ...opened, inputResponses: readResponses(request) };
}

/**
 * Opens the state that a modern request presents; undefined when there is none.
 *
 * @throws {McpError} -32602 when it was not sealed here for this request, or the answers are not objects.
 */
export async function openState(
  server: McpServer<never>,
  request: JSONRPCRequest,
  call: Call<never>,
): Promise<(SealedState & { readonly expiresAtMs: number }) | undefined> {
  readResponses(request);
  const { requestState } = request.params ?? {};
  if (requestState === undefined) return undefined;
  if (typeof requestState !== "string") throw invalidState();
  const ring = await keysOf(call, requestState).catch((error: unknown) => {
    // A server that has no keys has sealed nothing. Where nothing asks, that is no fault to report.
    if (!call.replay && KitError.is(error) && error.code === "keys-missing") throw invalidState();
    throw error;
  });
  const opened = await ring.open(requestState, bindingOf(server, request, call));
  if (!opened) throw invalidState();
  return JSON.parse(new TextDecoder().decode(opened)) as SealedState & { expiresAtMs: number };
}

/** The modern result that asks. @throws {McpError} -32021 when the client has not declared what is asked for. */
export async function toInputRequiredResult(
  asked: InputRequired,
  server: McpServer<never>,
  request: JSONRPCRequest,
  call: Call<never>,
  more: Omit<SealedState, "state" | "samples"> = {},
): Promise<JsonObject> {
  const questions = Object.entries(asked.inputRequests);
  const missing = [...new Set(questions.flatMap(([, question]) => capabilitiesFor(question)))].filter(
    (name) => !call.client.can(name),
  );
  if (missing.length > 0) throw lacking(missing);
  for (const [, question] of questions) {
    checkSampling(question, call.limits);
    warnOfSecrets(question, { server, request, call });
  }
  // Not by assignment: that would lose a question called "__proto__".
  const inputRequests = Object.fromEntries(questions.map(([key, question]) => [key, toInputRequest(question)]));
  const kept = { ...more, state: asked.requestState, samples: sentSamples(asked.inputRequests, server) };
  return {
    resultType: "input_required",
    ...(questions.length > 0 ? { inputRequests } : {}),
    ...(Object.values(kept).some((each) => each !== undefined)
      ? { requestState: await seal(kept, server, request, call) }
      : {}),
  };
}

/** A question as an entry of `inputRequests`: an elicitation has its key there and needs no id. */
export function toInputRequest({ method, params }: Question): JsonObject {
  const { elicitationId: _, ...rest } = params ?? {};
  return { method, params: rest };
}

async function seal(
  kept: SealedState,
  server: McpServer<never>,
  request: JSONRPCRequest,
  call: Call<never>,
): Promise<string> {
  const ring = await keysOf(call);
  return ring.seal(encodeState(kept, call), bindingOf(server, request, call));
}

/** @throws {KitError} `state-too-large` naming the limit. */
function encodeState(kept: SealedState, { limits: { requestStateBytesMax } }: Call<never>): Uint8Array<ArrayBuffer> {
  const bytes = encodeText(JSON.stringify({ ...kept, expiresAtMs: Date.now() + STATE_LIFE_MS }));
  if (bytes.length <= requestStateBytesMax) return bytes;
  const message = `What a run has to keep for the next is ${bytes.length} bytes, more than limits.requestStateBytesMax, ${requestStateBytesMax}.`;
  throw new KitError("state-too-large", message);
}

/** -32021 with what is missing. */
export function lacking(missing: readonly ClientCapabilityName[]): McpError {
  return new McpError(
    ErrorCode.MissingRequiredClientCapability,
    `This needs the client capability ${missing.join(", ")}.`,
    { requiredCapabilities: capabilityObject(missing) },
  );
}

async function keysOf(call: Call<never>, sealed?: string): Promise<KeyRing> {
  return call.stateKeys ? call.stateKeys(sealed) : ENV_KEYS.ring(call.env);
}

/** Endpoint, server, principal, method, target and arguments, in one spelling: what a state is good for. */
function bindingOf(server: McpServer<never>, request: JSONRPCRequest, { principal, endpoint }: Call<never>): string {
  const { name, uri, arguments: args } = request.params ?? {};
  const who = principal ? [principal.issuer, principal.subject] : null;
  return JSON.stringify([endpoint, server.name, who, request.method, name ?? uri ?? null, canonical(args ?? {})]);
}

/** In the modern era one round is one request, and asking is the result. In the legacy one the client is asked here. */
export function createRounds(begin?: BeginReplay): RunRounds {
  return async (server, request, call, run) => {
    if (call.client.era === "modern") return runOneRound(server, request, call, run, begin);
    let round: Round = FIRST_ROUND;
    let journal = call.journal;
    for (let rounds = 0; rounds < ROUNDS_MAX; rounds++) {
      const attempt = begin?.(call, journal, {});
      const returned = await run({ ...round, replay: attempt });
      if (!isInputRequired(returned)) return { returned };
      round = { inputResponses: await askAll(returned, call), requestState: returned.requestState };
      await attempt?.settled();
      journal = attempt?.journal;
    }
    throw new KitError("options-invalid", `A handler asked for input ${ROUNDS_MAX} times in one request.`);
  };
}

const runOneRound = async (
  server: McpServer<never>,
  request: JSONRPCRequest,
  call: Call<never>,
  run: (round: Round) => Promise<unknown>,
  begin: BeginReplay | undefined,
): Promise<RoundsOutcome> => {
  const presented = await readPresented(server, request, call);
  hearSamples(presented.samples ?? {}, presented.inputResponses, { server, request, call });
  // What an explicit question was answered with stays until the handler asks in that form again.
  const { state, responses = presented.inputResponses } = presented;
  const check = (journal: unknown) => void encodeState({ journal, state, responses }, call);
  const attempt = begin?.(call, presented.journal, presented.inputResponses, check);
  const keptOf = async () => {
    await attempt?.settled();
    return attempt?.hasEntries ? { journal: attempt.journal } : {};
  };
  try {
    const returned = await run({ inputResponses: responses, requestState: state, replay: attempt });
    if (attempt && returned === SUSPENDED) {
      const asked = inputRequired(attempt.questions(), state);
      return {
        asked: await toInputRequiredResult(asked, server, request, call, { journal: attempt.journal, responses }),
      };
    }
    if (!isInputRequired(returned)) return { returned };
    return { asked: await toInputRequiredResult(returned, server, request, call, await keptOf()) };
  } catch (error) {
    if (error instanceof QuestionError && error.missing.length > 0) throw lacking(error.missing);
    // It asks too, and the next run is to have what this one had.
    if (isAnswering(error)) return { asked: await error.answer(server, request, call, await keptOf()) };
    throw error;
  }
};

installRounds(createRounds());

/** All or nothing: a handler runs again only with every answer. */
async function askAll({ inputRequests }: InputRequired, call: Call<never>): Promise<JsonObject> {
  const questions = Object.entries(inputRequests);
  for (const [, question] of questions) call.asker.check?.(question);
  const failed = new AbortController();
  const signal = AbortSignal.any([call.ending.signal, failed.signal]);
  try {
    const answers = questions.map(async ([key, question]) => [key, await call.asker.ask(question, signal)] as const);
    return Object.fromEntries(await Promise.all(answers));
  } catch (error) {
    // Nobody waits for the other answers any more; their client is told.
    failed.abort();
    throw error;
  }
}
