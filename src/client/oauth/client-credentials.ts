import type { Grant } from "./grant.ts";

/**
 * Returns a grant that obtains tokens for the client itself, without a user. Pass the registered client to `oauth()` as `client`, with
 * its `issuer` and its `secret` or `authentication: privateKeyJwt(...)`.
 *
 * @see the MCP extension io.modelcontextprotocol/oauth-client-credentials
 */
export function clientCredentials(): Grant {
  return {
    isInteractive: false,
    async run(request) {
      const client = await request.client();
      const { scope, resource } = request;
      return { client, response: await request.token(client, "client_credentials", { scope, resource }) };
    },
  };
}
