/**
 * Authenticates the clients that send requests to the token and revocation endpoints.
 *
 * @module
 * @see RFC 6749, section 2.3; RFC 9449, section 5
 */
import { encodeText } from "../../core/basics/bytes.ts";
import type { Form } from "../routes/forms.ts";
import { hashText } from "../sealing.ts";
import type { Visit } from "../server.ts";
import type { TokenError } from "../users/grant-record.ts";

/** A client that has authenticated itself, or that is public. */
export interface AuthenticatedClient {
  readonly clientId: string;
  readonly isPublic: boolean;
}

/** Returns the client of a request, or the error with which the request is refused. */
export async function authenticate(
  { request, env, server, issuer }: Visit,
  form: Form,
): Promise<AuthenticatedClient | TokenError> {
  const header = request.headers.get("Authorization");
  const basic = header === null ? undefined : readBasic(header);
  if (header !== null && !basic) return failed("The Authorization header is not valid Basic authentication.");
  const posted = form.get("client_secret");
  if (basic && posted !== undefined)
    return { error: "invalid_request", description: "The client uses more than one authentication method." };
  const clientId = basic?.id ?? form.get("client_id");
  if (clientId === undefined) return { error: "invalid_request", description: "client_id is missing." };
  if (basic && (form.get("client_id") ?? clientId) !== clientId) {
    return {
      error: "invalid_request",
      description: "client_id differs from the client id in the Authorization header.",
    };
  }
  const client = await server.clients.findCredentials(clientId, env, issuer);
  if (!client) return failed("The client is unknown, or its registration has expired.");
  const secret = basic?.secret ?? posted;
  if (client.secretHash === undefined) {
    return secret === undefined
      ? { clientId, isPublic: true }
      : failed("The client is public, and must not send a secret.");
  }
  if (secret === undefined || !(await isSecret(secret, client.secretHash)))
    return failed("The client secret is missing or wrong.");
  return { clientId, isPublic: false };
}

/** Compares a secret with the hash of the correct secret, in constant time. */
async function isSecret(secret: string, hash: string): Promise<boolean> {
  return crypto.subtle.timingSafeEqual(encodeText(await hashText(secret)), encodeText(hash));
}

/** Parses the credentials of a Basic header. Both parts are form-encoded (RFC 6749, section 2.3.1). */
function readBasic(header: string): { readonly id: string; readonly secret: string } | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header) ?? [];
  if (encoded === undefined) return undefined;
  try {
    const [, id, secret] = /^([^:]*):(.*)$/s.exec(atob(encoded)) ?? [];
    if (id === undefined || secret === undefined) return undefined;
    return { id: decodePart(id), secret: decodePart(secret) };
  } catch {
    return undefined;
  }
}

function decodePart(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

function failed(description: string): TokenError {
  return { error: "invalid_client", description };
}
