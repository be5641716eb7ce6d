/**
 * The responses to requests that are not admitted, and the resource metadata.
 *
 * @module
 * @see RFC 6750, section 3, and RFC 9728
 */
import * as ErrorCode from "../../../core/protocol/error-codes.ts";
import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { type PartReason, type Refusal, type Refused, refuse } from "../../../http/refusal.ts";
import type { ProofError } from "./proof-verifier.ts";

/** The path of the metadata. The path of the resource is appended to it (RFC 9728, section 3.1). */
export const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** The scheme at the start of a challenge for bearer tokens, which need no proof. */
export const BEARER = "Bearer ";

/** Why a request is not admitted. */
export interface Denial {
  readonly status: 400 | 401 | 403;
  /** The error code of RFC 6750, section 3.1, or RFC 9449, section 7.1. Undefined if no token was sent. */
  readonly error?: "invalid_request" | "invalid_token" | "insufficient_scope" | ProofError;
  /** The reason, as a sentence that does not contain any part of the token. */
  readonly message: string;
  /** All scopes that the request needs. */
  readonly scopes: readonly string[];
  /** Additional headers of the response. */
  readonly headers?: Record<string, string>;
}

/**
 * Returns the refusal with its challenges. Their values are not escaped, because scopes are validated and URLs contain no
 * quotes.
 *
 * @param schemes The start of each challenge: a scheme that the client may use, and the parameters that only this scheme
 *   has.
 */
export function deny(
  { status, error, message, scopes, headers }: Denial,
  resource: string,
  schemes: readonly string[] = [BEARER],
): Refusal {
  const parts = [
    error && `error="${error}"`,
    error && `error_description="${message}"`,
    scopes.length > 0 && `scope="${scopes.join(" ")}"`,
    `resource_metadata="${metadataUrl(resource)}"`,
  ].filter((part) => part);
  const challenge = schemes.map((scheme) => scheme + parts.join(", ")).join(", ");
  return answer(status, error ?? "unauthorized", message, { "WWW-Authenticate": challenge, ...headers });
}

/** Returns the refusal for a token whose validity is unknown. After a 401, the client would ask its user to sign in again. */
export function unavailable(message = "The token cannot be verified at the moment."): Refused {
  return refuse(answer(503, "unverified", message, { "Retry-After": "5" }));
}

function answer(status: number, reason: PartReason, message: string, headers: Record<string, string>): Refusal {
  const code = status === 503 ? ErrorCode.InternalError : ErrorCode.InvalidRequest;
  return { reason, form: { status, code, message, headers } };
}

/** Returns the URL of the metadata of a resource. */
function metadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource);
  return origin + WELL_KNOWN + (pathname === "/" ? "" : pathname);
}

/** Responds to a request for the metadata. It is public, so pages of any origin may read it. */
export function answerMetadata(method: string, metadata: JsonObject): Response {
  const headers = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD",
    "Access-Control-Allow-Headers": "*",
    Allow: "GET, HEAD, OPTIONS",
  };
  if (method === "OPTIONS") return new Response(null, { status: 204, headers });
  if (method !== "GET" && method !== "HEAD") return new Response(null, { status: 405, headers });
  const init = { headers: { ...headers, "Cache-Control": "public, max-age=300" } };
  return Response.json(metadata, init);
}
