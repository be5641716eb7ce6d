/**
 * Reads the access token of a request.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization, "Token Requirements"; RFC 6750, section 2
 */
import type { Denial } from "./denials.ts";

/**
 * Bounds the work for a token that is refused anyway.
 * @limit characters An access token. A longer one gets 400.
 */
const TOKEN_MAX = 16 * 1024;

/**
 * The form of a token (RFC 6750, 2.1), also with colons, which tokens of `workers-oauth-provider` have. Two headers are
 * joined by a comma, so they have another form.
 */
const HEADER = /^(Bearer|DPoP) +([\w.~+/:-]+=*) *$/i;

/** A token that a request has. */
interface PresentedToken {
  readonly token: string;
  /** Whether it comes with a proof that its client has the key that it is bound to. */
  readonly isProven: boolean;
}

/**
 * Returns the token of a request, or why there is none.
 *
 * @param schemes Matches the authentication schemes that are accepted.
 */
export function readToken({ url, headers }: Request, schemes: RegExp): PresentedToken | Omit<Denial, "scopes"> {
  const invalid = (message: string) => ({ status: 400, error: "invalid_request", message }) as const;
  // URLs are written to logs and histories, so a token in one is refused even if the header has it too.
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
