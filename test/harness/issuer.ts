/** An authorization server's side that resource servers use: metadata, key set and introspection, on a real HTTP server. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Members = Readonly<Record<string, unknown>>;

/** The WebCrypto parameters of each algorithm. */
const PARAMETERS: Readonly<Record<string, object>> = {
  RS256: rsa("RSASSA-PKCS1-v1_5", "SHA-256"),
  RS384: rsa("RSASSA-PKCS1-v1_5", "SHA-384"),
  RS512: rsa("RSASSA-PKCS1-v1_5", "SHA-512"),
  PS256: { ...rsa("RSA-PSS", "SHA-256"), saltLength: 32 },
  PS384: { ...rsa("RSA-PSS", "SHA-384"), saltLength: 48 },
  PS512: { ...rsa("RSA-PSS", "SHA-512"), saltLength: 64 },
  ES256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  ES384: { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" },
  ES512: { name: "ECDSA", namedCurve: "P-521", hash: "SHA-512" },
  EdDSA: { name: "Ed25519" },
  Ed25519: { name: "Ed25519" },
};

function rsa(name: string, hash: string, modulusLength = 2048): object {
  return { name, hash, modulusLength, publicExponent: new Uint8Array([1, 0, 1]) };
}

/** A pair of keys, with the public one as the issuer publishes it. */
export interface SigningKey {
  readonly algorithm: string;
  readonly pair: CryptoKeyPair;
  readonly jwk: Members;
}

/** Makes a pair of keys. @param more Members that replace members of the public key. */
export async function newKey(algorithm: string, kid: string | undefined, more: Members = {}, bits = 2048) {
  const parameters = PARAMETERS[algorithm];
  if (!parameters) throw new Error(`No parameters for ${algorithm}.`);
  const sized = "modulusLength" in parameters ? { ...parameters, modulusLength: bits } : parameters;
  const pair = (await crypto.subtle.generateKey(sized as never, true, ["sign", "verify"])) as CryptoKeyPair;
  const { kty, crv, n, e, x, y } = { ...(await crypto.subtle.exportKey("jwk", pair.publicKey)) } as Members;
  const jwk = Object.fromEntries(Object.entries({ kty, crv, n, e, x, y, kid, ...more }).filter(([, value]) => value));
  return { algorithm, pair, jwk } satisfies SigningKey;
}

export const base64url = (value: string | ArrayBuffer): string => Buffer.from(value as string).toString("base64url");
const json = (value: unknown) => base64url(JSON.stringify(value));

/** Signs a JWT. @param header Members that replace members of the header; an undefined member is left out. */
export async function signJwt(key: SigningKey, claims: Members, header: Members = {}): Promise<string> {
  const text = `${json({ alg: key.algorithm, typ: "at+jwt", kid: key.jwk.kid, ...header })}.${json(claims)}`;
  const parameters = PARAMETERS[key.algorithm] as never;
  return `${text}.${base64url(await crypto.subtle.sign(parameters, key.pair.privateKey, Buffer.from(text)))}`;
}

/** The issuer. Its keys and its faults can be changed while it runs. */
export class Issuer {
  readonly #server: Server;
  /** Paths that were requested, in order. */
  readonly requests: string[] = [];
  /** The keys that it publishes. */
  published: Members[] = [];
  /** Introspection results of opaque tokens. */
  readonly tokens = new Map<string, Members>();
  /** The bodies and credentials of requests for introspection. */
  readonly asked: { readonly body: string; readonly authorization: string | undefined }[] = [];
  /** Members that replace members of the metadata. */
  metadata: Members = {};
  /** Paths whose responses replace the issuer's own: a status with an optional text and headers. */
  readonly faults = new Map<string, { status: number; text?: string; headers?: Record<string, string> }>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<Issuer> {
    const server = createServer((request, response) => void issuer.#answer(request, response));
    const issuer = new Issuer(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return issuer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The number of times that the key set was requested. */
  get keyRequests(): number {
    return this.requests.filter((path) => path.endsWith("/jwks")).length;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    this.requests.push(path);
    const fault = this.faults.get(path);
    if (fault) return void response.writeHead(fault.status, fault.headers).end(fault.text ?? "");
    const reply = (value: unknown) => {
      response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(value));
    };
    const [, tenant = ""] = /^(?:\/\.well-known\/[a-z-]+)(\/.*)?$/.exec(path) ?? [];
    if (path.startsWith("/.well-known/oauth-authorization-server")) {
      return reply({ issuer: this.url + tenant, jwks_uri: `${this.url}/jwks`, ...this.metadata });
    }
    if (path === "/jwks") return reply({ keys: this.published });
    if (path === "/introspect") return reply(await this.#introspect(request));
    response.writeHead(404).end();
  }

  async #introspect(request: IncomingMessage): Promise<Members> {
    const body = (await request.toArray()).join("");
    this.asked.push({ body, authorization: request.headers.authorization });
    return this.tokens.get(new URLSearchParams(body).get("token") ?? "") ?? { active: false };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
