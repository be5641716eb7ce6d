/** Where `bearer()` gets its keys and results from: discovery, rotation, introspection and the author's function. */
import { describe, expect, test } from "vitest";
import { newKey, signJwt } from "../harness/issuer.ts";
import { expectLogs } from "../harness/logs.ts";
import { ModernClient, readAnswer } from "./client.ts";
import {
  advance,
  bearer,
  claimsFor,
  issuer,
  key,
  principalOf,
  read,
  refusalOf,
  setUp,
  statusOf,
  tokenFor,
  url,
  who,
} from "./protected.ts";

expectLogs(
  /^mcp-edge: tokens must have the issuer/,
  /^mcp-edge: an access token could not be verified: /,
  /^mcp-edge: the keys of the issuer could not be requested/,
  /^mcp-edge: "\(auth\)" failed .* verify of bearer\(\) returned/,
);

setUp();

/** Makes the Worker's cached keys so old that it no longer uses them. */
const forget = () => advance(3_601);

describe("the keys of the issuer", () => {
  test("are requested once for many calls, and again after ten minutes", { tags: "long" }, async () => {
    await forget();
    const token = await tokenFor("/keys", { exp: 9e9 });
    const before = issuer.keyRequests;
    for (let call = 0; call < 5; call += 1) expect(await statusOf(token, "/keys")).toBe(200);
    expect(issuer.keyRequests - before).toBe(1);
    await advance(570);
    expect([await statusOf(token, "/keys"), issuer.keyRequests - before]).toEqual([200, 1]);
    await advance(31);
    expect([await statusOf(token, "/keys"), issuer.keyRequests - before]).toEqual([200, 2]);
  });

  test("are requested once for concurrent calls", { tags: "long" }, async () => {
    await forget();
    const token = await tokenFor("/keys");
    const before = issuer.keyRequests;
    const statuses = await Promise.all(Array.from({ length: 10 }, () => statusOf(token, "/keys")));
    expect([new Set(statuses), issuer.keyRequests - before]).toEqual([new Set([200]), 1]);
  });

  test("are requested again for a new key at once, including by concurrent calls", async () => {
    expect(await statusOf(await tokenFor("/keys"), "/keys")).toBe(200);
    const next = await newKey("ES256", `next ${crypto.randomUUID()}`);
    issuer.published = [next.jwk, key.jwk];
    await advance(31);
    const before = issuer.keyRequests;
    const token = await tokenFor("/keys", {}, next);
    const statuses = await Promise.all(Array.from({ length: 10 }, () => statusOf(token, "/keys")));
    expect([new Set(statuses), issuer.keyRequests - before]).toEqual([new Set([200]), 1]);
  });

  test("are requested at most once in 30 s for unknown keys, however many tokens name them", async () => {
    await forget();
    expect(await statusOf(await tokenFor("/keys"), "/keys")).toBe(200);
    const before = issuer.keyRequests;
    for (let at = 0; at < 5; at += 1) {
      const [status, challenge] = await refusalOf(await tokenFor("/keys", {}, key, { kid: `unknown ${at}` }), "/keys");
      expect([status, challenge]).toEqual([401, expect.stringContaining("The signature is not valid.")]);
    }
    expect(issuer.keyRequests - before).toBe(1);
    await advance(31);
    await statusOf(await tokenFor("/keys", {}, key, { kid: "unknown" }), "/keys");
    expect(issuer.keyRequests - before).toBe(2);
  });

  test("are not requested for a token that would be refused anyway", async () => {
    await forget();
    const before = issuer.requests.length;
    for (const claims of [{ exp: 1 }, { aud: "https://other.example.com" }, { iss: "https://other.example.com" }])
      expect(await statusOf(await tokenFor("/keys", claims), "/keys")).toBe(401);
    expect(await statusOf(await tokenFor("/keys", {}, key, { alg: "HS256" }), "/keys")).toBe(401);
    expect(issuer.requests.length).toBe(before);
  });

  test("are refused at most ten minutes after the issuer has removed them", async () => {
    await forget();
    const revoked = await newKey("ES256", "revoked");
    issuer.published = [revoked.jwk, key.jwk];
    const token = () => tokenFor("/keys", {}, revoked);
    expect(await statusOf(await token(), "/keys")).toBe(200);
    issuer.published = [key.jwk];
    await advance(601);
    expect(await statusOf(await token(), "/keys")).toBe(401);
    expect(await statusOf(await tokenFor("/keys"), "/keys")).toBe(200);
  });

  test.each([
    ["for encryption", { use: "enc" }],
    ["for another algorithm", { alg: "ES384" }],
    ["for other operations", { key_ops: ["sign"] }],
    ["that is damaged", { x: "AAAA" }],
    ["without a kind", { kty: undefined }],
    ["that is symmetric", { kty: "oct", k: "AAAA" }],
  ])("are not used if they are keys %s", async (_, members) => {
    await forget();
    const unfit = await newKey("ES256", "unfit", members);
    issuer.published = [unfit.jwk];
    expect(await statusOf(await tokenFor("/keys", {}, unfit), "/keys")).toBe(401);
  });

  test("can name their use and their algorithm", async () => {
    await forget();
    const fit = await newKey("ES256", "fit", { use: "sig", alg: "ES256", key_ops: ["verify"] });
    issuer.published = [fit.jwk];
    expect(await statusOf(await tokenFor("/keys", {}, fit), "/keys")).toBe(200);
  });

  test.each([
    ["an empty list of operations", "ES256", { key_ops: [] }],
    ["null as their operations", "ES256", { key_ops: null }],
    ["null as their algorithm and use", "ES256", { alg: null, use: null }],
    ["null as every member that RSA does not have", "RS256", { crv: null, x: null, y: null }],
    ["null as every member that an elliptic curve does not have", "ES256", { n: null, e: null }],
    ["null as every member that Ed25519 does not have", "Ed25519", { y: null, n: null, e: null }],
  ])("can have %s", async (_, algorithm, members) => {
    await forget();
    const fit = await newKey(algorithm, "fit");
    issuer.published = [{ ...fit.jwk, ...members }];
    expect(await statusOf(await tokenFor("/keys", {}, fit), "/keys")).toBe(200);
  });

  test("are not used if their operations are not a list, which does not affect the issuer's other keys", async () => {
    await forget();
    issuer.published = [{ ...key.jwk, key_ops: 7 }];
    expect(await statusOf(await tokenFor("/keys"), "/keys")).toBe(401);
    await forget();
    const other = await newKey("ES256", "other");
    issuer.published = [{ ...other.jwk, key_ops: 7 }, key.jwk];
    expect(await statusOf(await tokenFor("/keys"), "/keys")).toBe(200);
  });

  test.each([undefined, null])("can verify a token that names a key if they have no id (%s)", async (kid) => {
    const named = { kid: "named" };
    const curve = await newKey("ES384", "curve");
    const other = await newKey("ES256", "other");
    for (const [published, status] of [
      [[curve.jwk, { ...key.jwk, kid }], 200],
      [[other.jwk, { ...key.jwk, kid }], 401],
      [
        [
          { ...other.jwk, kid },
          { ...key.jwk, kid },
        ],
        401,
      ],
    ] as const) {
      await forget();
      issuer.published = [...published];
      expect(await statusOf(await tokenFor("/keys", {}, key, named), "/keys")).toBe(status);
    }
  });

  test("do not verify a token that names another id, even if no other key fits", async () => {
    await forget();
    expect(await statusOf(await tokenFor("/keys", {}, key, { kid: "another" }), "/keys")).toBe(401);
  });

  test("are refused if they are RSA keys of fewer than 2,048 bits", async () => {
    await forget();
    const short = await newKey("RS256", "short", {}, 1024);
    issuer.published = [short.jwk];
    expect(await statusOf(await tokenFor("/keys", {}, short), "/keys")).toBe(401);
  });

  test("are all tried, up to four, for a token that names no key", async () => {
    await forget();
    const others = await Promise.all([1, 2, 3, 4].map((at) => newKey("ES256", `other ${at}`)));
    issuer.published = [...others.slice(0, 3).map(({ jwk }) => jwk), key.jwk];
    expect(await statusOf(await tokenFor("/keys", {}, key, { kid: undefined }), "/keys")).toBe(200);
    await forget();
    issuer.published = [...others.map(({ jwk }) => jwk), key.jwk];
    expect(await statusOf(await tokenFor("/keys", {}, key, { kid: undefined }), "/keys")).toBe(401);
  });

  test("are found after keys of another kind", async () => {
    await forget();
    const others = await Promise.all([1, 2, 3, 4].map((at) => newKey(at % 2 ? "Ed25519" : "ES384", `other ${at}`)));
    issuer.published = [...others.map(({ jwk }) => jwk), key.jwk];
    expect(await statusOf(await tokenFor("/keys", {}, key, { kid: undefined }), "/keys")).toBe(200);
  });

  test("can be given by their URL", async () => {
    const before = issuer.requests.length;
    expect(await statusOf(await tokenFor("/url", { iss: "https://other.example.com" }), "/url")).toBe(200);
    expect(issuer.requests.slice(before)).toEqual(["/jwks"]);
  });

  test("are found for an issuer with a path, whichever of the three URLs has its metadata", async () => {
    const paths = [
      "/.well-known/oauth-authorization-server/tenant/one",
      "/.well-known/openid-configuration/tenant/one",
      "/tenant/one/.well-known/openid-configuration",
    ];
    const iss = `${issuer.url}/tenant/one`;
    const text = JSON.stringify({ issuer: iss, jwks_uri: `${issuer.url}/jwks` });
    for (const [at] of paths.entries()) {
      await forget();
      for (const [other, path] of paths.entries()) {
        issuer.faults.set(path, other === at ? { status: 200, text } : { status: 404 });
      }
      const before = issuer.requests.length;
      expect(await statusOf(await tokenFor("/tenant", { iss }), "/tenant")).toBe(200);
      expect(issuer.requests.slice(before)).toEqual([...paths.slice(0, at + 1), "/jwks"]);
    }
  });
});

