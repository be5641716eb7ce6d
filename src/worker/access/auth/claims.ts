/**
 * The claims of a token: whether it may be used here, and who it acts for.
 *
 * @module
 */
import type { Principal } from "../../../core/protocol/client-facts.ts";
import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";

/** The rules that the claims of a token must satisfy. */
export interface ClaimRules {
  readonly issuer: string;
  /** One of these must be among the audiences of the token. */
  readonly audiences: readonly string[];
  readonly clockSkewMs: number;
  /** Whether the answer itself shows issuer and expiry, as that of an introspection endpoint does. */
  readonly isVouchedFor: boolean;
  /** The claim that names the client of a token without a user. Any other claim may be one that users choose. */
  readonly clientClaim: "client_id" | "common_name";
}

/** Begins the subjects of clients. No user may have such a subject, or a user could act for a client. */
const CLIENT = "client:";

/** A token that is accepted. */
export interface Accepted {
  readonly principal: Principal;
  /** Milliseconds since 1970, with the clock skew. Infinity if the token does not say. */
  readonly expiresAtMs: number;
}

/** Returns who a token acts for, or the reason for which it is refused. The reason contains nothing of the token. */
export function readClaims(claims: JsonObject, rules: ClaimRules): Accepted | string {
  const { iss, aud, exp, nbf, sub } = claims;
  const { issuer, audiences, clockSkewMs, isVouchedFor, clientClaim } = rules;
  if (iss !== issuer && !(isVouchedFor && iss === undefined)) return "The token is from another issuer.";
  const given: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!audiences.some((audience) => given.includes(audience))) return "The token is for another resource.";
  const nowMs = Date.now();
  const expiresAtMs = isVouchedFor && exp === undefined ? Infinity : readTime(exp) + clockSkewMs;
  // Written so that NaN, for a claim that is not a number, refuses the token.
  if (!(nowMs < expiresAtMs)) return "The token has expired.";
  if (nbf !== undefined && !(nowMs >= readTime(nbf) - clockSkewMs)) return "The token is not valid yet.";
  const user = toText(sub);
  if (user?.startsWith(CLIENT)) return "The subject of the token is reserved for clients.";
  const client = toText(claims[clientClaim]);
  const subject = user ?? (client && CLIENT + client);
  if (subject === undefined) return "The token names no subject.";
  // Issuers that do not write the `client_id` of RFC 9068 write the `azp` of OpenID Connect.
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

/** Returns the members that have a value. */
export function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const found = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(found) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** Returns the milliseconds of a claim in seconds. */
function readTime(claim: unknown): number {
  return typeof claim === "number" ? claim * 1000 : Number.NaN;
}

function toText(claim: unknown): string | undefined {
  return typeof claim === "string" && claim !== "" ? claim : undefined;
}

/** Returns the scopes of a token: `scope` (RFC 9068), or `scp`, as a text or a list. */
function readScopes({ scope, scp }: JsonObject): readonly string[] {
  const given = scope ?? scp;
  const list: readonly unknown[] = typeof given === "string" ? given.split(" ") : [given].flat();
  return list.filter((each) => typeof each === "string" && each !== "") as readonly string[];
}
