/** `cloudflareAccess()` on workerd, with the JWTs that Access adds to requests. */
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cloudflareAccess } from "../../src/worker/access/auth/index.ts";
import { newKey, type SigningKey, signJwt } from "../harness/issuer.ts";
import { expectLogs } from "../harness/logs.ts";
import type { Members } from "../http/messages.ts";
import { ModernClient, readAnswer } from "./client.ts";
import { advance, issuer, nowS, setUp, url } from "./protected.ts";

expectLogs(
  /^mcp-edge: an access token could not be verified: /,
  /^mcp-edge: the keys of the issuer could not be requested/,
);

setUp();

const CERTS = "/cdn-cgi/access/certs";
let rsa: SigningKey;
let ec: SigningKey;
beforeAll(async () => {
  rsa = await newKey("RS256", "access", { alg: "RS256", use: "sig" });
  ec = await newKey("ES256", "curve");
});
beforeEach(async () => {
  issuer.faults.set(CERTS, { status: 200, text: JSON.stringify({ keys: [rsa.jwk, ec.jwk], public_certs: [] }) });
  await advance(601);
});

const USER: Members = { sub: "7335d417", email: "ada@example.com", type: "app" };

function assertion(claims: Members = {}, key = rsa): Promise<string> {
  const all = { iss: issuer.url, aud: ["tag"], exp: nowS() + 300, nbf: nowS(), ...USER, ...claims };
  return signJwt(key, all, { typ: undefined });
}

async function call(headers: Record<string, string>): Promise<readonly [number, Members]> {
  const { status, text } = await readAnswer(new ModernClient(url("/access")).call("who", {}, { headers }));
  return [status, JSON.parse(text ?? "{}") as Members];
}

const HEADER = "Cf-Access-Jwt-Assertion";

describe("requests that passed Access", () => {
  test("a request acts for its user, whose e-mail address is among the claims", async () => {
    const [status, principal] = await call({ [HEADER]: await assertion() });
    expect([status, principal]).toEqual([
      200,
      expect.objectContaining({ issuer: issuer.url, subject: "7335d417", claims: expect.objectContaining(USER) }),
    ]);
  });

  test("a request to another allowed application is served too", async () => {
    expect((await call({ [HEADER]: await assertion({ aud: ["other tag"] }) }))[0]).toBe(200);
  });

  test("a request with a service token acts for the id of the token", async () => {
    const [, principal] = await call({ [HEADER]: await assertion({ sub: "", common_name: "id.access" }) });
    expect(principal).toMatchObject({ subject: "client:id.access" });
  });

  test("a request can have the opaque token of its client, which is ignored", async () => {
    expect((await call({ [HEADER]: await assertion(), authorization: "Bearer opaque" }))[0]).toBe(200);
  });

  test("a request is served for 50 more minutes while the keys of Access are not available, and then gets 503", async () => {
    expect((await call({ [HEADER]: await assertion() }))[0]).toBe(200);
    issuer.faults.set(CERTS, { status: 500 });
    await advance(601);
    expect((await call({ [HEADER]: await assertion() }))[0]).toBe(200);
    await advance(3_000);
    expect((await call({ [HEADER]: await assertion() }))[0]).toBe(503);
  });
});

describe("a request without a valid JWT of Access", () => {
  test.each<[string, () => Promise<Record<string, string>>]>([
    ["has no JWT", async () => ({})],
    ["has its JWT in another header", async () => ({ authorization: `Bearer ${await assertion()}` })],
    ["has no token in the header", async () => ({ [HEADER]: "yes" })],
    ["has a JWT of another application", async () => ({ [HEADER]: await assertion({ aud: ["foreign"] }) })],
    ["has a JWT of another team", async () => ({ [HEADER]: await assertion({ iss: "https://other.example.com" }) })],
    ["has an expired JWT", async () => ({ [HEADER]: await assertion({ exp: nowS() - 31 }) })],
    ["has a JWT of another key", async () => ({ [HEADER]: await assertion({}, await newKey("RS256", "access")) })],
    ["has a JWT of another algorithm", async () => ({ [HEADER]: await assertion({}, ec) })],
    ["has a JWT that is bound to a key", async () => ({ [HEADER]: await assertion({ cnf: { jkt: "key" } }) })],
    ["has a JWT without a name", async () => ({ [HEADER]: await assertion({ sub: "" }) })],
    [
      "has a JWT of a user with the name of a client",
      async () => ({ [HEADER]: await assertion({ sub: "client:id" }) }),
    ],
  ])("gets 401 if it %s", async (_, headers) => {
    expect(await call(await headers())).toEqual([401, {}]);
  });
});

test.each<[string, object, RegExp]>([
  ["no team", { audience: "tag" }, /teamDomain is undefined/],
  ["a team without scheme", { teamDomain: "example.cloudflareaccess.com", audience: "tag" }, /teamDomain is/],
  ["a team with a slash", { teamDomain: "https://a.cloudflareaccess.com/", audience: "tag" }, /after the host/],
  ["a team with a path", { teamDomain: "https://a.cloudflareaccess.com/x", audience: "tag" }, /after the host/],
  ["no audience", { teamDomain: "https://a.cloudflareaccess.com" }, /audience is not/],
  ["an empty audience", { teamDomain: "https://a.cloudflareaccess.com", audience: "" }, /audience is not/],
  ["no audiences", { teamDomain: "https://a.cloudflareaccess.com", audience: [] }, /audience is not/],
])("cloudflareAccess() with %s is refused", (_, options, message) => {
  expect(() => cloudflareAccess(options as never)).toThrow(message);
});
