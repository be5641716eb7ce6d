/**
 * Calls that run once: those of tools declared `once: true`, and any that carries an idempotency key of its client's in
 * `_meta`. A repeat joins the run or gets what came of it. Other calls are untouched.
 *
 * | presents | tool is `once` | what counts as the same call |
 * | --- | --- | --- |
 * | a `requestState` (modern) | yes | principal, state, tool and arguments, whatever the answers: a state is good for one round |
 * | else a key | either | principal and key; another tool or other arguments under the key are refused |
 * | neither | yes, with a session or connection | that, the request id, tool and arguments |
 * | neither | yes, modern over HTTP | nothing does: each call runs |
 *
 * Each round of a call that asks by returning is presented by itself; by a key, with its state and answers.
 *
 * @module
 */
import { encodeText, toHex } from "./bytes.ts";
import { canonical } from "./canonical.ts";
import type { Call } from "./context.ts";
import { invalidParams, McpError, toErrorObject, unfit } from "./errors.ts";
import { ErrorCode, type JSONRPCErrorObject, type JSONRPCRequest, type JsonObject, type JsonText } from "./jsonrpc.ts";
import { metaOf } from "./lifecycle.ts";
import { checkNumbers, PERIOD, SIZE } from "./options.ts";
import type { McpServer } from "./server.ts";

/** Member of `_meta` in which a client names its call: the same name, the same call. Make it random, such as a UUID. */
export const IDEMPOTENCY_KEY = "mcp-edge/idempotencyKey";

const KEY_CHARS_MAX = 256;

/** Does the work, unless it was done. Throws what the work throws, or threw. */
export type Once = (
  server: McpServer<never>,
  request: JSONRPCRequest,
  call: Call<never>,
  work: () => Promise<JsonObject | JsonText>,
) => Promise<JsonObject | JsonText>;

/** A call as it is recognised again. */
export interface Presented {
  /** What it is known by: a hash, so it tells nothing. */
  readonly name: string;
  /** Of the tool and the arguments. */
  readonly digest: string;
}

/** Keeps what comes of calls. Gives the outcome, of this run or the first: see {@link settle}. */
export type OutcomeKeeper = (presented: Presented, run: () => Promise<string>) => Promise<string>;

/** Calls that run once, by whoever keeps their outcomes. @param place The session or connection; undefined: none. */
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
export function outcomesInMemory(max = 1_000, keepMs = 24 * 60 * 60_000): OutcomeKeeper {
  checkNumbers("outcomesInMemory(): ", { max, keepMs }, { max: SIZE, keepMs: [1, PERIOD[1]] });
  const kept = new Map<
    string,
    { readonly digest: string; readonly outcome: Promise<string>; readonly untilMs: number }
  >();
  return async ({ name, digest }, run) => {
    for (const [each, { untilMs }] of kept) if (untilMs <= Date.now()) kept.delete(each);
    const first = kept.get(name);
    if (first && first.digest !== digest) throw otherCall();
    if (first) return first.outcome;
    for (const [each] of kept) if (kept.size >= max) kept.delete(each);
    const outcome = run();
    kept.set(name, { digest, outcome, untilMs: Date.now() + keepMs });
    return outcome;
  };
}

/** The outcome of a call whose run was lost. */
export const INTERRUPTED_OUTCOME = encode({
  error: {
    code: ErrorCode.InternalError,
    message: "The call was interrupted: what ran it was reset. It may have had effects.",
    data: { reason: "interrupted" },
  },
});

/** The outcome that stands for one too large to keep. */
export const TOO_LARGE_OUTCOME = encode({
  error: {
    code: ErrorCode.InternalError,
    message: "The call was run before. What came of it was too large to be kept.",
    data: { reason: "outcome-too-large" },
  },
});

/** -32602: the key is that of another call. */
export function otherCall(): McpError {
  const message = `_meta["${IDEMPOTENCY_KEY}"] was used for another tool or other arguments. Make a key for each call.`;
  return invalidParams(message, { field: `_meta.${IDEMPOTENCY_KEY}` });
}

async function recognise(
  server: McpServer<never>,
  request: JSONRPCRequest,
  { principal, client, endpoint }: Call<never>,
  place: string | undefined,
): Promise<Presented | undefined> {
  const { name, arguments: args = {}, requestState, inputResponses } = request.params ?? {};
  if (request.method !== "tools/call" || typeof name !== "string") return undefined;
  const key = readKey(request);
  const isOnce = server.tools.find(name)?.options.once === true;
  const hasState = client.era === "modern" && typeof requestState === "string";
  // Other calls are not even hashed: they are the rule, and begin at once.
  if (key === undefined && !(isOnce && (hasState || place !== undefined))) return undefined;
  const digest = await hash([name, canonical(args)]);
  const round = [requestState ?? null, canonical(inputResponses ?? null)];
  const byKey = key === undefined ? ["id", place, request.id, digest, round] : ["key", key, round];
  // With the digest: a state shown with other arguments is refused, and that must not be its one outcome.
  const which = isOnce && hasState ? ["state", requestState, digest] : byKey;
  const who = principal ? [principal.issuer, principal.subject] : null;
  return { name: await hash([endpoint, server.name, who, which]), digest };
}

function readKey(request: JSONRPCRequest): string | undefined {
  const key = metaOf(request.params)[IDEMPOTENCY_KEY];
  if (key === undefined) return undefined;
  if (typeof key === "string" && key !== "" && key.length <= KEY_CHARS_MAX) return key;
  const given = typeof key === "string" ? `${key.length} characters` : unfit(key);
  const message = `_meta["${IDEMPOTENCY_KEY}"] is ${given}; it is a string of 1 to ${KEY_CHARS_MAX} characters.`;
  throw invalidParams(message, { field: `_meta.${IDEMPOTENCY_KEY}` });
}

/** Runs to an outcome, as text. Never rejects; what was thrown goes to whoever ran it as it was. */
async function settle(work: () => Promise<JsonObject | JsonText>, failed: { error?: unknown }): Promise<string> {
  try {
    // tools/call has no result that is text already.
    return encode({ result: (await work()) as JsonObject });
  } catch (error) {
    failed.error = error;
    const known = McpError.is(error)
      ? error
      : new McpError(ErrorCode.InternalError, "The call failed when it was run.");
    return encode({ error: toErrorObject(known) });
  }
}

function encode(outcome: { readonly result: JsonObject } | { readonly error: JSONRPCErrorObject }): string {
  return JSON.stringify(outcome);
}

function read(text: string): JsonObject {
  const { result, error } = JSON.parse(text) as { result: JsonObject; error?: JSONRPCErrorObject };
  if (error) throw new McpError(error.code, error.message, error.data);
  return result;
}

async function hash(value: unknown): Promise<string> {
  const bytes = encodeText(JSON.stringify(value));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return toHex(digest);
}
