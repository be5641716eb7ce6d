/**
 * The endpoint as a protected resource. The
 * details of each check are in test/worker/bearer*.test.ts and test/worker/dpop.test.ts.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { newKey, signJwt } from "../harness/issuer.ts";
import { expectLogs } from "../harness/logs.ts";
import type { Members } from "../http/messages.ts";
import { ModernClient } from "../worker/client.ts";
import {
  advance,
  bearer,
  claimsFor,
  issuer,
  key,
  metadataUrl,
  nowS,
  principalOf,
  read,
  refusalOf,
  setUp,
  statusOf,
  tokenFor,
  url,
  who,
} from "../worker/protected.ts";

expectLogs(/^mcp-edge: tokens must have the issuer/);

setUp();

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

describe("PRM document", () => {
  test("PRM document names the resource, the authorization server and the place of the token", async () => {
    expect(await read<Members>(`${WELL_KNOWN}/mcp`)).toMatchObject({
      resource: url(),
      authorization_servers: [issuer.url],
      bearer_methods_supported: ["header"],
    });
  });

  test("PRM path variants: root, with the path after it, and with the path before it", async () => {
    const documents = await Promise.all(
      [WELL_KNOWN, `${WELL_KNOWN}/mcp`, `/mcp${WELL_KNOWN}`].map((path) => read<Members>(path)),
    );
    expect(documents.map(({ resource }) => resource)).toEqual([url(), url(), url()]);
  });

  test("PRM is served to every page, without a token", async () => {
    const response = await fetch(url(WELL_KNOWN), { headers: { Origin: "https://any.example" } });
    expect([response.status, response.headers.get("Access-Control-Allow-Origin")]).toEqual([200, "*"]);
  });
});

describe("discovery routes", () => {
  test.each([WELL_KNOWN, `${WELL_KNOWN}/mcp`, `/mcp${WELL_KNOWN}`])(
    "%s is public: every Origin may read it, without credentials, and with every method that changes nothing",
    async (path) => {
      for (const origin of ["https://evil.example", "null", url()]) {
        for (const method of ["GET", "HEAD", "OPTIONS"]) {
          const response = await fetch(url(path), { method, headers: { Origin: origin } });
          expect([response.status, response.headers.get("Access-Control-Allow-Origin")]).toEqual([
            method === "OPTIONS" ? 204 : 200,
            "*",
          ]);
          expect(response.headers.has("Access-Control-Allow-Credentials")).toBe(false);
        }
        expect((await fetch(url(path), { method: "POST", headers: { Origin: origin } })).status).toBe(405);
      }
    },
  );

  test("server/discover with an invalid Origin is 403, also with a valid token", async () => {
    const client = new ModernClient(url());
    const headers = bearer(await tokenFor());
    expect((await client.request("server/discover", {}, { headers })).status).toBe(200);
    const refused = await client.request(
      "server/discover",
      {},
      { headers: { ...headers, Origin: "https://evil.example" } },
    );
    expect([refused.status, refused.headers.get("Access-Control-Allow-Origin")]).toEqual([403, null]);
  });
});

describe("WWW-Authenticate", () => {
  test("401 without a token: resource_metadata and scope, and no error", async () => {
    expect(await refusalOf(undefined, "/scoped")).toEqual([
      401,
      `Bearer scope="read write", resource_metadata="${metadataUrl("/scoped")}"`,
    ]);
  });

  test("401 with a token that is not accepted: error invalid_token", async () => {
    expect(await refusalOf("other")).toEqual([401, expect.stringContaining('error="invalid_token"')]);
  });

  test("403 insufficient_scope: all scopes that the request needs", async () => {
    expect(await refusalOf(await tokenFor("/scoped", { scope: "read" }), "/scoped")).toEqual([
      403,
      expect.stringMatching(/error="insufficient_scope".*scope="read write", resource_metadata="/),
    ]);
  });

  test("scope: a broader scope includes a narrower one", async () => {
    expect(await statusOf(await tokenFor("/scoped", { scope: "admin" }), "/scoped")).toBe(200);
  });
});

describe("checks of a token", () => {
  test("a valid token is accepted", async () => {
    expect(await statusOf(await tokenFor())).toBe(200);
  });

  test.each<[string, Members]>([
    ["audience", { aud: "https://other.example/mcp" }],
    ["audience that is missing", { aud: undefined }],
    ["issuer", { iss: "https://other.example" }],
    ["expiry", { exp: 1 }],
    ["expiry that is missing", { exp: undefined }],
    ["time before which it is not valid", { nbf: 4_000_000_000 }],
  ])("%s: 401", async (_, claims) => {
    expect(await statusOf(await tokenFor("/mcp", claims))).toBe(401);
  });

  test("signature: 401 for another key, for none and for HMAC with the public key", async () => {
    const other = await newKey("ES256", "one");
    expect(await statusOf(await signJwt(other, claimsFor()))).toBe(401);
    const [head, body] = (await tokenFor()).split(".");
    expect(await statusOf(`${head}.${body}.`)).toBe(401);
    for (const alg of ["none", "HS256"]) expect(await statusOf(await tokenFor("/mcp", {}, key, { alg }))).toBe(401);
  });

  test("token in the query: refused, even if the header has it too", async () => {
    const token = await tokenFor();
    const response = await fetch(url(`/mcp?access_token=${token}`), { method: "POST", headers: bearer(token) });
    await response.body?.cancel();
    expect(response.status).toBe(400);
  });

  test("token passthrough: a token for another server is refused, and handlers never see the token", async () => {
    expect(await statusOf(await tokenFor("/other"))).toBe(401);
    const token = await tokenFor();
    expect(JSON.stringify(await principalOf(token))).not.toContain(token.split(".")[2]);
  });
});

describe("JWKS rotation", () => {
  beforeAll(() => advance(31));

  test("JWKS rotation: a new key works at once, and a removed one no longer after ten minutes", async () => {
    expect(await statusOf(await tokenFor())).toBe(200);
    const next = await newKey("ES256", "two");
    issuer.published = [next.jwk];
    expect(await statusOf(await tokenFor("/mcp", {}, next))).toBe(200);
    await advance(601);
    expect(await statusOf(await tokenFor("/mcp", { exp: nowS() + 900 }))).toBe(401);
  });
});

test("bound tokens: a token with a key is refused where no proof is verified", async () => {
  const response = await who(await tokenFor("/mcp", { cnf: { jkt: "key" } }));
  await response.body?.cancel();
  expect(response.status).toBe(401);
});
