/**
 * Attacks with assertions on workerd: those of RFC 7523, section 3, of RFC 8725, and of the sections on security of the extension and
 * of the draft. Each refusal is an OAuth error that names what is wrong, and none reveals what the server trusts.
 */
import { describe, expect, test } from "vitest";
import { base64url, newKey, signJwt } from "../harness/issuer.ts";
import { expectLogs } from "../harness/logs.ts";
import type { Members } from "../http/messages.ts";
import { postForm } from "./authorization.ts";
import { ModernClient } from "./client.ts";
import { AGENT, acme, basic, Company, exchange, globex, JWT_BEARER, OTHER, setUp, worker } from "./companies.ts";

expectLogs(
  /^mcp-edge: a request to \/token failed Error: /,
  /^mcp-edge: enterprise\(\): an assertion of "\S+" was refused: the issuer is not trusted$/,
  /^mcp-edge: enterprise\(\): an assertion of "\S+" with tenant "south" was refused: the issuer is not trusted$/,
  /^mcp-edge: enterprise\(\): an assertion of "\S+" with aud_tenant "theirs" was refused: the issuer is not trusted$/,
  /was refused: no key of the issuer for "ES256" with the id "first" that its policy allows verifies the signature$/,
);

setUp(() => ({
  companies: [
    { issuer: acme.url, domains: ["example.com"] },
    { issuer: globex.url, domains: ["example.com"], algorithms: ["RS256"] },
    { issuer: `${acme.url}/shared`, tenant: "north", allow: { anyone: true }, jwks: `${acme.url}/jwks` },
    { issuer: `${globex.url}/late`, allow: { anyone: true } },
    { issuer: "https://fixed.example", allow: { anyone: true }, jwks: { keys: [globex.key.jwk] } },
  ],
}));

const nowS = () => Math.floor(Date.now() / 1000);
const ELSEWHERE = "https://elsewhere.example";

/** The response to an assertion that is wrong in one way. */
async function refusalOf(claims: Members, header: Members = {}) {
  const { status, body } = await exchange(worker, await acme.assert(worker, claims, header));
  expect({ status, error: body.error }).toEqual({ status: 400, error: "invalid_grant" });
  return String(body.error_description);
}

test("an assertion without a mistake is accepted", async () => {
  expect((await exchange(worker, await acme.assert(worker))).status).toBe(200);
});

