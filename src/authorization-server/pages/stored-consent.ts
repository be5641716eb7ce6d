/**
 * Decides whether consent that a user has given before covers a request.
 *
 * @module
 */
import { findDestination } from "./client.ts";

/** A request for consent. */
export interface ConsentRequest {
  /** The client id. */
  readonly clientId: string;
  /** The redirect URI of the request. */
  readonly redirectUri: string;
  /** The scopes of the request. */
  readonly scopes: readonly string[];
}

/** Consent that a user has given. */
export interface StoredConsent {
  /** The client id. */
  readonly clientId: string;
  /** The host of the redirect URI, with its port. */
  readonly redirectHost: string;
  /** The scopes. */
  readonly scopes: readonly string[];
}

/** Returns the consent to store for an allowed request. Returns undefined if the user must be asked each time. */
export function toStoredConsent({ clientId, redirectUri, scopes }: ConsentRequest): StoredConsent | undefined {
  const destination = findDestination(redirectUri);
  if (destination?.kind !== "site") return undefined;
  return { clientId, redirectHost: destination.host, scopes: [...new Set(scopes)] };
}

/**
 * Returns whether the user must be asked for consent. This is not necessary if the user has allowed the same client, with the same
 * redirect host, at least the same scopes. For programs on a computer and for apps with a private-use scheme, the user is asked
 * each time, because another program could receive the response in their place (RFC 8252, section 8.6).
 */
export function needsConsent(request: ConsentRequest, stored: readonly StoredConsent[]): boolean {
  const now = toStoredConsent(request);
  if (now === undefined) return true;
  return !stored.some(
    (old) =>
      old.clientId === now.clientId &&
      old.redirectHost === now.redirectHost &&
      now.scopes.every((scope) => old.scopes.includes(scope)),
  );
}
