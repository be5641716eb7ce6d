/**
 * Verifies tokens at the introspection endpoint of the authorization server.
 *
 * @module
 * @see RFC 7662
 */
import { encodeBase64, encodeText } from "../../../core/basics/bytes.ts";
import { type ClaimRules, readClaims } from "./claims.ts";
import { fetchJson } from "./fetch-json.ts";
import type { Verify } from "./opaque.ts";

/** The introspection endpoint, and the credentials that it requires. */
export interface IntrospectionOptions {
  /** The URL of the introspection endpoint. */
  readonly url: string;
  /** The client id of this server. */
  readonly clientId: string;
  /** The client secret of this server. */
  readonly clientSecret: string;
}

/** Returns a function that verifies tokens by introspection. */
export function byIntrospection(
  { url, clientId, clientSecret }: IntrospectionOptions,
  rulesFor: (resource: string) => ClaimRules,
): Verify {
  const credentials = [clientId, clientSecret].map(encodeForm).join(":");
  const Authorization = `Basic ${encodeBase64(encodeText(credentials))}`;
  return async (token, { resource }) => {
    const body = new URLSearchParams({ token, token_type_hint: "access_token" });
    const { active, ...claims } = await fetchJson(url, { method: "POST", headers: { Authorization }, body });
    return active === true ? readClaims(claims, rulesFor(resource)) : "The token is not active.";
  };
}

/** Encodes a part of the credentials (RFC 6749, section 2.3.1). */
function encodeForm(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}
