/**
 * Checks the claims of a token, and reads its principal from them.
 *
 * @module
 */
import type { Principal } from "../../../core/protocol/client-facts.ts";
import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";

/** The rules that the claims of a token must satisfy. */
export interface ClaimRules {
  readonly issuer: string;
  /** The accepted audiences. The token must have at least one of them. */
  readonly audiences: readonly string[];
  readonly clockSkewMs: number;
  /**
   * Whether `iss` and `exp` may be missing, because the response that contains the claims vouches for them, as the response
   * of an introspection endpoint does.
   */
  readonly isVouchedFor: boolean;
  /** The claim that identifies the client of a token without a user. Users may be able to choose the values of other claims. */
  readonly clientClaim: "client_id" | "common_name";
}

/** The prefix of the subjects of clients. The subject of a user must not have it, or the user could act as a client. */
const CLIENT = "client:";

/** The result for an accepted token. */
export interface Accepted {
  readonly principal: Principal;
  /** When the token expires, in milliseconds since 1970, with the clock skew added. Infinity if it has no expiry. */
  readonly expiresAtMs: number;
}

/**
 * Returns the principal and the expiry of a token, or the reason why it is refused. The reason does not contain any part of
 * the token.
 */
export function readClaims(claims: JsonObject, rules: ClaimRules): Accepted | string {
  const { iss, aud, exp, nbf, sub } = claims;
  const { issuer, audiences, clockSkewMs, isVouchedFor, clientClaim } = rules;
  if (iss !== issuer && !(isVouchedFor && iss === undefined)) return "The token is from another issuer.";
  const given: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!audiences.some((audience) => given.includes(audience))) return "The token is for another resource.";
  const nowMs = Date.now();
  const expiresAtMs = isVouchedFor && exp === undefined ? Infinity : readTime(exp) + clockSkewMs;
  // `readTime()` returns NaN for a claim that is not a number. The comparisons are negated, so that NaN refuses the token.
  if (!(nowMs < expiresAtMs)) return "The token has expired.";
  if (nbf !== undefined && !(nowMs >= readTime(nbf) - clockSkewMs)) return "The token is not valid yet.";
  const user = toText(sub);
  if (user?.startsWith(CLIENT)) return "The subject of the token is reserved for clients.";
  const client = toText(claims[clientClaim]);
  const subject = user ?? (client && CLIENT + client);
  if (subject === undefined) return "The token names no subject.";
  // Issuers that do not write `client_id` (RFC 9068) write `azp` (OpenID Connect).
  const clientId = client ?? toText(claims.azp);
  const principal: Principal = {
    issuer,
    subject,
    scopes: readScopes(claims),
    claims,
    ...defined({ clientId, expiresAtMs: typeof exp === "number" ? exp * 1000 : undefined }),
  };
  return { principal, expiresAtMs };
}

/** Returns the members that are not undefined. */
export function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const found = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(found) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** Converts a claim in seconds to milliseconds. Returns NaN if it is not a number. */
function readTime(claim: unknown): number {
  return typeof claim === "number" ? claim * 1000 : Number.NaN;
}

function toText(claim: unknown): string | undefined {
  return typeof claim === "string" && claim !== "" ? claim : undefined;
}

/** Returns the scopes in `scope` (RFC 9068), or else in `scp`, which may be a string or a list. */
function readScopes({ scope, scp }: JsonObject): readonly string[] {
  const given = scope ?? scp;
  const list: readonly unknown[] = typeof given === "string" ? given.split(" ") : [given].flat();
  return list.filter((each) => typeof each === "string" && each !== "") as readonly string[];
}
