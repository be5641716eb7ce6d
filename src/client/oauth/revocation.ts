/**
 * Revokes tokens at the authorization server that issued them.
 *
 * @module
 * @see RFC 7009
 */
import { allowInsecureRequests, customFetch, processRevocationResponse, revocationRequest } from "oauth4webapi";
import { discoverIssuer } from "./discovery.ts";
import { OAuthError } from "./errors.ts";
import type { Net } from "./guard.ts";
import { type OAuthOptions, readSettings } from "./oauth.ts";
import { authenticationFor, ServerSignIn, type Settings } from "./renewal.ts";
import { createTokenFetch, omitEmpty, toFailure } from "./token-request.ts";
import type { TokenRecord } from "./tokens.ts";

/** The outcome: there were no tokens, they were only removed from the store, or they were also revoked. */
export type RevocationOutcome = "no-tokens" | "removed" | "revoked";

/**
 * Removes the tokens for a server from the store, and revokes them if the authorization server has a revocation endpoint. A client
 * that still has the tokens in memory must then sign in again.
 *
 * @param server The URL of the MCP server, as it is passed to `connect()`.
 * @param options The options of `oauth()`.
 * @throws {KitError} `options-invalid` naming the option.
 * @throws {OAuthError} if the tokens could not be revoked. They are removed from the store in any case.
 */
export async function revokeTokens(server: string | URL, options: OAuthOptions): Promise<RevocationOutcome> {
  const settings = readSettings(options);
  const serverSignIn = new ServerSignIn(new URL(server).href, settings);
  const record = await settings.store.exclusive(serverSignIn.key, async () => {
    const stored = await serverSignIn.load();
    await serverSignIn.save(undefined);
    return stored;
  });
  if (!record) return "no-tokens";
  const isRevoked = await revoke(
    serverSignIn.net((url, init) => fetch(url, init)),
    record,
    settings,
  );
  return isRevoked ? "revoked" : "removed";
}

/**
 * Revokes the refresh token and the access token of a record.
 *
 * @returns False if the authorization server has no revocation endpoint.
 * @throws {OAuthError} if a token could not be revoked, except for an access token whose revocation the server does not support.
 */
async function revoke(net: Net, record: TokenRecord, settings: Pick<Settings, "client">): Promise<boolean> {
  const server = await discoverIssuer(net, record.issuer, record.isSilent);
  if (server.revocation_endpoint === undefined) return false;
  const client = { client_id: record.client.id };
  const authentication = authenticationFor(settings, server, record.client);
  const { refreshToken, accessToken } = record;
  const tokens = Object.entries(omitEmpty({ refresh_token: refreshToken, access_token: accessToken }));
  for (const [index, [token_type_hint, token]] of tokens.entries()) {
    const options = {
      [allowInsecureRequests]: true,
      [customFetch]: createTokenFetch(net),
      additionalParameters: { token_type_hint },
    };
    try {
      await processRevocationResponse(await revocationRequest(server, client, authentication, token, options));
    } catch (error) {
      const failure = toFailure(error, server.issuer, [token]);
      // A server need not support the revocation of access tokens, which expire soon or with the refresh token (RFC 7009, 2.1).
      const isOptional = index > 0 && failure instanceof OAuthError && failure.error === "unsupported_token_type";
      if (!isOptional) throw failure;
    }
  }
  return true;
}
