/**
 * Consent that is remembered.
 *
 * @module
 */
import { findDestination } from "./client.ts";

/** What a user is asked to allow. */
export interface ConsentRequest {
  /** The client id. */
  readonly clientId: string;
  /** The redirect URI of the request. */
  readonly redirectUri: string;
  /** The scopes of the request. */
  readonly scopes: readonly string[];
}

/** What a user has allowed. Store it with the user. */
export interface RememberedConsent {
  /** The client id. */
  readonly clientId: string;
  /** The host of the redirect URI, with its port. */
  readonly redirectHost: string;
  /** The scopes. */
  readonly scopes: readonly string[];
}

/** Returns what to remember after the user has allowed a request. Undefined if the user must be asked each time. */
export function rememberConsent({ clientId, redirectUri, scopes }: ConsentRequest): RememberedConsent | undefined {
  const destination = findDestination(redirectUri);
  if (destination?.kind !== "site") return undefined;
  return { clientId, redirectHost: destination.host, scopes: [...new Set(scopes)] };
}

/**
 * Whether the user has to be asked. Not if the same client, with the same redirect host, was allowed the same scopes or more.
 * Programs on a computer, and apps that are opened by a scheme, are asked for each time, because others could answer in their
 * place (RFC 8252, section 8.6).
 */
export function needsConsent(request: ConsentRequest, remembered: readonly RememberedConsent[]): boolean {
  const now = rememberConsent(request);
  if (now === undefined) return true;
  return !remembered.some(
    (old) =>
      old.clientId === now.clientId &&
      old.redirectHost === now.redirectHost &&
      now.scopes.every((scope) => old.scopes.includes(scope)),
  );
}
