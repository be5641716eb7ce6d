import { createAuthentication, type OAuthClient } from "./client-authentication.ts";
import { discoverIssuer } from "./discovery.ts";
import { OAuthError } from "./errors.ts";
import type { Grant, GrantRequest } from "./grant.ts";
import { jwtBearer } from "./jwt-bearer.ts";
import { requestToken } from "./token-request.ts";

/** The options of {@link enterpriseManaged}. */
export interface EnterpriseOptions {
  /** The issuer of the identity provider at which the user has signed in. */
  readonly issuer: string;
  /** The token endpoint of the identity provider. @default the endpoint in its metadata */
  readonly tokenEndpoint?: string | undefined;
  /** The client that is registered at the identity provider. */
  readonly client: OAuthClient;
  /** Returns the ID token or SAML assertion that the identity provider has issued for the user. Called for each access token. */
  readonly identity: () => string | Promise<string>;
  /** The token type of the identity (RFC 8693, section 3). @default `urn:ietf:params:oauth:token-type:id_token` */
  readonly identityType?: string | undefined;
}

/** The type of the assertion that the identity provider issues. */
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";

/**
 * Returns a grant that obtains tokens for a user who has already signed in at the identity provider of an enterprise. The identity
 * provider exchanges the identity of the user for an assertion, and the authorization server of the MCP server exchanges the assertion
 * for a token. Pass the client that is registered at this authorization server to `oauth()` as `client`, with its `issuer`.
 *
 * @see the MCP extension io.modelcontextprotocol/enterprise-managed-authorization
 */
export function enterpriseManaged(options: EnterpriseOptions): Grant {
  return {
    isInteractive: false,
    run: (request) => jwtBearer(() => exchange(options, request)).run(request),
  };
}

/** Exchanges the identity for an assertion to the authorization server of the MCP server. */
async function exchange(options: EnterpriseOptions, { net, server, resource, scope }: GrantRequest): Promise<string> {
  const { issuer, tokenEndpoint, client, identity, identityType } = options;
  // The identity provider comes from the options, not from a server, so it may be in the network of the client.
  const own = { ...net, server: new URL(tokenEndpoint ?? issuer) };
  const provider =
    tokenEndpoint === undefined ? await discoverIssuer(own, issuer, false) : { issuer, token_endpoint: tokenEndpoint };
  const authentication = createAuthentication(provider, client);
  const endpoint = { net: own, server: provider, clientId: client.id, authentication };
  const response = await requestToken(endpoint, "urn:ietf:params:oauth:grant-type:token-exchange", {
    requested_token_type: ID_JAG,
    audience: server.issuer,
    resource,
    scope,
    subject_token: await identity(),
    subject_token_type: identityType ?? "urn:ietf:params:oauth:token-type:id_token",
  });
  if (response.issued_token_type === ID_JAG) return response.access_token;
  const text = `${issuer} issued ${JSON.stringify(response.issued_token_type)} instead of an assertion (${ID_JAG}).`;
  throw new OAuthError("token-invalid", text);
}
