/**
 * Admits requests that Cloudflare Access has authenticated.
 *
 * @module
 */

import { quote } from "../../../core/basics/quote.ts";
import { checkOptions, type OptionTable } from "../../../core/protocol/check-options.ts";
import { KitError } from "../../../core/protocol/errors.ts";
import type { AuthHook } from "../../../http/endpoint-types.ts";
import { Refused } from "../../../http/refusal.ts";
import { definePlugin } from "../../contributions.ts";
import type { Plugin } from "../../plugin.ts";
import { bySignature } from "./by-signature.ts";
import { checkUrl } from "./fetch-json.ts";
import { unverified } from "./unverified.ts";

/** Options of {@link cloudflareAccess}. */
export interface AccessOptions {
  /** The URL of the team domain, such as `https://example.cloudflareaccess.com`, without a path or a trailing slash. */
  readonly teamDomain: string;
  /** The audience tag of the Access application, or the tags of several applications. */
  readonly audience: string | readonly string[];
}

const OPTIONS: OptionTable<AccessOptions> = { teamDomain: null, audience: null };

/** The header in which Access sends its JWT to the Worker. The tokens of MCP clients are opaque, and Access verifies them. */
const HEADER = "Cf-Access-Jwt-Assertion";

/**
 * Admits requests that Cloudflare Access has authenticated, as a plugin of `edge()`. It verifies the JWT in the header
 * `Cf-Access-Jwt-Assertion`, so a request that bypasses Access, such as a request to the workers.dev address, gets 401. The
 * subject of the principal is the `sub` of the JWT, or `client:` followed by the `common_name` of a service token. The
 * claims of the principal contain the `email`.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * const auth = cloudflareAccess({ teamDomain: "https://example.cloudflareaccess.com", audience: "audience tag" });
 * ```
 */
export function cloudflareAccess(options: AccessOptions): Plugin<unknown> {
  checkOptions("cloudflareAccess(): ", options, OPTIONS);
  const { teamDomain, audience } = options;
  checkUrl("cloudflareAccess(): teamDomain", teamDomain);
  const { origin } = new URL(teamDomain);
  // The JWTs of the team contain the issuer in exactly this form. With any other form, all of them would be refused.
  if (teamDomain !== origin) {
    const text = `cloudflareAccess(): teamDomain is ${quote(teamDomain)}; write ${quote(origin)}, with nothing after the host.`;
    throw new KitError("options-invalid", text);
  }
  const audiences = [audience].flat();
  if (audiences.length === 0 || !audiences.every((tag) => typeof tag === "string" && tag !== "")) {
    throw new KitError("options-invalid", "cloudflareAccess(): audience is not the audience tag of an application.");
  }
  // A service token has an empty `sub`. Its `common_name` is its id.
  const clientClaim = "common_name";
  const rules = { issuer: teamDomain, audiences, clockSkewMs: 30_000, isVouchedFor: false, clientClaim } as const;
  const keys = { issuer: teamDomain, jwks: `${teamDomain}/cdn-cgi/access/certs`, algorithms: ["RS256"] as const };
  const verify = bySignature(keys, () => rules);
  const authenticate: AuthHook<unknown> = async (request, env, execution) => {
    const token = request.headers.get(HEADER);
    if (token === null) return null;
    const answer = await verify(token, { request, env, resource: teamDomain, execution }).catch(unverified(token));
    if (answer instanceof Refused) return answer;
    if (typeof answer === "string") return null;
    // A token that is bound to a key must not be accepted without a proof of possession of that key.
    return answer.principal.claims?.cnf === undefined ? answer.principal : null;
  };
  return definePlugin({ name: "cloudflareAccess()", attach: () => ({ authenticate }) });
}