describe("an issuer that is not available", () => {
  const METADATA = "/.well-known/oauth-authorization-server";
  const KEYS = "/jwks";

  test.each([
    ["whose metadata has an error", METADATA, { status: 500 }],
    ["whose metadata is not JSON", METADATA, { status: 200, text: "<html>" }],
    ["whose metadata redirects", METADATA, { status: 302, headers: { Location: "/elsewhere" } }],
    ["whose keys have an error", KEYS, { status: 503 }],
    ["whose keys come with an error", KEYS, { status: 500, text: '{"keys":[]}' }],
    ["whose keys are not a set", KEYS, { status: 200, text: '{"keys":"none"}' }],
    ["whose keys redirect", KEYS, { status: 307, headers: { Location: "/elsewhere" } }],
    ["whose keys are very many", KEYS, { status: 200, text: `{"keys":[${'"none",'.repeat(60_000)}""]}` }],
  ])("%s causes 503 with Retry-After, is logged without the token, and is used later", async (_, path, fault) => {
    await forget();
    issuer.faults.set(path, fault);
    if (path === METADATA) issuer.faults.set("/.well-known/openid-configuration", fault);
    const token = await tokenFor("/keys");
    const { status, headers } = await who(token, "/keys");
    expect([status, headers.get("Retry-After"), headers.get("WWW-Authenticate")]).toEqual([503, "5", null]);
    expect(issuer.requests).not.toContain("/elsewhere");
    const log = (await read<string[]>("/log")).at(-1);
    expect(log).toContain("an access token could not be verified");
    for (const part of token.split(".")) expect(log).not.toContain(part);
    issuer.faults.clear();
    await advance(3);
    expect(await statusOf(await tokenFor("/keys"), "/keys")).toBe(200);
  });

  test.each([
    ["another issuer", { issuer: "https://other.example.com" }],
    ["keys without TLS", { jwks_uri: "http://login.example.com/jwks" }],
    ["no keys", { jwks_uri: undefined }],
  ])("causes 503, without a request for its keys, if its metadata names %s", async (_, metadata) => {
    await forget();
    issuer.metadata = metadata;
    const before = issuer.keyRequests;
    expect(await statusOf(await tokenFor("/keys"), "/keys")).toBe(503);
    expect(issuer.keyRequests).toBe(before);
    issuer.metadata = {};
  });

  describe("whose keys are cached", () => {
    const NOTICE = "the keys of the issuer could not be requested";

    test("does not affect callers for 50 minutes after the keys should have been requested again, and then causes 503", async () => {
      await forget();
      const token = await tokenFor("/keys", { exp: 9e9 });
      expect(await statusOf(token, "/keys")).toBe(200);
      issuer.faults.set(KEYS, { status: 503 });
      await advance(601);
      const before = issuer.keyRequests;
      const statuses = await Promise.all(Array.from({ length: 5 }, () => statusOf(token, "/keys")));
      expect([new Set(statuses), issuer.keyRequests - before]).toEqual([new Set([200]), 1]);
      expect((await read<string[]>("/log")).at(-1)).toContain(NOTICE);
      await advance(2_990);
      expect(await statusOf(token, "/keys")).toBe(200);
      await advance(20);
      expect(await statusOf(token, "/keys")).toBe(503);
    });

    test("causes 503 for a token with a key that is not among them, because the key may be a new one", async () => {
      await forget();
      expect(await statusOf(await tokenFor("/keys"), "/keys")).toBe(200);
      issuer.faults.set(KEYS, { status: 503 });
      await advance(601);
      const next = await newKey("ES256", "new during the fault");
      expect(await statusOf(await tokenFor("/keys", {}, next), "/keys")).toBe(503);
      expect(await statusOf(await tokenFor("/keys"), "/keys")).toBe(200);
    });

    test("replaces them as soon as it is available again, so that a removed key is refused", async () => {
      await forget();
      const token = await tokenFor("/keys", { exp: 9e9 });
      expect(await statusOf(token, "/keys")).toBe(200);
      issuer.faults.set(KEYS, { status: 503 });
      await advance(601);
      expect(await statusOf(token, "/keys")).toBe(200);
      issuer.faults.clear();
      issuer.published = [];
      await advance(3);
      // The first caller does not wait for the issuer that has just failed.
      await expect.poll(() => statusOf(token, "/keys")).toBe(401);
    });
  });

  test("is requested at most once in two seconds", async () => {
    await forget();
    issuer.faults.set(KEYS, { status: 503 });
    const before = issuer.keyRequests;
    const token = await tokenFor("/keys");
    for (let call = 0; call < 5; call += 1) expect(await statusOf(token, "/keys")).toBe(503);
    expect(issuer.keyRequests - before).toBe(1);
  });

  test("does not make a token with a new key invalid", async () => {
    await forget();
    expect(await statusOf(await tokenFor("/keys"), "/keys")).toBe(200);
    issuer.faults.set(KEYS, { status: 503 });
    const next = await newKey("ES256", "after the fault");
    for (let call = 0; call < 2; call += 1)
      expect(await statusOf(await tokenFor("/keys", {}, next), "/keys")).toBe(503);
    expect(await statusOf(await tokenFor("/keys"), "/keys")).toBe(200);
    issuer.faults.clear();
    issuer.published = [next.jwk];
    await advance(31);
    expect(await statusOf(await tokenFor("/keys", {}, next), "/keys")).toBe(200);
  });

  test("causes 503 if it cannot be reached", async () => {
    expect(await statusOf(await tokenFor("/away", { iss: "http://127.0.0.1:9/" }), "/away")).toBe(503);
  });
});