describe("an assertion is refused", () => {
  test.each<[string, Members]>([
    ["without an issuer", { iss: undefined }],
    ["without a subject (RFC 7523, section 3, rule 2)", { sub: undefined }],
    ["with an empty subject", { sub: "" }],
    ["with a subject that is not a text", { sub: ["ada"] }],
    ["without an id, because it could be repeated", { jti: undefined }],
    ["with an id that is too long to be stored", { jti: "x".repeat(1_001) }],
  ])("%s", async (_, claims) => {
    expect(await refusalOf(claims)).toBe("The assertion needs iss, sub and jti.");
  });

  test.each<[string, () => unknown]>([
    ["without an audience (rule 3)", () => undefined],
    ["for another authorization server", () => ELSEWHERE],
    ["for another one too (audience injection)", () => [worker.origin, ELSEWHERE]],
    ["for the same one twice", () => [worker.origin, worker.origin]],
    ["for the token endpoint, which every server of the host could have", () => `${worker.origin}/token`],
    ["for the endpoint, as an access token is", () => `${worker.origin}/mcp`],
    ["for the issuer in another notation", () => `${worker.origin}/`],
    ["for an audience that is not a text", () => ({ [worker.origin]: true })],
  ])("%s", async (_, aud) => {
    expect(await refusalOf({ aud: aud() })).toBe(`aud of the assertion must be ${worker.origin}.`);
  });

  test.each<[string, unknown]>([
    ["for another server", `${ELSEWHERE}/mcp`],
    ["for several other servers", [`${ELSEWHERE}/mcp`, `${ELSEWHERE}/other`]],
    ["for a resource that is not a URL", "mcp"],
    ["for a resource that is not a text", 1],
    ["for no resource at all", []],
    ["for a resource without a value", null],
  ])("%s", async (_, resource) => {
    expect(await refusalOf({ resource })).toBe(`resource of the assertion must be ${worker.origin}/mcp.`);
  });

  test.each<[string, unknown]>([
    ["without a client", undefined],
    ["of another client (client binding)", "other"],
    ["of several clients", ["agent", "other"]],
  ])("%s", async (_, client_id) => {
    expect(await refusalOf({ client_id })).toBe("client_id of the assertion must be the client that sends it.");
  });

  test.each<[string, () => Members, RegExp]>([
    ["that has expired (rule 4)", () => ({ iat: nowS() - 400, exp: nowS() - 31 }), /has expired/],
    ["without an expiry", () => ({ exp: undefined }), /needs exp and iat/],
    ["with an expiry that is not a number", () => ({ exp: String(nowS() + 300) }), /needs exp and iat/],
    ["without a time of issue", () => ({ iat: undefined }), /needs exp and iat/],
    ["of the future (rule 6)", () => ({ iat: nowS() + 60, exp: nowS() + 120 }), /not valid yet/],
    ["that is not valid yet (rule 5)", () => ({ nbf: nowS() + 60 }), /not valid yet/],
    ["whose nbf is not a number", () => ({ nbf: "soon" }), /needs exp and iat/],
    ["that is valid for too long", () => ({ exp: nowS() + 601 }), /valid for longer than 600 s/],
    ["that is valid for ever", () => ({ exp: 1e300 }), /valid for longer than 600 s/],
    ["that was issued long ago for a long time", () => ({ iat: nowS() - 3_600, exp: nowS() + 60 }), /for longer than/],
  ])("%s", async (_, times, text) => {
    expect(await refusalOf(times())).toMatch(text);
  });

  test("that has expired, before its signature is verified and any object is asked", async () => {
    const expired = await acme.assert(worker, { iat: nowS() - 400, exp: nowS() - 31 });
    const { body } = await exchange(worker, expired.replace(/[^.]*$/, ""));
    expect(body.error_description).toBe("The assertion has expired.");
  });

  test.each<[string, Members, string]>([
    ["with another condition of possession than a key", { cnf: { "x5t#S256": "a" } }, "cnf of the assertion"],
    ["with a condition in addition to a key", { cnf: { jkt: "a".repeat(43), kid: "a" } }, "cnf of the assertion"],
    ["with a key that is not a thumbprint", { cnf: { jkt: "a" } }, "cnf of the assertion"],
    ["with a condition that is not an object", { cnf: null }, "cnf of the assertion"],
    ["with details that would narrow its scopes", { authorization_details: [] }, "authorization_details are not"],
    ["with scopes in another form", { scope: ["read"] }, "scope of the assertion"],
    ["with scopes that are malformed", { scope: 'read "write"' }, "scope of the assertion"],
    ["with an organisation that is not a text", { tenant: 1 }, "tenant or aud_tenant"],
    ["with an organisation of this server that is empty", { aud_tenant: "" }, "tenant or aud_tenant"],
  ])("%s", async (_, claims, text) => {
    expect(await refusalOf(claims)).toMatch(new RegExp(`^${text}`));
  });

  test.each<[string, Members]>([
    ["that is an access token (RFC 8725, section 3.11)", { typ: "at+jwt" }],
    ["that is an ID token", { typ: "JWT" }],
    ["that is a client assertion", { typ: "client-authentication+jwt" }],
    ["without a type", { typ: undefined }],
    ["with a type that is only similar", { typ: "oauth-id-jag+jwtx" }],
    ["with an extension that must be understood (RFC 7515, section 4.1.11)", { crit: ["exp"] }],
  ])("%s", async (_, header) => {
    expect(await refusalOf({}, header)).toBe("The assertion is not a JWT of the type oauth-id-jag+jwt.");
  });

  test.each([["none"], ["HS256"], ["RS1"], ["ES256K"]])("with the algorithm %s", async (alg) => {
    expect(await refusalOf({}, { alg })).toBe("The algorithm of the assertion is not accepted.");
  });

  test.each<[string, string]>([
    ["that is not a JWT", "nonsense"],
    ["with more than three parts", "a.b.c.d.e"],
    ["that is too long", `${"a".repeat(17_000)}.b.c`],
  ])("%s", async (_, assertion) => {
    const { status, body } = await exchange(worker, assertion);
    expect({ status, error: body.error }).toEqual({ status: 400, error: "invalid_grant" });
  });
});

describe("a signature", () => {
  const UNTRUSTED = "The assertion was not signed by an issuer that this server trusts.";

  test.each<[string, () => Promise<string>]>([
    [
      "of an issuer that is not trusted",
      async () => {
        await using mallory = await Company.start();
        return mallory.assert(worker);
      },
    ],
    [
      "of another company, which names a user of this one",
      () => globex.assert(worker, { iss: acme.url }, { kid: acme.key.jwk.kid }),
    ],
    [
      "of a key that the header brings along",
      async () => {
        const key = await newKey("ES256", "first");
        return signJwt(key, acme.claims(worker), { typ: "oauth-id-jag+jwt", jwk: key.jwk });
      },
    ],
    [
      "of a key that the header points to",
      async () => {
        const key = await newKey("ES256", "first");
        return signJwt(key, acme.claims(worker), { typ: "oauth-id-jag+jwt", jku: `${globex.url}/jwks` });
      },
    ],
    ["with an algorithm that the issuer does not use", () => globex.assert(worker)],
    ["of an organisation that is not trusted", () => acme.assert(worker, { tenant: "south" })],
    [
      "of an issuer whose organisations are separate, without one",
      () => acme.assert(worker, { iss: `${acme.url}/shared` }),
    ],
    ["for another organisation of this server", () => acme.assert(worker, { aud_tenant: "theirs" })],
    ["of the same host with another path", () => acme.assert(worker, { iss: `${acme.url}/other` })],
    [
      "that was made for other claims",
      async () => {
        const [head, , signature] = (await acme.assert(worker)).split(".");
        return [head, base64url(JSON.stringify(acme.claims(worker, { sub: "boss" }))), signature].join(".");
      },
    ],
    ["that is missing", async () => (await acme.assert(worker)).replace(/[^.]*$/, "")],
  ])("%s is refused, with the same error for all", async (_, assert) => {
    const { status, body } = await exchange(worker, await assert());
    expect({ status, body }).toEqual({ status: 400, body: { error: "invalid_grant", error_description: UNTRUSTED } });
  });

  test("of a key that the operator has fixed is accepted, and of no other", async () => {
    const more = { iss: "https://fixed.example", sub: "fixed" };
    expect((await exchange(worker, await globex.assert(worker, more))).status).toBe(200);
    expect((await exchange(worker, await acme.assert(worker, more))).body.error_description).toBe(UNTRUSTED);
  });

  test("of an organisation at a shared issuer is accepted with its name", async () => {
    const shared = { iss: `${acme.url}/shared`, tenant: "north", sub: "north" };
    expect((await exchange(worker, await acme.assert(worker, shared))).status).toBe(200);
  });
});

