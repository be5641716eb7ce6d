/**
 * Calls that run once: those of tools declared `once: true`, and any that carries an idempotency key of its client's in
 * `_meta`. A repeat joins the run or gets what came of it. Other calls are untouched, and a call that is refused (unknown
 * tool, invalid arguments or state) is not remembered.
 *
 * | presents | tool is `once` | what counts as the same call |
 * | --- | --- | --- |
 * | a `requestState` (modern) | yes | principal, state, tool and arguments, whatever the answers: a state is good for one round |
 * | else a key | either | principal and key; another tool or other arguments under the key are refused |
 * | neither | yes, with a session or connection | that, the request id, tool and arguments |
 * | neither | yes, modern over HTTP | nothing does: each call runs |
 *
 * A call that asks by returning (modern) is still one call under its key. It goes on, once, when what it asked last is
 * answered. Whatever else is presented under the key gets what has come of the call so far.
 *
 * @module
 */

import type { Registry } from "../define/registry.ts";
import { encodeText, toHex } from "../protocol/bytes.ts";
import { checkNumbers, PERIOD, SIZE } from "../protocol/check-options.ts";
import { describeType, invalidParams, McpError, toErrorObject } from "../protocol/errors.ts";
import { INTERRUPTED_CALL } from "../protocol/interrupted-call.ts";
import { ErrorCode, type JSONRPCErrorObject, type JSONRPCRequest, type JsonObject } from "../protocol/jsonrpc.ts";
import { metaOf } from "../protocol/lifecycle.ts";
import type { Call, Once } from "../run/call.ts";
import { openState } from "../run/request-state.ts";
import { canonical } from "../seal/canonical.ts";

/** Member of `_meta` in which a client names its call: the same name, the same call. Make it random, such as a UUID. */
export const IDEMPOTENCY_KEY = "mcp-edge/idempotencyKey";

const KEY_CHARS_MAX = 256;

/** A call as it is recognised when it is repeated. */
export interface Presented {
  /** The name under which the outcome is stored: a hash, so that it reveals nothing. */
  readonly name: string;
  /** A hash of the tool and its arguments. */
  readonly digest: string;
  /** The questions of the call that this request answers; absent if it answers none. */
  readonly round?: PresentedRound | undefined;
}

/** Answers to what a call has asked by returning. */
export interface PresentedRound {
  /** The end of the `requestState` that is presented; empty where there is none. */
  readonly state: string;
  /** Hash of the answers. */
  readonly answers: string;
  /** Whether the state has expired. Then it may have an outcome, but nothing runs. */
  readonly isExpired: boolean;
}

/**
 * Keeps what comes of calls. Gives the outcome, of this run or the first: see {@link settle}. Where {@link goesOn} says
 * so, the call is run again, and what comes of that takes the place of the outcome before.
 */
export type OutcomeKeeper = (presented: Presented, run: () => Promise<string>) => Promise<string>;

/**
 * Makes the part that runs repeated calls once, from a store of their outcomes.
 *
 * @param place The session or connection; undefined: none.
 */
export function onceWith(keep: OutcomeKeeper, place: string | undefined): Once {
  return async (server, request, call, work) => {
    const presented = await recognise(server, request, call, place);
    if (!presented) return work();
    const failed: { error?: unknown } = {};
    const text = await keep(presented, () => settle(work, failed));
    if ("error" in failed) throw failed.error;
    return read(text);
  };
}