describe("an opaque token", () => {
  const active = (path: string, more = {}) => ({ ...claimsFor(path), active: true, client_id: "app", ...more });

  test("is introspected with the server's credentials, and acts for its subject", async () => {
    issuer.tokens.set("opaque", active("/opaque", { iss: undefined, exp: undefined }));
    expect(await principalOf("opaque", "/opaque")).toMatchObject({
      issuer: issuer.url,
      subject: "alice",
      scopes: ["read"],
      claims: { client_id: "app" },
    });
    expect(issuer.asked.at(-1)).toEqual({
      body: "token=opaque&token_type_hint=access_token",
      authorization: `Basic ${btoa("mcp%3Aedge:a+b%25")}`,
    });
  });

  test("is introspected at most once a minute; then a revoked token is refused", async () => {
    issuer.tokens.set("kept", active("/opaque"));
    const before = issuer.asked.length;
    for (let call = 0; call < 3; call += 1) expect(await statusOf("kept", "/opaque")).toBe(200);
    expect(issuer.asked.length - before).toBe(1);
    issuer.tokens.delete("kept");
    await advance(59);
    expect(await statusOf("kept", "/opaque")).toBe(200);
    await advance(2);
    expect(await statusOf("kept", "/opaque")).toBe(401);
  });

  test("is refused when it expires, although the result of its introspection is cached", async () => {
    issuer.tokens.set("short", active("/opaque", { exp: claimsFor().exp }));
    expect(await statusOf("short", "/opaque")).toBe(200);
    issuer.tokens.set("shorter", active("/opaque", { exp: Number(claimsFor().exp) - 300 - 20 }));
    expect(await statusOf("shorter", "/opaque")).toBe(200);
    await advance(11);
    expect(await statusOf("shorter", "/opaque")).toBe(401);
  });

  test("is introspected each time with cacheMs: 0", async () => {
    issuer.tokens.set("fresh", active("/uncached"));
    expect(await statusOf("fresh", "/uncached")).toBe(200);
    issuer.tokens.delete("fresh");
    expect(await statusOf("fresh", "/uncached")).toBe(401);
  });

  test.each([
    ["inactive", { active: false }],
    ["active as a string", { active: "true" }],
    ["for another resource", { aud: "https://other.example.com" }],
    ["without audience", { aud: undefined }],
    ["of another issuer", { iss: "https://other.example.com" }],
    ["expired", { exp: 1 }],
    ["bound to a key", { cnf: { jkt: "thumbprint" } }],
    ["a user's token with the name of a client", { sub: "client:app" }],
  ])("is refused if it is %s", async (what, more) => {
    issuer.tokens.set(`unfit-${what.length}`, active("/opaque", more));
    expect(await statusOf(`unfit-${what.length}`, "/opaque")).toBe(401);
  });

  test("gets 503 while the issuer fails, and this result is not cached", async () => {
    issuer.tokens.set("later", active("/opaque"));
    issuer.faults.set("/introspect", { status: 401 });
    expect(await statusOf("later", "/opaque")).toBe(503);
    issuer.faults.clear();
    expect(await statusOf("later", "/opaque")).toBe(200);
  });

  test("is verified by the author's function, for each request", async () => {
    const before = (await read<string[]>("/verified")).length;
    for (let call = 0; call < 3; call += 1) {
      expect(await principalOf("good", "/function")).toEqual({
        issuer: issuer.url,
        subject: "alice",
        scopes: ["read"],
        claims: { team: "red" },
        clientId: "app",
      });
    }
    const calls = (await read<string[]>("/verified")).slice(before);
    expect(calls).toEqual([url("/function"), url("/function"), url("/function")]);
  });

  /** The statuses of requests that have a proof, or not. */
  async function statusesOf(path: string, proofs: readonly string[]): Promise<readonly number[]> {
    const statuses: number[] = [];
    for (const proof of proofs) {
      const headers = { ...bearer("good-with-proof"), "X-Proof": proof };
      statuses.push((await readAnswer(new ModernClient(url(path)).call("who", {}, { headers }))).status);
    }
    return statuses;
  }

  test("is refused if the author's function refuses the request, although it has accepted another request", async () => {
    expect(await statusesOf("/function", ["no", "yes", "no"])).toEqual([401, 200, 401]);
  });

  test("is verified by the author's function once for each resource and cacheMs, whatever else the requests contain", async () => {
    const before = (await read<string[]>("/verified")).length;
    expect(await statusesOf("/kept/a", ["no", "yes", "no"])).toEqual([401, 200, 200]);
    expect(await statusesOf("/kept/b", ["no"])).toEqual([401]);
    await advance(59);
    expect(await statusesOf("/kept/a", ["no"])).toEqual([200]);
    await advance(2);
    expect(await statusesOf("/kept/a", ["no"])).toEqual([401]);
    const calls = (await read<string[]>("/verified")).slice(before);
    expect(calls).toEqual(["/kept/a", "/kept/a", "/kept/b", "/kept/a"].map((path) => url(path)));
  });

  test("is refused with the status that the author's function gives, with 503 or 500 if it fails, and is verified again when it expires", async () => {
    for (const [token, status] of [
      ["bad", 401],
      ["old", 401],
      ["broken", 503],
      ["unfit", 500],
    ] as const) {
      expect([token, await statusOf(token, "/function")]).toEqual([token, status]);
    }
    expect((await read<string[]>("/log")).at(-1)).toContain("verify of bearer() returned");
    const before = (await read<string[]>("/verified")).length;
    for (const [seconds, calls] of [
      [0, 1],
      [9, 1],
      [2, 2],
    ] as const) {
      await advance(seconds);
      expect(await statusOf("short", "/kept/a")).toBe(200);
      expect((await read<string[]>("/verified")).length - before).toBe(calls);
    }
  });

  test("does not displace the cached results for other tokens, however many tokens are refused", async () => {
    issuer.tokens.set("stays", active("/opaque"));
    expect(await statusOf("stays", "/opaque")).toBe(200);
    const before = issuer.asked.length;
    await Promise.all(Array.from({ length: 50 }, (_, at) => statusOf(`random-${at}`, "/opaque")));
    expect(await statusOf("stays", "/opaque")).toBe(200);
    expect(issuer.asked.length - before).toBe(50);
  });
});

test("a JWT that is signed by a key of another issuer is refused", async () => {
  const foreign = await newKey("ES256", "one");
  expect(await statusOf(await signJwt(foreign, claimsFor("/keys")), "/keys")).toBe(401);
});
