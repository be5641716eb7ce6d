/**
 * Opaque tokens, which only their issuer or the author's function can verify. Results can be cached in the isolate, so that
 * a call does not wait for a verification each time.
 *
 * @module
 */
import { encodeText, toHex } from "../../../core/basics/bytes.ts";
import { describeType, KitError } from "../../../core/protocol/errors.ts";
import type { Execution } from "../../../core/protocol/execution.ts";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { type Accepted, defined } from "./claims.ts";

/** The result for a token that the author's function accepts. */
export interface VerifiedToken {
  /** The subject of the token, such as the id of its user. */
  readonly subject: string;
  /** The scopes of the token. @default none */
  readonly scopes?: readonly string[];
  /** Additional values for handlers, as `ctx.auth.claims`. They must not contain the token. */
  readonly claims?: JsonObject;
  /** The client that the token was issued to. */
  readonly clientId?: string;
  /** When the token expires, in milliseconds since 1970. @default it does not */
  readonly expiresAtMs?: number;
}

/** The request that carries a token. */
export interface TokenRequest<Env> {
  /** The request. Its body must not be read. */
  readonly request: Request;
  /** The bindings of the Worker. */
  readonly env: Env;
  /** The resource that the token must be for: the URL of the endpoint. */
  readonly resource: string;
  /** The execution context, with the `props` that a wrapper around the Worker has set. */
  readonly execution: Execution;
}

/**
 * Verifies a token: returns its subject and scopes, or null to refuse it with 401. It must check that the token was issued
 * for `resource`. If it throws, the request is refused with 503, and the exception is logged without the token. It is
 * called for each request unless `cacheMs` is set: then a result is cached by token and resource, and applies to every
 * request that has both.
 */
export type VerifyToken<Env> = (
  token: string,
  given: TokenRequest<Env>,
) => VerifiedToken | null | Promise<VerifiedToken | null>;

/** Returns the principal and the expiry of a token, or the reason why it is refused. */
export type Verify = (token: string, given: TokenRequest<unknown>) => Promise<Accepted | string>;

/** Returns a function that verifies tokens with the author's function. */
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
 * The maximum number of cached results. Random tokens cannot evict them, because only results for accepted tokens are
 * cached.
 * @limit count Results of token verifications that an isolate caches. The oldest is evicted.
 */
const KEPT_MAX = 1_000;

/**
 * Returns a function that caches the results for accepted tokens.
 *
 * @param cacheMs How long a result is cached, in milliseconds. 0 disables the cache.
 */
export function keeping(verify: Verify, cacheMs: number): Verify {
  if (cacheMs === 0) return verify;
  const kept = new Map<string, Accepted & { readonly untilMs: number }>();
  return async (token, given) => {
    // The key is a hash, so the token itself is not stored. It includes the resource, because a result is valid for one
    // resource.
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
