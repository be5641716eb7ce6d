/**
 * The authentication of clients at token endpoints.
 *
 * @module
 */
import { type AuthorizationServer, type ClientAuth, ClientSecretPost, None, PrivateKeyJwt } from "oauth4webapi";
import { OAuthError } from "./errors.ts";
import type { JsonKey, WebKey } from "./keys.ts";

/** A function that adds the credentials of a client to a token request. Returned by {@link privateKeyJwt}. */
export type ClientAuthentication = ClientAuth;

/** A client that is registered at an authorization server. */
export interface OAuthClient {
  /** The client id. */
  readonly id: string;
  /** The client secret, if the client has one. */
  readonly secret?: string | undefined;
  /**
   * How the client sends its secret.
   *
   * @default `client_secret_basic` if the authorization server supports it, otherwise `client_secret_post`; `none` without
   *   a secret
   * @see RFC 6749, section 2.3.1
   */
  readonly method?: "client_secret_basic" | "client_secret_post" | "none" | undefined;
}

/** Returns the function that authenticates a client at an authorization server. */
export function createAuthentication(server: AuthorizationServer, client: OAuthClient): ClientAuthentication {
  const { secret } = client;
  if (secret === undefined || client.method === "none") return None();
  const supported = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  const isPost = !supported.includes("client_secret_basic") && supported.includes("client_secret_post");
  const method = client.method ?? (isPost ? "client_secret_post" : "client_secret_basic");
  return method === "client_secret_post" ? ClientSecretPost(secret) : basic(secret);
}

/**
 * Returns Basic authentication. The implementation in the library also encodes characters such as "-", and some servers do not decode
 * them.
 *
 * @see RFC 6749, section 2.3.1 and appendix B
 */
function basic(secret: string): ClientAuthentication {
  const encode = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
  return (_server, client, _body, headers) => {
    headers.set("authorization", `Basic ${btoa(`${encode(client.client_id)}:${encode(secret)}`)}`);
  };
}

/** The private key of a client. */
export interface ClientKey {
  /** The key: PKCS #8 as PEM, a JWK, or an imported key of Web Crypto. */
  readonly key: string | JsonKey | WebKey;
  /** The signature algorithm, such as `RS256`. Ignored for an imported key. @default "ES256" */
  readonly algorithm?: string | undefined;
  /** The `kid` of the key, if the authorization server requires it. */
  readonly keyId?: string | undefined;
}

/**
 * Returns authentication with a JWT that is signed with the private key of the client (`private_key_jwt`). The audience of the JWT is
 * the issuer.
 *
 * The key is imported with the first token request, which rejects with the reason `client-missing` if the algorithm is unknown.
 *
 * @see RFC 7523, section 2.2
 */
export function privateKeyJwt({ key, algorithm = "ES256", keyId }: ClientKey): ClientAuthentication {
  let sign: Promise<ClientAuth> | undefined;
  return async (...request) => {
    sign ??= importKey(key, algorithm).then((imported) => {
      return PrivateKeyJwt(keyId === undefined ? imported : { key: imported, kid: keyId });
    });
    await (await sign)(...request);
  };
}

async function importKey(key: ClientKey["key"], algorithm: string): Promise<CryptoKey> {
  if (key instanceof CryptoKey) return key;
  const parameters = getParameters(algorithm);
  if (typeof key !== "string") return crypto.subtle.importKey("jwk", key as JsonWebKey, parameters, false, ["sign"]);
  const der = Uint8Array.from(atob(key.replaceAll(/-----[^-]+-----|\s/g, "")), (character) => character.charCodeAt(0));
  return crypto.subtle.importKey("pkcs8", der, parameters, false, ["sign"]);
}

function getParameters(algorithm: string): { name: string; hash?: string; namedCurve?: string } {
  const bits = algorithm.slice(2);
  const hash = `SHA-${bits}`;
  switch (algorithm.slice(0, 2)) {
    case "ES":
      return { name: "ECDSA", namedCurve: bits === "512" ? "P-521" : `P-${bits}` };
    case "RS":
      return { name: "RSASSA-PKCS1-v1_5", hash };
    case "PS":
      return { name: "RSA-PSS", hash };
    case "Ed":
      return { name: "Ed25519" };
    default:
      throw new OAuthError(
        "client-missing",
        `The algorithm "${algorithm}" is not supported. Use ES256, PS256, RS256 or EdDSA.`,
      );
  }
}
