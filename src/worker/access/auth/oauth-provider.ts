/**
 * Tokens that `@cloudflare/workers-oauth-provider` has issued and verified in the same Worker.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../../../core/protocol/check-options.ts";
import { checkFunction, KitError } from "../../../core/protocol/errors.ts";
import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { defined } from "./claims.ts";
import type { VerifyToken } from "./opaque.ts";

/** Options of {@link workersOAuthProvider}. */
export interface OAuthProviderOptions<Props> {
  /**
   * Returns the `ctx.auth.claims` of handlers, from the props that were stored with the grant. Return only the members that
   * handlers need, and no tokens for other services, because a task stores the claims.
   *
   * @default none
   */
  readonly claims?: (props: Props) => JsonObject;
  /**
   * Returns the subject of a token for which the provider has no user id, such as a token of an external token resolver. If
   * it returns undefined, the token is refused.
   *
   * @default such tokens are refused
   */
  readonly subject?: (props: Props) => string | undefined;
}

const OPTIONS: OptionTable<OAuthProviderOptions<never>> = { claims: null, subject: null };

/**
 * The member `auth` that the provider adds, next to `props`, to the execution context of a request whose token it has
 * verified.
 */
interface VerifiedByProvider {
  readonly token: string;
  readonly scope: readonly string[];
  readonly userId?: string;
  readonly clientId?: string;
  /** Seconds since 1970. */
  readonly expiresAt?: number;
}

/**
 * Creates a function for the option `verify` of `bearer()` that accepts the tokens that an `OAuthProvider` of
 * `@cloudflare/workers-oauth-provider` 1.x has verified before it called the endpoint. User, scopes, client and expiry are
 * in `ctx.auth`, and `scopes`, `includes` and `needs` of `bearer()` apply. The provider checks that a token was issued for
 * its resource.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * const verified = workersOAuthProvider({ claims: ({ email }: { email: string }) => ({ email }) });
 * export default edge(server, { use: [bearer({ issuer: "https://mcp.example.com", verify: verified })] });
 * ```
 */
export function workersOAuthProvider<Props>(options: OAuthProviderOptions<Props> = {}): VerifyToken<unknown> {
  checkOptions("workersOAuthProvider(): ", options, OPTIONS);
  const { claims, subject: subjectOf } = options;
  checkFunction("workersOAuthProvider(): claims", claims);
  checkFunction("workersOAuthProvider(): subject", subjectOf);
  return (token, { execution }) => {
    const { auth, props } = execution as { readonly auth?: VerifiedByProvider; readonly props?: unknown };
    // The provider itself responds to every request without a valid token, so this request did not pass through it.
    if (auth?.token !== token) {
      const text =
        "workersOAuthProvider(): the request did not pass an OAuthProvider. Make it the default export of the Worker, with the endpoint as its apiHandler.";
      throw new KitError("options-invalid", text);
    }
    const { userId, scope, clientId, expiresAt } = auth;
    // The type of the props is the author's assertion about what was stored with the grant.
    const own = props as Props;
    const subject = userId ?? subjectOf?.(own);
    if (subject === undefined) return null;
    const expiresAtMs = expiresAt === undefined ? undefined : expiresAt * 1000;
    return { subject, scopes: scope, ...defined({ claims: claims?.(own), clientId, expiresAtMs }) };
  };
}
