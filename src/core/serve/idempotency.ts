/**
 * Runs calls once: calls of tools with `once: true`, and calls with an idempotency key in `_meta`. A repeated call
 * joins the run or gets its outcome. A call that is refused (unknown tool, invalid arguments or state) is not stored.
 *
 * | the request has | tool is `once` | repeated calls have the same |
 * | --- | --- | --- |
 * | a `requestState` (modern) | yes | principal, state, tool and arguments; answers may differ, because a state is valid for one round |
 * | otherwise, a key | yes or no | principal and key; another tool or other arguments under the key are refused |
 * | neither | yes, with a session or connection | session or connection, request id, tool and arguments |
 * | neither | yes, modern over HTTP | (each call runs) |
 *
 * A modern call that asks stays one call under its key. It continues once when its last questions are answered. Any
 * other request with the key gets the current outcome.
 *
 * @module
 */

import { encodeText, toHex } from "../basics/bytes.ts";
import { findCalledTool } from "../define/called-tool.ts";
import { checkNumbers, PERIOD, SIZE } from "../protocol/check-options.ts";
import * as ErrorCode from "../protocol/error-codes.ts";
import { describeType, invalidParams, McpError, toErrorObject } from "../protocol/errors.ts";
import type { JSONRPCErrorObject, JSONRPCRequest, JsonObject } from "../protocol/jsonrpc.ts";
import { readMeta } from "../protocol/lifecycle.ts";
import type { Once, RequestContext } from "../run/request-context.ts";
import { openState } from "../run/request-state.ts";
import { canonical } from "../seal/canonical.ts";
import { INTERRUPTED_CALL } from "./interrupted-call.ts";

/**
 * The member of `_meta` with the idempotency key of a call. Requests with the same key are the same call. The key must
 * be random, such as a UUID.
 */
export const IDEMPOTENCY_KEY = "mcp-edge/idempotencyKey";

/**
 * @limit characters An idempotency key. A longer key is refused with -32602.
 */
const KEY_CHARS_MAX = 256;

/** The identity of a call, by which repetitions are recognised. */
export interface Presented {
  /** The name under which the outcome is stored: a hash, so that it reveals nothing. */
  readonly name: string;
  /** A hash of the tool and its arguments. */
  readonly digest: string;
  /** Whether the caller has no principal. Anyone can send such calls, so their outcomes must be bounded. */
  readonly isAnonymous: boolean;
  /** The answers of this request to questions of the call; absent if it has none. */
  readonly round?: PresentedRound | undefined;
}

/** The client's answers to the questions of a call. */
export interface PresentedRound {
  /** The end of the `requestState` of the request; empty if there is no state. */
  readonly state: string;
  /** A hash of the answers. */
  readonly answers: string;
  /** Whether the state has expired. The call may have an outcome, but does not run again. */
  readonly isExpired: boolean;
}

/**
 * Stores the outcomes of calls. Resolves with the outcome of this run or of an earlier run; see {@link settle}. If
 * {@link goesOn} is true, the call runs again, and the new outcome replaces the old outcome.
 */
export type OutcomeKeeper = (presented: Presented, run: () => Promise<string>) => Promise<string>;

/**
 * Creates a function that runs repeated calls once, with a store of their outcomes.
 *
 * @param scope The session or connection, if there is one. Request ids identify calls only within it.
 */
export function onceWith(keep: OutcomeKeeper, scope: string | undefined): Once {
  return async (context, work) => {
    const presented = await recognise(context, scope);
    if (!presented) return work();
    const failed: { error?: unknown } = {};
    const text = await keep(presented, () => settle(work, failed));
    if ("error" in failed) throw failed.error;
    return read(text);
  };
}

/**
 * Stores outcomes in the memory of one process.
 * @param max The maximum number of outcomes; the oldest outcomes are removed first.
 */
export function outcomesInMemory(max = 1_000, ttlMs = 24 * 60 * 60_000): OutcomeKeeper {
  checkNumbers("outcomesInMemory(): ", { max, ttlMs }, { max: SIZE, ttlMs: [1, PERIOD[1]] });
  const kept = new Map<string, KeptCall>();
  return async ({ name, digest, round }, run) => {
    for (const [each, { untilMs }] of kept) if (untilMs <= Date.now()) kept.delete(each);
    const first = kept.get(name);
    if (first && first.digest !== digest) throw otherCall();
    if (first && !(first.text !== undefined && goesOn(first.text, round, first.answered))) return first.outcome;
    // The run refuses the expired state, and a refusal is not stored.
    if (round?.isExpired) return run();
    for (const [each] of kept) if (!first && kept.size >= max) kept.delete(each);
    const { untilMs = Date.now() + ttlMs, answered } = first ?? {};
    const call: KeptCall = { digest, outcome: run(), untilMs, answered: withAnswers(answered, round) };
    kept.set(name, call);
    call.text = await call.outcome;
    return call.text;
  };
}

interface KeptCall {
  readonly digest: string;
  readonly outcome: Promise<string>;
  readonly untilMs: number;
  readonly answered: readonly string[];
  /** The outcome, once there is one. */
  text?: string;
}

/**
 * The maximum number of rounds without a state under one key. Then the call does not continue.
 * @limit internal
 */
const ANSWERED_MAX = 64;

/**
 * Whether the round of a request continues a call: it answers the last questions of the call, and was not sent before.
 *
 * @param outcome The outcome of the call so far.
 * @param answered See {@link withAnswers}.
 */