/** Outcomes in the memory of one process. @param max How many; the oldest go first. */
export function outcomesInMemory(max = 1_000, ttlMs = 24 * 60 * 60_000): OutcomeKeeper {
  checkNumbers("outcomesInMemory(): ", { max, ttlMs }, { max: SIZE, ttlMs: [1, PERIOD[1]] });
  const kept = new Map<string, KeptCall>();
  return async ({ name, digest, round }, run) => {
    for (const [each, { untilMs }] of kept) if (untilMs <= Date.now()) kept.delete(each);
    const first = kept.get(name);
    if (first && first.digest !== digest) throw otherCall();
    if (first && !(first.text !== undefined && goesOn(first.text, round, first.answered))) return first.outcome;
    // The state is refused, and that is not kept.
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

/** Rounds without a state that are distinguished under one key. With more of them, the call goes no further. */
const ANSWERED_MAX = 64;

/**
 * Whether a presented round is the next of a call: it answers what the call asked last, and did not before.
 *
 * @param outcome What has come of the call so far.
 * @param answered See {@link withAnswers}.
 */
export function goesOn(outcome: string, round: PresentedRound | undefined, answered: readonly string[] = []): boolean {
  if (!round || askedIn(outcome) !== round.state) return false;
  return round.state !== "" || (answered.length < ANSWERED_MAX && !answered.includes(round.answers));
}

/** Returns the hashes of all answers that were presented without a state, which would distinguish the rounds. */
export function withAnswers(answered: readonly string[] = [], round: PresentedRound | undefined): readonly string[] {
  return round?.state === "" ? [...answered, round.answers] : answered;
}

/** The end of the state of an outcome that asks, which is empty where it has none; undefined when it does not ask. */
function askedIn(outcome: string): string | undefined {
  const { result, asked } = JSON.parse(outcome) as Outcome;
  return asked ?? (result?.resultType === "input_required" ? endOf(result.requestState) : undefined);
}

/** Enough to know a sealed state by: it ends with its authentication tag. */
function endOf(state: unknown): string {
  return typeof state === "string" ? state.slice(-64) : "";
}

/** The outcome of a call whose run was lost. */
export const INTERRUPTED_OUTCOME = encode({ error: INTERRUPTED_CALL });

/** The outcome that replaces one too large to keep. Its call may go on. */
export function tooLargeOutcome(outcome: string): string {
  return encode({
    error: {
      code: ErrorCode.InternalError,
      message: "The call was run before. What came of it was too large to be kept.",
      data: { reason: "outcome-too-large" },
    },
    asked: askedIn(outcome),
  });
}

/** -32602: the key is that of another call. */
export function otherCall(): McpError {
  const message = `_meta["${IDEMPOTENCY_KEY}"] was used for another tool or other arguments. Make a key for each call.`;
  return invalidParams(message, { field: `_meta.${IDEMPOTENCY_KEY}` });
}

/** The round in a name: a call has the name of its first round. */
const FIRST = [null, null];

/** @throws {McpError} -32602 for a key or state that is not valid. */
async function recognise(
  server: Registry,
  request: JSONRPCRequest,
  call: Call,
  place: string | undefined,
): Promise<Presented | undefined> {
  const { principal, client } = call;
  const { name, arguments: args = {}, requestState } = request.params ?? {};
  const key = readKey(request);
  const isOnce = server.tools.find(String(name))?.options.once === true;
  const hasState = client.era === "modern" && typeof requestState === "string";
  // Most calls have neither a key nor `once`. They are not hashed, and begin at once.
  if (key === undefined && !(isOnce && (hasState || place !== undefined))) return undefined;
  const round = client.era === "modern" ? await readRound(server, request, call) : undefined;
  const digest = await hash([name, canonical(args)]);
  const byKey = key === undefined ? ["id", place, request.id, digest, FIRST] : ["key", key, FIRST];
  // With the digest: a state shown with other arguments is refused, and that must not be its one outcome.
  const which = isOnce && hasState ? ["state", requestState, digest] : byKey;
  const who = principal ? [principal.issuer, principal.subject] : null;
  return { name: await hash([call.endpoint, server.options.name, who, which]), digest, round };
}

/** @throws {McpError} -32602 for what was not sealed for this request. */
async function readRound(server: Registry, request: JSONRPCRequest, call: Call): Promise<PresentedRound | undefined> {
  const opened = await openState(server, request, call);
  const { requestState, inputResponses = {} } = request.params ?? {};
  if (!opened && Object.keys(inputResponses as JsonObject).length === 0) return undefined;
  return {
    state: endOf(requestState),
    answers: await hash(canonical(inputResponses)),
    isExpired: opened !== undefined && opened.expiresAtMs <= Date.now(),
  };
}

function readKey(request: JSONRPCRequest): string | undefined {
  const key = metaOf(request.params)[IDEMPOTENCY_KEY];
  if (key === undefined) return undefined;
  if (typeof key === "string" && key !== "" && key.length <= KEY_CHARS_MAX) return key;
  const given = typeof key === "string" ? `${key.length} characters` : describeType(key);
  const message = `_meta["${IDEMPOTENCY_KEY}"] is ${given}; it is a string of 1 to ${KEY_CHARS_MAX} characters.`;
  throw invalidParams(message, { field: `_meta.${IDEMPOTENCY_KEY}` });
}

/** Runs to an outcome, as text. Never rejects; `failed` gets the exception itself. */
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
  /** The end of the state of a result that asked and could not be kept. */
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
