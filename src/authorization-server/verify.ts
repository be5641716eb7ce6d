/**
 * Verifies access tokens that the same endpoint has issued.
 *
 * @module
 */

import type { VerifyToken } from "../worker/access/auth/opaque.ts";
import { retryOnReset } from "../worker/retry-on-reset.ts";
import type { AuthServer } from "./server.ts";
import type { AccessTerms } from "./users/grant-record.ts";

/**
 * Returns the option `verify` of `bearer()`. The token contains all facts about the access, and only this endpoint can have
 * sealed it. The user's object is asked whether the grant was revoked, and `bearer()` caches the result.
 */
export function verifier(server: AuthServer, issuer: string): VerifyToken<unknown> {
  return async (token, { env, resource }) => {
    const terms = await server.sealing.open<AccessTerms>(env, "OAuth access token", token, issuer);
    if (!terms || terms.resource !== resource || Date.now() >= terms.expiresAtMs) return null;
    const { user, grant, client, scopes, expiresAtMs, jkt, claims } = terms;
    const object = server.users.named(env, `user:${user}`);
    if (!(await retryOnReset(() => server.users.call(object, "isLive", grant)))) return null;
    // bearer() requires a proof of possession of the key that `cnf` names.
    const cnf = jkt === undefined ? {} : { cnf: { jkt } };
    return { subject: user, scopes, clientId: client, expiresAtMs, claims: { ...claims, grant, ...cnf } };
  };
}
