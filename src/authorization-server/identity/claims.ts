/**
 * Reads a user from the claims of a token that an identity provider has signed.
 *
 * @module
 */
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { SignedInUser } from "./provider.ts";

/** Claims that describe the token and not the user. */
const TOKEN_CLAIMS = new Set([
  "iss",
  "sub",
  "aud",
  "azp",
  "exp",
  "iat",
  "nbf",
  "nonce",
  "at_hash",
  "c_hash",
  "s_hash",
  "jti",
]);

/** Returns the user whom claims describe. @param organisationsClaim The claim that lists the user's organisations or groups. */
export function readUser(
  issuer: string,
  subject: string,
  claims: JsonObject,
  organisationsClaim?: string,
): SignedInUser {
  const { email, email_verified, name, preferred_username, ...others } = claims;
  const listed = organisationsClaim === undefined ? undefined : claims[organisationsClaim];
  const kept = Object.entries({ ...others, preferred_username }).filter(
    ([key, value]) => !TOKEN_CLAIMS.has(key) && key !== organisationsClaim && value !== undefined,
  );
  const display = [name, preferred_username].find((each) => typeof each === "string" && each !== "");
  return {
    issuer,
    subject,
    email: typeof email === "string" ? email : undefined,
    // Some providers return the string "true".
    emailVerified: email_verified === true || email_verified === "true",
    name: display as string | undefined,
    organisations: Array.isArray(listed) ? listed.filter((each) => typeof each === "string") : undefined,
    claims: Object.fromEntries(kept) as JsonObject,
  };
}
