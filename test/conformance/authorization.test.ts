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

describe("the protected resource metadata", () => {
  test("names the resource, the authorization server and where the token is sent", async () => {
    expect(await read<Members>(`${WELL_KNOWN}/mcp`)).toMatchObject({
      resource: url(),
      authorization_servers: [issuer.url],
      bearer_methods_supported: ["header"],
    });
  });

  test("is served at three paths: the root, with the path after it, and with the path before it", async () => {
    const documents = await Promise.all(
      [WELL_KNOWN, `${WELL_KNOWN}/mcp`, `/mcp${WELL_KNOWN}`].map((path) => read<Members>(path)),
    );
    expect(documents.map(({ resource }) => resource)).toEqual([url(), url(), url()]);
  });

  test("is served to every web page, without a token", async () => {
    const response = await fetch(url(WELL_KNOWN), { headers: { Origin: "https://any.example" } });
    expect([response.status, response.headers.get("Access-Control-Allow-Origin")]).toEqual([200, "*"]);
  });
});

describe("discovery routes", () => {
  test.each([WELL_KNOWN, `${WELL_KNOWN}/mcp`, `/mcp${WELL_KNOWN}`])(
    "%s can be read by every Origin, without credentials, and with every method that has no side effects",
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

  test("server/discover with an invalid Origin is refused with 403, even with a valid token", async () => {
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

describe("a refusal with WWW-Authenticate", () => {
  test("is 401 without a token, with resource_metadata and scope and without an error", async () => {
    expect(await refusalOf(undefined, "/scoped")).toEqual([
      401,
      `Bearer scope="read write", resource_metadata="${metadataUrl("/scoped")}"`,
    ]);
  });

  test("is 401 for a token that is not accepted, with the error invalid_token", async () => {
    expect(await refusalOf("other")).toEqual([401, expect.stringContaining('error="invalid_token"')]);
  });

  test("is 403 for insufficient_scope, with all scopes that the request needs", async () => {
    expect(await refusalOf(await tokenFor("/scoped", { scope: "read" }), "/scoped")).toEqual([
      403,
      expect.stringMatching(/error="insufficient_scope".*scope="read write", resource_metadata="/),
    ]);
  });

  test("is not sent if a broader scope includes the required one", async () => {
    expect(await statusOf(await tokenFor("/scoped", { scope: "admin" }), "/scoped")).toBe(200);
  });
});

describe("a token", () => {
  test("is accepted if it is valid", async () => {
    expect(await statusOf(await tokenFor())).toBe(200);
  });

  test.each<[string, Members]>([
    ["audience", { aud: "https://other.example/mcp" }],
    ["missing audience", { aud: undefined }],
    ["issuer", { iss: "https://other.example" }],
    ["expiry", { exp: 1 }],
    ["missing expiry", { exp: undefined }],
    ["start of validity", { nbf: 4_000_000_000 }],
  ])("is refused with 401 because of its %s", async (_, claims) => {
    expect(await statusOf(await tokenFor("/mcp", claims))).toBe(401);
  });

  test("is refused with 401 if it is signed with another key, not at all, or by HMAC with the public key", async () => {
    const other = await newKey("ES256", "one");
    expect(await statusOf(await signJwt(other, claimsFor()))).toBe(401);
    const [head, body] = (await tokenFor()).split(".");
    expect(await statusOf(`${head}.${body}.`)).toBe(401);
    for (const alg of ["none", "HS256"]) expect(await statusOf(await tokenFor("/mcp", {}, key, { alg }))).toBe(401);
  });

  test("is refused in the query, even if the header has it too", async () => {
    const token = await tokenFor();
    const response = await fetch(url(`/mcp?access_token=${token}`), { method: "POST", headers: bearer(token) });
    await response.body?.cancel();
    expect(response.status).toBe(400);
  });

  test("is refused if it is for another server (token passthrough), and handlers never see it", async () => {
    expect(await statusOf(await tokenFor("/other"))).toBe(401);
    const token = await tokenFor();
    expect(JSON.stringify(await principalOf(token))).not.toContain(token.split(".")[2]);
  });
});

describe("JWKS rotation", () => {
  beforeAll(() => advance(31));

  test("accepts a new key at once, and refuses a removed key after ten minutes", async () => {
    expect(await statusOf(await tokenFor())).toBe(200);
    const next = await newKey("ES256", "two");
    issuer.published = [next.jwk];
    expect(await statusOf(await tokenFor("/mcp", {}, next))).toBe(200);
    await advance(601);
    expect(await statusOf(await tokenFor("/mcp", { exp: nowS() + 900 }))).toBe(401);
  });
});

test("a token that is bound to a key is refused by a server that does not verify proofs", async () => {
  const response = await who(await tokenFor("/mcp", { cnf: { jkt: "key" } }));
  await response.body?.cancel();
  expect(response.status).toBe(401);
});
