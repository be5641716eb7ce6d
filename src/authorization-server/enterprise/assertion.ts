/**
 * Reads assertions: JWTs with which the identity provider of a company allows a client to act for a user (ID-JAG). What is checked
 * here depends only on the assertion and on facts that are public, so the reasons reveal nothing about the trusted issuers.
 *
 * @module
 * @see draft-ietf-oauth-identity-assertion-authz-grant; RFC 7523, section 3; RFC 8725
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { findScheme, parseJwt, type UnverifiedJwt } from "../../worker/access/auth/jwt.ts";
import { isSameUrl } from "../routes/authorization-request.ts";
import { TEXT_MAX } from "../sealing.ts";

/** The `typ` of assertions. It differs from the types of ID tokens and access tokens, which are not accepted as assertions. */
const TYPE = /^oauth-id-jag\+jwt$/;
/** The syntax of scopes, separated by spaces (RFC 6749, section 3.3). */
const SCOPES = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;
/** A SHA-256 hash in base64url. */
const HASH = /^[\w-]{43}$/;
/**
 * The maximum length of the claims that identify an assertion, its issuer and its user.
 * @limit characters A claim `iss`, `sub`, `jti`, `tenant` or `aud_tenant` of an assertion. An assertion with a longer one is refused.
 */
const CLAIM_MAX = 1_000;

/** What identifies an issuer: its URL and, if it serves several organisations, which of them. */
export interface AssertionIssuer {
  /** The issuer, the claim `iss`. */
  readonly issuer: string;
  /** The organisation at an issuer that serves several, the claim `tenant`. */
  readonly tenant?: string | undefined;
  /** The organisation at this server, the claim `aud_tenant`. */
  readonly audienceTenant?: string | undefined;
}

/** An assertion whose signature has not been verified. */
export interface Assertion extends AssertionIssuer {
  readonly jwt: UnverifiedJwt;
  readonly subject: string;
  /** The claim `jti`. */
  readonly id: string;
  /** When the assertion is no longer accepted, with the clock skew. The object of the user checks it again. */
  readonly untilMs: number;
  /** The scopes of the assertion. Undefined if it does not name any. */
  readonly scopes: readonly string[] | undefined;
  /** The key that the client must prove. */
  readonly jkt: string | undefined;
}

/** What the claims of an assertion must satisfy. */
export interface AssertionRules {
  /** The issuer of this authorization server. */
  readonly audience: string;
  readonly resource: string;
  /** The client that has authenticated itself. */
  readonly clientId: string;
  readonly clockSkewMs: number;
  /** The maximum time between `iat` and `exp`, in milliseconds. */
  readonly assertionMs: number;
}

/** Returns an assertion, or the reason why it is refused. The reason does not contain any part of the assertion. */
export function readAssertion(text: string, rules: AssertionRules): Assertion | string {
  const jwt = text.length > TEXT_MAX ? undefined : parseJwt(text, TYPE);
  if (!jwt) return "The assertion is not a JWT of the type oauth-id-jag+jwt.";
  // "none" and the algorithms of HMAC are unknown here.
  if (!findScheme(jwt.algorithm)) return "The algorithm of the assertion is not accepted.";
  const { claims } = jwt;
  const { iss, sub, jti, aud, tenant, aud_tenant, client_id, scope } = claims;
  if (!isText(iss) || !isText(sub) || !isText(jti)) return "The assertion needs iss, sub and jti.";
  if (!isTextOrAbsent(tenant) || !isTextOrAbsent(aud_tenant))
    return "tenant or aud_tenant of the assertion is malformed.";
  const [audience, ...others] = [aud].flat();
  if (audience !== rules.audience || others.length > 0) return `aud of the assertion must be ${rules.audience}.`;
  if (client_id !== rules.clientId) return "client_id of the assertion must be the client that sends it.";
  // Without the claim, the assertion is for this endpoint: it is the only one for which this authorization server issues tokens.
  const { resource = rules.resource } = claims;
  const isHere = [resource].flat().some((each) => typeof each === "string" && isSameUrl(each, rules.resource));
  if (!isHere) return `resource of the assertion must be ${rules.resource}.`;
  if (claims.authorization_details !== undefined) return "authorization_details are not supported.";
  if (scope !== undefined && (typeof scope !== "string" || !SCOPES.test(scope)))
    return "scope of the assertion is malformed.";
  const jkt = readKey(claims);
  if (jkt === null) return "cnf of the assertion must be the thumbprint of a key (jkt).";
  const untilMs = readTimes(claims, rules);
  if (typeof untilMs === "string") return untilMs;
  return {
    jwt,
    issuer: iss,
    tenant,
    audienceTenant: aud_tenant,
    subject: sub,
    id: jti,
    untilMs,
    scopes: scope?.split(" "),
    jkt,
  };
}

/** Returns when an assertion is no longer accepted, or the reason why its times are refused. */
function readTimes({ exp, iat, nbf = iat }: JsonObject, { clockSkewMs, assertionMs }: AssertionRules): number | string {
  if (typeof exp !== "number" || typeof iat !== "number" || typeof nbf !== "number")
    return "The assertion needs exp and iat, in seconds.";
  const nowMs = Date.now();
  const untilMs = exp * 1000 + clockSkewMs;
  // The comparison is negated, so that it also refuses NaN.
  if (!(nowMs < untilMs)) return "The assertion has expired.";
  if (Math.max(iat, nbf) * 1000 > nowMs + clockSkewMs) return "The assertion is not valid yet.";
  if ((exp - iat) * 1000 > assertionMs) return `The assertion is valid for longer than ${assertionMs / 1000} s.`;
  return untilMs;
}

/** Returns the thumbprint of the key that an assertion is bound to, undefined without such a key, or null for another condition. */
function readKey({ cnf }: JsonObject): string | undefined | null {
  if (cnf === undefined) return undefined;
  // Any other member, such as the thumbprint of a certificate, is a condition that is not verified here.
  const [key, ...others] = isObject(cnf) ? Object.entries(cnf) : [];
  if (key?.[0] !== "jkt" || others.length > 0) return null;
  return typeof key[1] === "string" && HASH.test(key[1]) ? key[1] : null;
}

/** Whether a claim identifies something: invalid UTF-8 and lone surrogates are refused, because different ones would become equal. */
function isText(claim: unknown): claim is string {
  if (typeof claim !== "string" || claim === "" || claim.length > CLAIM_MAX) return false;
  return claim.isWellFormed() && !claim.includes("\ufffd");
}

function isTextOrAbsent(claim: unknown): claim is string | undefined {
  return claim === undefined || isText(claim);
}
