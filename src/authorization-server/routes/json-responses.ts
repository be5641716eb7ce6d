/**
 * Answers of the endpoints that programs call. Pages of every origin may call them, because they use no cookies.
 *
 * @module
 */
import type { TokenError } from "../users/grant-record.ts";

const CORS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": "GET, HEAD, POST",
  "Access-Control-Allow-Headers": "*, Authorization",
  "Access-Control-Expose-Headers": "DPoP-Nonce, WWW-Authenticate, Retry-After",
};

/** Returns a JSON answer that nobody stores. */
export function jsonResponse(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(body, {
    status,
    headers: { "Cache-Control": "no-store", Pragma: "no-cache", ...CORS, ...headers },
  });
}

const STATUSES: Readonly<Record<string, number>> = {
  invalid_client: 401,
  server_error: 500,
  temporarily_unavailable: 503,
};

/** Returns the answer to a request that failed. */
export function errorResponse(
  { error, description }: { readonly error: TokenError["error"] | string; readonly description: string },
  headers: Record<string, string> = {},
): Response {
  return jsonResponse({ error, error_description: description }, STATUSES[error] ?? 400, headers);
}

/** Answers a preflight, or a request with a method that is not served; undefined for the others. */
export function refuseMethod({ method }: Request, allow: string): Response | undefined {
  if (method === "OPTIONS")
    return new Response(null, { status: 204, headers: { Allow: `${allow}, OPTIONS`, ...CORS } });
  if (allow.split(", ").includes(method)) return undefined;
  return new Response(null, { status: 405, headers: { Allow: `${allow}, OPTIONS`, ...CORS } });
}