describe("the client that sends an assertion", () => {
  const error = async (assertion: Promise<string>, more: Members, headers = {}) => {
    const { status, body } = await exchange(worker, await assertion, more as Record<string, string>, headers);
    return [status, body.error];
  };

  test("must authenticate itself", async () => {
    const refused = [401, "invalid_client"];
    expect(await error(acme.assert(worker), {})).toEqual([400, "invalid_request"]);
    expect(await error(acme.assert(worker), { client_id: "agent" })).toEqual(refused);
    expect(await error(acme.assert(worker), {}, basic("agent", "a secret of the other"))).toEqual(refused);
    expect(await error(acme.assert(worker, { client_id: "nobody" }), { client_id: "nobody" })).toEqual(refused);
  });

  test("must have a secret: an assertion of a public client could be used by whoever obtains it", async () => {
    const assertion = acme.assert(worker, { client_id: "public" });
    expect(await error(assertion, { client_id: "public" })).toEqual([400, "unauthorized_client"]);
    const document = "https://client.example/metadata.json";
    const published = acme.assert(worker, { client_id: document });
    expect(await error(published, { client_id: document })).toEqual([400, "unauthorized_client"]);
  });

  test("cannot use the assertion of another client with its own credentials (RFC 7523, section 5)", async () => {
    expect(await error(acme.assert(worker), {}, OTHER)).toEqual([400, "invalid_grant"]);
  });

  test("cannot request another resource, or repeat a parameter", async () => {
    expect(await error(acme.assert(worker), { resource: `${ELSEWHERE}/mcp` }, AGENT)).toEqual([400, "invalid_target"]);
    const twice = new URLSearchParams([
      ["grant_type", JWT_BEARER],
      ["assertion", await acme.assert(worker)],
      ["assertion", await acme.assert(worker, { sub: "boss" })],
    ]);
    const { status } = await fetch(worker.url("/token"), { method: "POST", body: twice, headers: AGENT });
    expect(status).toBe(400);
    expect(await postForm(worker.url("/token"), { grant_type: JWT_BEARER }, AGENT)).toMatchObject({
      status: 400,
      body: { error: "invalid_request", error_description: "assertion is missing." },
    });
  });
});

test("a scope that the server does not offer, perhaps of a server with the same names, refuses the assertion", async () => {
  for (const scope of ["everything", "constructor"])
    expect(await refusalOf({ scope: `read ${scope}` })).toBe(
      "The assertion has a scope that this server does not offer.",
    );
});

test("an assertion is neither an access token nor a refresh token", async () => {
  const assertion = await acme.assert(worker);
  const headers = { authorization: `Bearer ${assertion}` };
  const called = await new ModernClient(worker.url("/mcp")).call("who", {}, { headers });
  expect(called.status).toBe(401);
  await called.body?.cancel();
  const form = { grant_type: "refresh_token", refresh_token: assertion };
  expect(await postForm(worker.url("/token"), form, AGENT)).toMatchObject({ body: { error: "invalid_grant" } });
});

test("no response repeats any part of an assertion or a secret", async () => {
  const assertion = await acme.assert(worker, { sub: "secretive-subject", resource: "https://mallory.example/here" });
  const { body, headers } = await exchange(worker, assertion);
  const text = JSON.stringify([body, [...headers]]);
  for (const part of [...assertion.split("."), "secretive-subject", "mallory"]) expect(text).not.toContain(part);
});

test("an assertion whose keys cannot be requested is not used up: the client can send it again", async () => {
  const { faults } = globex.issuer;
  faults.set("/.well-known/oauth-authorization-server/late", { status: 500 });
  const assertion = await globex.assert(worker, { iss: `${globex.url}/late`, sub: "late" });
  const { status, body, headers } = await exchange(worker, assertion);
  expect({ status, error: body.error }).toEqual({ status: 503, error: "temporarily_unavailable" });
  expect(headers.get("Retry-After")).toBe("2");
  faults.clear();
  await worker.advance(2_001);
  expect((await exchange(worker, assertion)).status).toBe(200);
});
