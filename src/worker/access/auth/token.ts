/**
 * Reads the access token of a request.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization, "Token Requirements"; RFC 6750, section 2
 */
import type { Denial } from "./denials.ts";

/**
 * Limits the work that an invalid token can cause.
 * @limit characters An access token. A longer token is refused with 400.
 */
const TOKEN_MAX = 16 * 1024;

/**
 * The syntax of the header (RFC 6750, section 2.1), which also admits the colons in tokens of `workers-oauth-provider`. Two
 * headers are joined by a comma, so they do not match.
 */
const HEADER = /^(Bearer|DPoP) +([\w.~+/:-]+=*) *$/i;

/** The token of a request. */
interface PresentedToken {
  readonly token: string;
  /** Whether it is presented with the scheme DPoP, which requires a proof that the client holds the key of the token. */
  readonly isProven: boolean;
}

/**
 * Returns the token of a request, or why the request is refused.
 *
 * @param schemes Matches the accepted authentication schemes.
 */
export function readToken({ url, headers }: Request, schemes: RegExp): PresentedToken | Omit<Denial, "scopes"> {
  const invalid = (message: string) => ({ status: 400, error: "invalid_request", message }) as const;
  // URLs are written to logs and browser histories, so a token in the URL is refused even if the header contains it too.
  if (url.includes("?") && new URL(url).searchParams.has("access_token")) {
    return invalid("A token must not be in the URL. Send it in the Authorization header.");
  }
  const header = headers.get("Authorization");
  if (header === null || !schemes.test(header)) return { status: 401, message: "A token is required." };
  const [, scheme, token] = HEADER.exec(header) ?? [];
  if (token === undefined) return invalid("The Authorization header has the wrong form.");
  if (token.length > TOKEN_MAX) return invalid("The token is too long.");
  return { token, isProven: scheme?.length === "DPoP".length };
}
