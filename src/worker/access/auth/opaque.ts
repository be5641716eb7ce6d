/**
 * Tokens whose meaning only their issuer, or the author, knows. Answers can be kept in the isolate, so that a call need
 * not wait for one each time.
 *
 * @module
 */
import { encodeText, toHex } from "../../../core/basics/bytes.ts";
import { describeType, KitError } from "../../../core/protocol/errors.ts";
import type { Execution } from "../../../core/protocol/execution.ts";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { type Accepted, defined } from "./claims.ts";

/** A token that the author's function accepts. */
export interface VerifiedToken {
  /** The subject of the token, such as the id of its user. */
  readonly subject: string;
  /** The scopes of the token. @default none */
  readonly scopes?: readonly string[];
  /** Further values for handlers, as `ctx.auth.claims`. They must not contain the token. */
  readonly claims?: JsonObject;
  /** The client that the token was issued to. */
  readonly clientId?: string;
  /** When the token expires, in milliseconds since 1970. @default it does not */
  readonly expiresAtMs?: number;
}

/** The request that a token came with. */
export interface TokenRequest<Env> {
  /** The request. Its body must not be read. */
  readonly request: Request;
  /** The bindings of the Worker. */
  readonly env: Env;
  /** The resource that the token must be for: the URL of the endpoint. */
  readonly resource: string;
  /** The execution context, with the `props` of a wrapper around the Worker. */
  readonly execution: Execution;
}

/**
 * Verifies a token: returns who it acts for, or null to refuse it with 401. It must check that the token was issued for
 * `resource`. An exception refuses the request with 503, and is logged without the token. It is called for each request, unless `cacheMs`
 * is set: then an answer is kept for the token and the resource, and holds for every request that has both.
 */
export type VerifyToken<Env> = (
  token: string,
  given: TokenRequest<Env>,
) => VerifiedToken | null | Promise<VerifiedToken | null>;

/** Returns who a token acts for, or the reason for which it is refused. */
export type Verify = (token: string, given: TokenRequest<unknown>) => Promise<Accepted | string>;

/** Verifies tokens by the author's function. */
export function byFunction(issuer: string, verify: VerifyToken<never>): Verify {
  return async (token, request) => {
    const verified = await verify(token, request as TokenRequest<never>);
    if (verified === null) return "The token is not accepted.";
    if (!isObject(verified) || typeof verified.subject !== "string" || verified.subject === "") {
      const text = `verify of bearer() returned ${describeType(verified)}. Return { subject }, a non-empty string, or null.`;
      throw new KitError("options-invalid", text);
    }
    const { subject, scopes = [], claims, clientId, expiresAtMs } = verified;
    const untilMs = expiresAtMs ?? Infinity;
    if (!(Date.now() < untilMs)) return "The token has expired.";
    const principal = { issuer, subject, scopes, ...defined({ claims, clientId, expiresAtMs }) };
    return { principal, expiresAtMs: untilMs };
  };
}

/**
 * Answers that an isolate keeps. Random tokens cannot displace them, because only accepted ones are kept.
 * @limit count Answers about tokens that an isolate keeps. The oldest is forgotten.
 */
const KEPT_MAX = 1_000;

/** Keeps the answers about accepted tokens. @param cacheMs Milliseconds for which an answer is kept; 0 keeps none. */
export function keeping(verify: Verify, cacheMs: number): Verify {
  if (cacheMs === 0) return verify;
  const kept = new Map<string, Accepted & { readonly untilMs: number }>();
  return async (token, given) => {
    // The token itself is not kept. An answer holds for one resource.
    const bytes = encodeText(JSON.stringify([given.resource, token]));
    const key = toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
    const known = kept.get(key);
    if (known && Date.now() < known.untilMs) return known;
    kept.delete(key);
    const answer = await verify(token, given);
    if (typeof answer === "string") return answer;
    const [oldest] = kept.keys();
    if (kept.size >= KEPT_MAX && oldest !== undefined) kept.delete(oldest);
    kept.set(key, { ...answer, untilMs: Math.min(answer.expiresAtMs, Date.now() + cacheMs) });
    return answer;
  };
}
