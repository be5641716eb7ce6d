// @module-tag long
/** Against a real authorization server, which revokes everything when a spent refresh token is used again. */
import { afterEach, expect, test } from "vitest";
import { type Client, connect } from "../../../src/client/index.ts";
import {
  clientCredentials,
  dpopKeys,
  memoryStore,
  type OAuthOptions,
  oauth,
  privateKeyJwt,
  revokeTokens,
} from "../../../src/client/oauth/index.ts";
import { ME } from "../places.ts";
import { browse, RealAuthority } from "./oidc-provider.ts";

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

async function start(more?: Parameters<typeof RealAuthority.start>[0]): Promise<RealAuthority> {
  const authority = await RealAuthority.start(more);
  open.push(authority);
  return authority;
}

const callback = "http://127.0.0.1:8976/callback";
const BROWSER = { url: callback, open: () => ({ url: callback, authorize: browse, close: () => undefined }) };

async function join(authority: RealAuthority, options: Partial<OAuthOptions> = {}): Promise<Client> {
  const way = options.grant ? {} : { redirect: BROWSER };
  const client = await connect(authority.url, { ...ME, auth: oauth({ ...way, ...options }), onEvent: () => undefined });
  open.push({ [Symbol.asyncDispose]: () => client.close() });
  return client;
}

async function callTen(...using: readonly Client[]): Promise<number> {
  const calls = Array.from({ length: 10 }, (_, index) => (using[index % using.length] as Client).callTool("add"));
  return (await Promise.allSettled(calls)).filter(({ status }) => status === "fulfilled").length;
}

test("a user signs in with a registered client, and ten parallel calls on an expired token cause one refresh, twice", async () => {
  const authority = await start();
  const store = memoryStore();
  const clients = [await join(authority, { store }), await join(authority, { store })];
  for (let round = 0; round < 2; round += 1) {
    authority.expire();
    expect(await callTen(...clients)).toBe(10);
  }
  expect(authority.granted).toEqual(["authorization_code", "refresh_token", "refresh_token"]);
});

test("tokens are bound to a key, with nonces, and refreshed with the stored key", async () => {
  const authority = await start();
  const store = memoryStore();
  await join(authority, { store, dpop: dpopKeys() });
  authority.expire();
  // Another process has only what is stored.
  const client = await join(authority, { store, dpop: dpopKeys() });
  await client.callTool("add");
  expect(authority.granted).toEqual(["authorization_code", "refresh_token"]);
});

test("a program gets tokens with its secret, sent by Basic even with special characters", async () => {
  const secret = "a-b_c.d~e f:g/h+i%j&k=l";
  const client = { client_id: "a-program", client_secret: secret, grant_types: ["client_credentials"] };
  const authority = await start({ clients: [{ ...client, redirect_uris: [], response_types: [] }] });
  const own = { id: "a-program", secret, issuer: authority.issuer };
  await join(authority, { grant: clientCredentials(), client: own });
  expect(authority.granted).toEqual(["client_credentials"]);
});

test.each(["ES256", "PS256", "EdDSA"])("a program gets tokens with its key (%s)", async (algorithm) => {
  const parameters = {
    ES256: { name: "ECDSA", namedCurve: "P-256" },
    PS256: { name: "RSA-PSS", hash: "SHA-256", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
    EdDSA: { name: "Ed25519" },
  }[algorithm] as { name: string };
  const pair = (await crypto.subtle.generateKey(parameters, true, ["sign", "verify"])) as CryptoKeyPair;
  const jwk = await crypto.subtle.exportKey("jwk", pair.publicKey);
  const der = Buffer.from(await crypto.subtle.exportKey("pkcs8", pair.privateKey)).toString("base64");
  const authority = await start({
    clients: [
      {
        client_id: "a-program",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: "private_key_jwt",
        jwks: { keys: [jwk as never] },
      },
    ],
  });
  const key = `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`;
  const client = { id: "a-program", issuer: authority.issuer, authentication: privateKeyJwt({ key, algorithm }) };
  await join(authority, { grant: clientCredentials(), client });
  authority.expire();
  const again = await join(authority, { grant: clientCredentials(), client });
  await again.callTool("add");
  expect(authority.granted).toEqual(["client_credentials", "client_credentials"]);
});

test("signing out revokes the tokens", async () => {
  const authority = await start();
  const store = memoryStore();
  const client = await join(authority, { store });
  await client.callTool("add");
  const [token = ""] = [...authority.seen].filter((each) => each !== "");
  expect(await authority.provider.AccessToken.find(token)).toBeDefined();
  expect(await revokeTokens(authority.url, { store, redirect: BROWSER })).toBe("revoked");
  expect(await authority.provider.AccessToken.find(token)).toBeUndefined();
});
