import type { Grant } from "./grant.ts";

/** The authorization server and the MCP server for which an assertion is needed. */
export interface AssertionPurpose {
  /** The issuer of the authorization server, which is the audience of the assertion. */
  readonly issuer: string;
  /** The resource identifier of the MCP server. */
  readonly resource: string;
  /** The requested scopes, separated by spaces. */
  readonly scope: string | undefined;
}

/**
 * Returns a grant that exchanges a JWT (the assertion) for tokens. The JWT comes from an issuer that the authorization server trusts,
 * such as the issuer of Kubernetes service accounts or of a CI system. A refused JWT is not sent again.
 *
 * @param assertion Returns the JWT. Called for each token, so that it can return a fresh JWT. The MCP server names the issuer in the
 *   argument: do not return a JWT for an issuer that you do not expect.
 * @see RFC 7523, section 2.1
 */
export function jwtBearer(assertion: (purpose: AssertionPurpose) => string | Promise<string>): Grant {
  return {
    isInteractive: false,
    async run(request) {
      const { server, resource, scope } = request;
      const client = await request.client();
      const jwt = await assertion({ issuer: server.issuer, resource, scope });
      const parameters = { assertion: jwt, scope, resource };
      return {
        client,
        response: await request.token(client, "urn:ietf:params:oauth:grant-type:jwt-bearer", parameters),
      };
    },
  };
}
