/** A real authorization server, `oidc-provider`, on this machine. Its clients have client credentials. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";
import { newKey } from "./issuer.ts";
import { ignoreLogs } from "./logs.ts";

type Members = Readonly<Record<string, unknown>>;

/** A private key as the server keeps it. */
async function newSigningKey(kid: string): Promise<Members> {
  const { pair } = await newKey("ES256", kid);
  const { kty, crv, x, y, d } = { ...(await crypto.subtle.exportKey("jwk", pair.privateKey)) } as Members;
  return { kty, crv, x, y, d, kid, alg: "ES256", use: "sig" };
}

export class AuthorizationServer {
  readonly #server: Server;
  #answer: RequestListener = (_, response) => void response.writeHead(503).end();
  #keys: readonly Members[] = [];
  /** The number of times that a token was requested. */
  tokenRequests = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      if (request.url === "/token") this.tokenRequests += 1;
      this.#answer(request, response);
    });
  }

  static async start(): Promise<AuthorizationServer> {
    const started = new AuthorizationServer();
    await new Promise<void>((resolve) => started.#server.listen(0, "127.0.0.1", resolve));
    await started.rotate("first");
    return started;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Signs new tokens with a new key. @param isRevoked Whether the old keys are no longer published. */
  async rotate(kid: string, isRevoked = false): Promise<void> {
    this.#keys = [await newSigningKey(kid), ...(isRevoked ? [] : this.#keys)];
    ignoreLogs(/^oidc-provider (WARNING|NOTICE): /);
    this.#answer = new Provider(this.url, configurationOf(this.#keys)).callback();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** @param keys The first one signs. */
function configurationOf(keys: readonly Members[]): object {
  const client = {
    client_secret: "secret",
    grant_types: ["client_credentials"],
    id_token_signed_response_alg: "ES256",
    redirect_uris: [],
    response_types: [],
    scope: "read write",
  };
  return {
    clients: [
      { ...client, client_id: "machine" },
      { ...client, client_id: "bound", dpop_bound_access_tokens: true },
    ],
    cookies: { keys: ["cookie"] },
    jwks: { keys },
    scopes: ["read", "write"],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: "read write",
          audience: resource,
          // Tokens for this path are used until they expire.
          accessTokenTTL: resource.endsWith("/short") ? 2 : 3600,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "ES256", kid: keys[0]?.kid } },
        }),
      },
    },
  };
}
