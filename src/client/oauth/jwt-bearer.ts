import type { Grant } from "./grant.ts";

/** The authorization server and the MCP server that an assertion is for. */
export interface AssertionPurpose {
  /** The issuer of the authorization server, which is the audience of the assertion. */
  readonly issuer: string;
  /** The resource identifier of the MCP server. */
  readonly resource: string;
  /** The scopes that are requested, separated by spaces. */
  readonly scope: string | undefined;
}

/**
 * Returns a grant that exchanges a JWT (the assertion) for tokens. The JWT is from an issuer that the authorization server
 * trusts, such as that of a Kubernetes service account or of a build. A refused JWT is not sent again.
 *
 * @param assertion Returns the JWT. Called for each token, so that a short-lived JWT is read again. The issuer in its argument
 *   is the one that the MCP server names: return no JWT to an issuer that you do not expect.
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
      return { client, answer: await request.token(client, "urn:ietf:params:oauth:grant-type:jwt-bearer", parameters) };
    },
  };
}
