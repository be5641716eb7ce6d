/**
 * Responses of the endpoints that programs call. Pages of every origin may call these endpoints, because they do not use cookies.
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

/** Returns a JSON response that must not be cached. */
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

/** Returns the response for an OAuth error. */
export function errorResponse(
  { error, description }: { readonly error: TokenError["error"] | string; readonly description: string },
  headers: Record<string, string> = {},
): Response {
  return jsonResponse({ error, error_description: description }, STATUSES[error] ?? 400, headers);
}

/** Returns the response to a preflight request or to a request with an unsupported method. Returns undefined for all other requests. */
export function refuseMethod({ method }: Request, allow: string): Response | undefined {
  if (method === "OPTIONS")
    return new Response(null, { status: 204, headers: { Allow: `${allow}, OPTIONS`, ...CORS } });
  if (allow.split(", ").includes(method)) return undefined;
  return new Response(null, { status: 405, headers: { Allow: `${allow}, OPTIONS`, ...CORS } });
}
