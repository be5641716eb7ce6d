/**
 * `requestState`: the data that one round of a modern call keeps for the next, sealed so that clients can neither read
 * nor change it.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */

import { encodeText } from "../basics/bytes.ts";
import { KitError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { canonical } from "../seal/canonical.ts";
import { envRing, readKeyList } from "../seal/env-keys.ts";
import type { KeyRing } from "../seal/key-ring.ts";
import type { RequestContext } from "./request-context.ts";
import { invalidState, readResponses } from "./run-rounds.ts";
import type { SentSamples } from "./sampling-rounds.ts";

/** The purpose of the keys. */
const STATE = "request state";

/**
 * Lifetime of a state, in milliseconds. It limits how long a user may take for one round.
 * @limit ms The time between two rounds of a modern call. A later round is refused with -32602.
 */
const STATE_LIFE_MS = 60 * 60 * 1000;
/** The contents of a sealed state: the string of the author, and the data of the engine. */
export interface SealedState {
  readonly state?: string | undefined;
  readonly journal?: unknown;
  /** The `ctx.inputResponses` of a suspended run, which its next run gets again. */
  readonly responses?: JsonObject;
  /** The sampling requests that were sent, for `onSample`. */
  readonly samples?: SentSamples | undefined;
}

/**
 * Reads the state and the answers of a modern request.
 *
 * @throws {McpError} -32602 if the state was not sealed here for this request, or has expired. The error does not say
 *   which.
 */
export async function readPresented(
  context: RequestContext,
): Promise<SealedState & { readonly inputResponses: JsonObject }> {
  const opened = await openState(context);
  if (opened && opened.expiresAtMs <= Date.now()) throw invalidState();
  return { ...opened, inputResponses: readResponses(context.request) };
}

/**
 * Opens the state of a modern request, if it has one.
 *
 * @throws {McpError} -32602 if it was not sealed here for this request, or the answers are not objects.
 */
export async function openState(
  context: RequestContext,
): Promise<(SealedState & { readonly expiresAtMs: number }) | undefined> {
  readResponses(context.request);
  const { requestState } = context.request.params ?? {};
  if (requestState === undefined) return undefined;
  if (typeof requestState !== "string") throw invalidState();
  // A server without keys cannot have sealed the state, and missing keys are not a mistake.
  if (!context.stateKeys && !readKeyList(context.env)) throw invalidState();
  const ring = await openKeys(context, requestState);
  const opened = await ring.open(requestState, createBinding(context));
  if (!opened) throw invalidState();
  return JSON.parse(new TextDecoder().decode(opened)) as SealedState & { expiresAtMs: number };
}

/** Seals the data for the next round. @throws {KitError} `state-too-large` naming the limit. */
export async function sealState(kept: SealedState, context: RequestContext): Promise<string> {
  const ring = await openKeys(context);
  return ring.seal(encodeState(kept, context), createBinding(context));
}

/** Encodes a state before it is sealed. @throws {KitError} `state-too-large` naming the limit. */
export function encodeState(
  kept: SealedState,
  { limits: { requestStateBytesMax } }: RequestContext,
): Uint8Array<ArrayBuffer> {
  const bytes = encodeText(JSON.stringify({ ...kept, expiresAtMs: Date.now() + STATE_LIFE_MS }));
  if (bytes.length <= requestStateBytesMax) return bytes;
  const message = `The state for the next run has ${bytes.length} bytes, more than limits.requestStateBytesMax, ${requestStateBytesMax}.`;
  throw new KitError("state-too-large", message);
}

async function openKeys(context: RequestContext, sealed?: string): Promise<KeyRing> {
  return context.stateKeys ? context.stateKeys(sealed) : envRing(context.env, STATE);
}

/**
 * Returns the data to which a state is bound: endpoint, server, principal, method, target and arguments in canonical
 * form.
 */
function createBinding({ registry: { options }, request, principal, endpoint }: RequestContext): string {
  const { name, uri, arguments: args } = request.params ?? {};
  const who = principal ? [principal.issuer, principal.subject] : null;
  return JSON.stringify([endpoint, options.name, who, request.method, name ?? uri ?? null, canonical(args ?? {})]);
}