export function goesOn(outcome: string, round: PresentedRound | undefined, answered: readonly string[] = []): boolean {
  if (!round || askedIn(outcome) !== round.state) return false;
  return round.state !== "" || (answered.length < ANSWERED_MAX && !answered.includes(round.answers));
}

/** Adds the hash of the answers of a round to the hashes of earlier rounds. Rounds with a state need no hash. */
export function withAnswers(answered: readonly string[] = [], round: PresentedRound | undefined): readonly string[] {
  return round?.state === "" ? [...answered, round.answers] : answered;
}

/** Returns the end of the state of an outcome that asks (empty without a state), or undefined if it does not ask. */
function askedIn(outcome: string): string | undefined {
  const { result, asked } = JSON.parse(outcome) as Outcome;
  return asked ?? (result?.resultType === "input_required" ? toEnd(result.requestState) : undefined);
}

/** Returns the end of a sealed state. It identifies the state, because it contains the authentication tag. */
function toEnd(state: unknown): string {
  return typeof state === "string" ? state.slice(-64) : "";
}

/** The outcome of a call whose run was lost. */
export const INTERRUPTED_OUTCOME = encode({ error: INTERRUPTED_CALL });

/** Returns the outcome that replaces an outcome that is too large to store. The call may still continue. */
export function tooLargeOutcome(outcome: string): string {
  return encode({
    error: {
      code: ErrorCode.InternalError,
      message: "The call has already run, and its outcome was too large to store.",
      data: { reason: "outcome-too-large" },
    },
    asked: askedIn(outcome),
  });
}

/** Returns the -32602 error for a key that belongs to another call. */
export function otherCall(): McpError {
  const message = `_meta["${IDEMPOTENCY_KEY}"] was used for another tool or other arguments. Use a new key for each call.`;
  return invalidParams(message, { field: `_meta.${IDEMPOTENCY_KEY}` });
}

/** The round in the name of a call. All rounds of a call share the name of the first round. */
const FIRST = [null, null];

/**
 * Returns the identity of a call that runs once; undefined for any other call.
 *
 * @throws {McpError} -32602 for an invalid key or state.
 */
async function recognise(context: RequestContext, scope: string | undefined): Promise<Presented | undefined> {
  const { principal, client } = context;
  const { name, arguments: args = {}, requestState } = context.request.params ?? {};
  const key = readKey(context.request);
  const isOnce = findCalledTool(context.registry, context.request)?.options.once === true;
  const hasState = client.era === "modern" && typeof requestState === "string";
  // Most calls have neither a key nor `once`. They start immediately, without hashing.
  if (key === undefined && !(isOnce && (hasState || scope !== undefined))) return undefined;
  const round = client.era === "modern" ? await readRound(context) : undefined;
  const digest = await hash([name, canonical(args)]);
  const byKey = key === undefined ? ["id", scope, context.request.id, digest, FIRST] : ["key", key, FIRST];
  // The name includes the digest, because a state with other arguments is refused, and the refusal must not become the
  // outcome.
  const which = isOnce && hasState ? ["state", requestState, digest] : byKey;
  const who = principal ? [principal.issuer, principal.subject] : null;
  return {
    name: await hash([context.endpoint, context.registry.options.name, who, which]),
    digest,
    isAnonymous: who === null,
    round,
  };
}

/** Reads the round of a request. @throws {McpError} -32602 if the state was not sealed for this request. */
async function readRound(context: RequestContext): Promise<PresentedRound | undefined> {
  const opened = await openState(context);
  const { requestState, inputResponses = {} } = context.request.params ?? {};
  if (!opened && Object.keys(inputResponses as JsonObject).length === 0) return undefined;
  return {
    state: toEnd(requestState),
    answers: await hash(canonical(inputResponses)),
    isExpired: opened !== undefined && opened.expiresAtMs <= Date.now(),
  };
}

function readKey(request: JSONRPCRequest): string | undefined {
  const key = readMeta(request.params)[IDEMPOTENCY_KEY];
  if (key === undefined) return undefined;
  if (typeof key === "string" && key !== "" && key.length <= KEY_CHARS_MAX) return key;
  const given = typeof key === "string" ? `${key.length} characters` : describeType(key);
  const message = `_meta["${IDEMPOTENCY_KEY}"] is ${given}; it must be a string of 1 to ${KEY_CHARS_MAX} characters.`;
  throw invalidParams(message, { field: `_meta.${IDEMPOTENCY_KEY}` });
}

/** Runs the work and returns the outcome as JSON text. Never rejects; `failed` receives the exception. */
async function settle(work: () => Promise<JsonObject>, failed: { error?: unknown }): Promise<string> {
  try {
    return encode({ result: await work() });
  } catch (error) {
    failed.error = error;
    const known = McpError.is(error)
      ? error
      : new McpError(ErrorCode.InternalError, "The call failed when it was run.");
    return encode({ error: toErrorObject(known) });
  }
}

/** The outcome of a call: a result or an error. */
interface Outcome {
  readonly result?: JsonObject;
  readonly error?: JSONRPCErrorObject;
  /** The end of the state of a result that asked and was too large to store. */
  readonly asked?: string | undefined;
}

function encode(outcome: Outcome): string {
  return JSON.stringify(outcome);
}

function read(text: string): JsonObject {
  const { result = {}, error } = JSON.parse(text) as Outcome;
  if (error) throw new McpError(error.code, error.message, error.data);
  return result;
}

async function hash(value: unknown): Promise<string> {
  const bytes = encodeText(JSON.stringify(value));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return toHex(digest);
}
