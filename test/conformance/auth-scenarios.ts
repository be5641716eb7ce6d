/** How our client signs in, in the authorization scenarios of the official suite. */
import type { ClientAuth } from "../../src/client/index.ts";
import {
  clientCredentials,
  dpopKeys,
  enterpriseManaged,
  jwtBearer,
  type OAuthOptions,
  oauth,
  privateKeyJwt,
  type RedirectHandler,
} from "../../src/client/oauth/index.ts";

/** The part of the suite's context that authorization uses. */
export interface AuthScenarioContext {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly private_key_pem?: string;
  readonly signing_algorithm?: string;
  readonly valid_jwt?: string;
  readonly idp_client_id?: string;
  readonly idp_id_token?: string;
  readonly idp_issuer?: string;
  readonly idp_token_endpoint?: string;
}

const REDIRECT = "http://127.0.0.1:8976/callback";

/** Plays the browser of a user who consents to everything. */
const BROWSER: RedirectHandler = {
  url: REDIRECT,
  open: () => ({
    url: REDIRECT,
    authorize: async (url) => {
      const response = await fetch(url, { redirect: "manual" });
      await response.body?.cancel();
      const location = response.headers.get("location");
      if (location === null) throw new Error(`The authorization endpoint answered with status ${response.status}.`);
      return location;
    },
    close: () => undefined,
  }),
};

/** Returns how the client signs in, in a scenario. @param server The URL of the MCP server. */
export async function authOf(scenario: string, context: AuthScenarioContext, server: string): Promise<ClientAuth> {
  return oauth(await optionsOf(scenario, context, server));
}

/** Returns the issuer where the client was registered by hand. The suite does not pass it, but its server names it. */
async function issuerOf(server: string): Promise<string> {
  const { origin, pathname } = new URL(server);
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const { authorization_servers: issuers } = (await response.json()) as { authorization_servers: readonly string[] };
  const [issuer] = issuers;
  if (issuer === undefined) throw new Error(`${server} names no authorization server.`);
  return issuer;
}

async function optionsOf(scenario: string, context: AuthScenarioContext, server: string): Promise<OAuthOptions> {
  const { client_id: id = "", client_secret: secret } = context;
  switch (scenario) {
    case "auth/basic-cimd":
      return { redirect: BROWSER, clientMetadataUrl: "https://conformance-test.local/client-metadata.json" };
    case "auth/pre-registration":
      return { redirect: BROWSER, client: { id, secret, issuer: await issuerOf(server) } };
    case "auth/client-credentials-basic":
      return { grant: clientCredentials(), client: { id, secret, issuer: await issuerOf(server) } };
    case "auth/client-credentials-jwt": {
      const { private_key_pem: key = "", signing_algorithm: algorithm } = context;
      const client = { id, issuer: await issuerOf(server), authentication: privateKeyJwt({ key, algorithm }) };
      return { grant: clientCredentials(), client };
    }
    case "auth/enterprise-managed-authorization": {
      const { idp_client_id = "", idp_id_token = "", idp_issuer = "", idp_token_endpoint: tokenEndpoint } = context;
      const identity = () => idp_id_token;
      const grant = enterpriseManaged({ issuer: idp_issuer, tokenEndpoint, client: { id: idp_client_id }, identity });
      return { grant, client: { id, secret, issuer: await issuerOf(server) } };
    }
    case "auth/wif-jwt-bearer":
      return { grant: jwtBearer(() => context.valid_jwt ?? ""), client: { id } };
    case "auth/dpop":
    case "auth/dpop-nonce":
      return { redirect: BROWSER, dpop: dpopKeys() };
    default:
      return { redirect: BROWSER, clientMetadata: { client_name: "mcp-edge conformance" } };
  }
}
