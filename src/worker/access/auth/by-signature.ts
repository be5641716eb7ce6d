/**
 * Verifies signed tokens with the public keys of their issuer.
 *
 * @module
 */
import type { BearerOptions } from "./bearer-options.ts";
import { type ClaimRules, readClaims } from "./claims.ts";
import { discoverKeys, IssuerKeys, loadKeys } from "./issuer-keys.ts";
import { isSignedBy, parseJwt } from "./jwt.ts";
import type { Verify } from "./opaque.ts";

/** The algorithms that are accepted by default. */
export const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"] as const;

type SignatureOptions = Pick<BearerOptions<never>, "issuer" | "jwks" | "algorithms" | "jwksCacheMs">;

/** Returns a function that verifies JWTs. */
export function bySignature(
  { issuer, jwks, algorithms = ALGORITHMS, jwksCacheMs = 600_000 }: SignatureOptions,
  rulesFor: (resource: string) => ClaimRules,
): Verify {
  const load = typeof jwks === "object" ? async () => jwks.keys : () => (jwks ? loadKeys(jwks) : discoverKeys(issuer));
  const keys = new IssuerKeys(load, jwksCacheMs);
  return async (token, { resource, execution }) => {
    const jwt = parseJwt(token);
    if (!jwt) return "The token is not a JWT.";
    if (!algorithms.some((algorithm) => algorithm === jwt.algorithm)) return "The algorithm is not accepted.";
    // The claims are checked before the signature, so that a token for another server does not cause a request to the
    // issuer.
    const answer = readClaims(jwt.claims, rulesFor(resource));
    if (typeof answer === "string") return answer;
    for (const key of await keys.find(jwt.algorithm, jwt.kid, execution)) {
      if (await isSignedBy(key, jwt)) return answer;
    }
    return "The signature is not valid.";
  };
}
