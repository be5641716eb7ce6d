/** Sign-in with OpenID Connect: against oidc-provider, and against an issuer whose responses are wrong in one way. */
import { afterEach, describe, expect, test } from "vitest";
import { type OidcOptions, oidc } from "../../../src/authorization-server/identity/oidc.ts";
import type {
  IdentityProvider,
  UpstreamSignIn,
  UpstreamTokens,
} from "../../../src/authorization-server/identity/provider.ts";
import { browse, RealAuthority } from "../../client/oauth/oidc-provider.ts";
import { base64url, newKey, signJwt } from "../../harness/issuer.ts";
import { ScriptedIssuer } from "./scripted-issuer.ts";
import { begin, failureOf, STATE } from "./sign-in.ts";

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

const CALLBACK = "https://mcp.example.com/oauth/callback/oidc";
const SECRET = "a-b_c.d~e f:g/h+i%j&k=l";

/** Starts oidc-provider with this server as a client. */
async function startReal(more: object = {}): Promise<RealAuthority> {
  const client = {
    client_id: "kit",
    client_secret: SECRET,
    redirect_uris: [CALLBACK],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  };
  const claims = { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] };
  const about = { email: "ada@example.com", email_verified: true, name: "Ada Lovelace", groups: ["staff"] };
  const authority = await RealAuthority.start({
    clients: [client],
    claims,
    scopes: ["openid", "offline_access"],
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id, ...about }) }),
    pkce: { required: () => true },
    ...more,
  });
  open.push(authority);
  return authority;
}

const atReal = ({ issuer }: RealAuthority, more: Partial<OidcOptions> = {}) =>
  oidc({ issuer, clientId: "kit", clientSecret: SECRET, ...more });

async function signInAtReal(provider: IdentityProvider): Promise<UpstreamSignIn> {
  const { url, kept } = await begin(provider);
  return provider.finish(await browse(url), kept);
}

describe("a sign-in at oidc-provider, which requires PKCE and sends iss", () => {
  test("returns the claims of the ID token and of the UserInfo endpoint", async () => {
    const authority = await startReal();
    const { user, tokens } = await signInAtReal(atReal(authority));
    expect(user).toEqual({
      issuer: authority.issuer,
      subject: "ada",
      email: "ada@example.com",
      emailVerified: true,
      name: "Ada Lovelace",
      organisations: undefined,
      claims: {},
    });
    expect(tokens).toMatchObject({ accessToken: expect.any(String), expiresAtMs: expect.any(Number) });
    expect(JSON.stringify(user)).not.toContain(tokens?.accessToken);
  });

  test("uses only the claims of the ID token if they suffice", async () => {
    const authority = await startReal({ conformIdTokenClaims: false });
    expect((await signInAtReal(atReal(authority))).user).toMatchObject({
      email: "ada@example.com",
      emailVerified: true,
    });
  });

  test("reads organisations from the claim that the option names", async () => {
    const authority = await startReal();
    const provider = atReal(authority, { scopes: ["email", "groups"], organisationsClaim: "groups" });
    const { user, tokens } = await signInAtReal(provider);
    expect(user).toMatchObject({ organisations: ["staff"], claims: {} });
    expect(await provider.check?.(tokens as UpstreamTokens, user)).toEqual(user);
  });

  test("refreshes tokens, and reuse of a refresh token ends the access", async () => {
    const authority = await startReal();
    const provider = atReal(authority, { scopes: ["offline_access"], parameters: { prompt: "consent" } });
    const { tokens } = await signInAtReal(provider);
    expect(tokens?.refreshToken).toEqual(expect.any(String));
    const next = await provider.refresh?.(tokens as UpstreamTokens);
    expect(next?.accessToken).not.toBe(tokens?.accessToken);
    expect(next?.refreshToken).not.toBe(tokens?.refreshToken);
    const { reason, message } = await failureOf(provider.refresh?.(tokens as UpstreamTokens));
    expect(reason).toBe("revoked");
    expect(message).not.toContain(tokens?.refreshToken);
  });

  test("reports a wrong client secret as the author's mistake, and no error contains it", async () => {
    const authority = await startReal();
    const { reason, message } = await failureOf(
      signInAtReal(atReal(authority, { clientSecret: "wrong-secret-value" })),
    );
    expect(reason).toBe("misconfigured");
    expect(message).toContain("invalid_client");
    expect(message).not.toContain("wrong-secret-value");
  });

  test("refuses a code of another sign-in, because it has another verifier", async () => {
    const authority = await startReal();
    const provider = atReal(authority);
    const [one, two] = [await begin(provider), await begin(provider)];
    expect(await failureOf(provider.finish(await browse(one.url), two.kept))).toMatchObject({ reason: "invalid" });
  });

  test("refuses a response with the issuer of another server, or without one, before the code is sent", async () => {
    const authority = await startReal();
    const provider = atReal(authority);
    const { url, kept } = await begin(provider);
    const answer = new URL(await browse(url));
    expect(answer.searchParams.get("iss")).toBe(authority.issuer);
    answer.searchParams.set("iss", `${authority.issuer}/`);
    expect(await failureOf(provider.finish(answer.href, kept))).toMatchObject({ reason: "invalid" });
    answer.searchParams.delete("iss");
    expect(await failureOf(provider.finish(answer.href, kept))).toMatchObject({ reason: "invalid" });
    expect(authority.granted).toEqual([]);
  });
});

async function startScripted(change: (issuer: ScriptedIssuer) => unknown = () => undefined): Promise<ScriptedIssuer> {
  const issuer = await ScriptedIssuer.start();
  open.push(issuer);
  await change(issuer);
  return issuer;
}

const at = ({ origin }: ScriptedIssuer, more: Partial<OidcOptions> = {}) =>
  oidc({ issuer: origin, clientId: "client", clientSecret: "the-client-secret", ...more });

async function signIn(issuer: ScriptedIssuer, provider = at(issuer)): Promise<UpstreamSignIn> {
  const { url, kept } = await begin(provider);
  return provider.finish(issuer.visit(url), kept);
}

test("a sign-in at the scripted issuer succeeds if its responses are correct", async () => {
  const issuer = await startScripted();
  expect((await signIn(issuer)).user).toMatchObject({ subject: "ada", email: "ada@example.com", emailVerified: true });
  expect(issuer.asked.map(({ url }) => url.pathname)).toEqual([
    "/.well-known/openid-configuration",
    "/token",
    "/jwks",
    "/userinfo",
  ]);
});

describe("ID tokens", () => {
  const other = newKey("ES256", "first");
  const parts = (jwt: string) => jwt.split(".") as [string, string, string];
  test.each<[string, (issuer: ScriptedIssuer) => unknown]>([
    ["of another issuer", (issuer) => Object.assign(issuer.claims, { iss: "https://evil.example" })],
    ["whose issuer differs in a slash", (issuer) => Object.assign(issuer.claims, { iss: `${issuer.origin}/` })],
    ["for another client", (issuer) => Object.assign(issuer.claims, { aud: "another" })],
    ["for several clients, without azp", (issuer) => Object.assign(issuer.claims, { aud: ["client", "another"] })],
    ["whose azp is another client", (issuer) => Object.assign(issuer.claims, { aud: ["client"], azp: "another" })],
    ["with another nonce", (issuer) => Object.assign(issuer.claims, { nonce: "another" })],
    ["without a nonce", (issuer) => Object.assign(issuer.claims, { nonce: undefined })],
    ["that has expired", (issuer) => Object.assign(issuer.claims, { exp: Math.floor(Date.now() / 1000) - 60 })],
    ["without an expiry", (issuer) => Object.assign(issuer.claims, { exp: undefined })],
    ["without a subject", (issuer) => Object.assign(issuer.claims, { sub: undefined })],
    ["with an empty subject", (issuer) => Object.assign(issuer.claims, { sub: "" })],
    ["that is missing", (issuer) => Object.assign(issuer.answer, { id_token: undefined })],
    [
      "that is not signed",
      (issuer) => {
        issuer.change = (jwt) => `${base64url(JSON.stringify({ alg: "none" }))}.${parts(jwt)[1]}.`;
      },
    ],
    ["that names an algorithm which the metadata does not", (issuer) => Object.assign(issuer.header, { alg: "ES384" })],
    [
      "whose claims were changed",
      (issuer) => {
        issuer.change = (jwt) => {
          const [head, body, signature] = parts(jwt);
          const claims = JSON.parse(Buffer.from(body, "base64url").toString()) as object;
          return `${head}.${base64url(JSON.stringify({ ...claims, sub: "grace" }))}.${signature}`;
        };
      },
    ],
    [
      "by another key with the same id",
      async (issuer) => {
        issuer.key = { ...(await other), jwk: issuer.key.jwk };
      },
    ],
    [
      "by a key that is not published",
      (issuer) => {
        issuer.published = [];
      },
    ],
  ])("an ID token %s is refused", async (_, change) => {
    const issuer = await startScripted(change);
    expect(await failureOf(signIn(issuer))).toMatchObject({ reason: "invalid" });
  });

  test("an ID token with an HMAC whose key is the client secret is refused", async () => {
    const issuer = await startScripted();
    issuer.metadata = { id_token_signing_alg_values_supported: ["HS256"] };
    const secret = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", Buffer.from("the-client-secret"), secret, false, ["sign"]);
    const provider = at(issuer);
    const { url, kept } = await begin(provider);
    const [, body] = parts(
      await signJwt(issuer.key, {
        iss: issuer.origin,
        sub: "ada",
        aud: "client",
        nonce: kept.nonce,
        iat: 1,
        exp: 9_999_999_999,
      }),
    );
    const signed = `${base64url(JSON.stringify({ alg: "HS256", typ: "JWT" }))}.${body}`;
    const signature = base64url(await crypto.subtle.sign(secret, key, Buffer.from(signed)));
    issuer.change = () => `${signed}.${signature}`;
    expect(await failureOf(provider.finish(issuer.visit(url), kept))).toMatchObject({ reason: "invalid" });
  });
});

test("a key that the issuer has added is used after a minute, and never an unknown key", async () => {
  const issuer = await startScripted();
  const provider = at(issuer);
  await signIn(issuer, provider);
  const next = await newKey("ES256", "second");
  issuer.key = next;
  expect(await failureOf(signIn(issuer, provider))).toMatchObject({ reason: "invalid" });
  issuer.published.push(next.jwk);
  // Another isolate has no keys yet.
  expect((await signIn(issuer)).user.subject).toBe("ada");
});

describe("claims of the UserInfo endpoint", () => {
  test("are refused if they belong to another user", async () => {
    const issuer = await startScripted((each) => Object.assign(each.info, { sub: "grace" }));
    expect(await failureOf(signIn(issuer))).toMatchObject({ reason: "revoked" });
  });

  test.each([
    ["both in the ID token", { email: "a@x.example", email_verified: true }, {}, "a@x.example", true],
    [
      "the ID token has another address",
      { email: "a@x.example" },
      { email: "b@x.example", email_verified: true },
      "a@x.example",
      false,
    ],
    [
      "the same address is verified there",
      { email: "a@x.example" },
      { email: "a@x.example", email_verified: true },
      "a@x.example",
      true,
    ],
    ["the ID token verifies no address", { email_verified: true }, { email: "b@x.example" }, "b@x.example", false],
    ["only there, not verified", {}, { email: "b@x.example", email_verified: false }, "b@x.example", false],
    ["only there, verified with a string", {}, { email: "b@x.example", email_verified: "true" }, "b@x.example", true],
    ["verified by another value", {}, { email: "b@x.example", email_verified: 1 }, "b@x.example", false],
    ["no address at all", {}, { email_verified: true }, undefined, true],
  ])("an address and its verification come from the same place: %s", async (_, token, info, email, emailVerified) => {
    const issuer = await startScripted((each) => {
      each.claims = token;
      each.info = { sub: "ada", ...info };
    });
    expect((await signIn(issuer)).user).toMatchObject({ email, emailVerified });
  });

  test("make the sign-in fail if they cannot be read", async () => {
    const issuer = await startScripted((each) => each.faults.set("/userinfo", { status: 500 }));
    expect(await failureOf(signIn(issuer))).toMatchObject({ reason: "unavailable" });
  });

  test("show whether a token still works, and do not change claims that they lack", async () => {
    const issuer = await startScripted((each) => Object.assign(each.claims, { groups: ["staff"] }));
    const provider = at(issuer, { organisationsClaim: "groups" });
    const { user, tokens } = await signIn(issuer, provider);
    issuer.info = { sub: "ada", email: "new@example.com" };
    const check = () => provider.check?.(tokens as UpstreamTokens, user);
    expect(await check()).toMatchObject({ email: "new@example.com", emailVerified: false, organisations: ["staff"] });
    issuer.info = { sub: "ada", groups: [] };
    expect(await check()).toMatchObject({ email: "ada@example.com", emailVerified: true, organisations: [] });
    issuer.info = { sub: "grace" };
    expect(await failureOf(check())).toMatchObject({ reason: "revoked" });
    issuer.faults.set("/userinfo", { status: 401, headers: { "www-authenticate": "Bearer" } });
    expect(await failureOf(check())).toMatchObject({ reason: "revoked" });
    issuer.faults.set("/userinfo", { status: 403 });
    expect(await failureOf(check())).toMatchObject({ reason: "unavailable" });
  });
});

describe("responses of an OpenID provider", () => {
  test.each([
    ["with another state", { state: "another" }],
    ["with the issuer of another server", { iss: "https://evil.example" }],
    ["of the implicit flow", { id_token: "x.y.z" }],
    ["as a JWT", { response: "x.y.z" }],
    ["without a code", { code: "" }],
  ])("a response %s is refused", async (_, more) => {
    const issuer = await startScripted();
    const provider = at(issuer);
    const { url, kept } = await begin(provider);
    expect(await failureOf(provider.finish(issuer.visit(url, more), kept))).toMatchObject({ reason: "invalid" });
    expect(issuer.timesAsked("/token")).toBe(0);
  });

  test("a response without iss is refused if the metadata announces it", async () => {
    const issuer = await startScripted((each) => {
      each.metadata = { authorization_response_iss_parameter_supported: true };
    });
    expect(await failureOf(signIn(issuer))).toMatchObject({ reason: "invalid" });
  });

  test("a response of another provider that sends the browser to this one is refused (mix-up)", async () => {
    const [honest, evil] = [await startScripted(), await startScripted()];
    const [one, two] = [at(honest), at(evil, { id: "evil" })];
    const begun = await begin(one);
    const other = await begin(two);
    // The response of the other provider arrives at its own redirect URI, with what was kept for the honest one.
    expect(await failureOf(one.finish(evil.visit(other.url), begun.kept))).toMatchObject({ reason: "invalid" });
    expect(await failureOf(two.finish(honest.visit(begun.url), begun.kept))).toMatchObject({ reason: "invalid" });
    expect(honest.timesAsked("/token") + evil.timesAsked("/token")).toBe(0);
  });

  test("a response without a stored nonce is refused", async () => {
    const issuer = await startScripted();
    const provider = at(issuer);
    const { url, kept } = await begin(provider);
    const { nonce: _, ...others } = kept;
    expect(await failureOf(provider.finish(issuer.visit(url), others))).toMatchObject({ reason: "invalid" });
  });
});

describe("the provider's metadata", () => {
  test.each<[string, (issuer: ScriptedIssuer) => unknown, string]>([
    [
      "names another issuer",
      (issuer) => Object.assign(issuer.metadata, { issuer: "https://evil.example" }),
      "misconfigured",
    ],
    [
      "names the issuer with a slash",
      (issuer) => Object.assign(issuer.metadata, { issuer: `${issuer.origin}/` }),
      "misconfigured",
    ],
    [
      "is missing",
      (issuer) => issuer.faults.set("/.well-known/openid-configuration", { status: 404 }),
      "misconfigured",
    ],
    ["fails", (issuer) => issuer.faults.set("/.well-known/openid-configuration", { status: 500 }), "unavailable"],
    [
      "redirects",
      (issuer) => issuer.faults.set("/.well-known/openid-configuration", { status: 302, headers: { location: "/x" } }),
      "misconfigured",
    ],
    [
      "has an authorization endpoint that runs a script",
      (issuer) => Object.assign(issuer.metadata, { authorization_endpoint: "javascript:alert(1)" }),
      "misconfigured",
    ],
    [
      "has no authorization endpoint",
      (issuer) => Object.assign(issuer.metadata, { authorization_endpoint: undefined }),
      "misconfigured",
    ],
    [
      "has an authorization endpoint without TLS",
      (issuer) => Object.assign(issuer.metadata, { authorization_endpoint: "http://login.example/authorize" }),
      "misconfigured",
    ],
  ])("is refused if it %s", async (_, change, reason) => {
    const issuer = await startScripted(change);
    expect(await failureOf(begin(at(issuer)))).toMatchObject({ reason });
  });

  test.each(["token_endpoint", "jwks_uri", "userinfo_endpoint"])(
    "cannot make %s use plain HTTP on another host",
    async (name) => {
      const issuer = await startScripted((each) =>
        Object.assign(each.metadata, { [name]: "http://169.254.169.254/latest" }),
      );
      expect(await failureOf(signIn(issuer))).toMatchObject({ reason: "misconfigured" });
    },
  );

  test("is requested once for many sign-ins, and again after a failure", async () => {
    const issuer = await startScripted((each) => each.faults.set("/.well-known/openid-configuration", { status: 500 }));
    const provider = at(issuer);
    await failureOf(begin(provider));
    issuer.faults.clear();
    await signIn(issuer, provider);
    await signIn(issuer, provider);
    expect(issuer.timesAsked("/.well-known/openid-configuration")).toBe(2);
  });
});

test("the authorization request has state, nonce, PKCE and the author's parameters, and no secret", async () => {
  const issuer = await startScripted();
  const { url, kept } = await begin(at(issuer, { scopes: ["email"], parameters: { hd: "example.com" } }));
  expect(Object.fromEntries(new URL(url).searchParams)).toEqual({
    response_type: "code",
    client_id: "client",
    redirect_uri: CALLBACK,
    scope: "openid email",
    state: STATE,
    nonce: kept.nonce,
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: "S256",
    hd: "example.com",
  });
  for (const secret of [kept.verifier, "the-client-secret"]) expect(url).not.toContain(secret);
});

test("no error contains the code, the verifier or a token, even if the issuer repeats them", async () => {
  const issuer = await startScripted();
  const provider = at(issuer);
  const { url, kept } = await begin(provider);
  const text = `a-code ${kept.verifier} the-client-secret`;
  issuer.faults.set("/token", { status: 400, body: { error: "invalid_grant", error_description: text } });
  const { reason, message } = await failureOf(provider.finish(issuer.visit(url), kept));
  expect(reason).toBe("invalid");
  for (const secret of ["a-code", kept.verifier, "the-client-secret"]) expect(message).not.toContain(secret);
  issuer.faults.set("/token", { status: 200, body: "access_token at-secret" });
  expect((await failureOf(provider.finish(issuer.visit(url), kept))).message).not.toContain("at-secret");
});

test.each([
  ["invalid_grant", 400, "revoked"],
  ["interaction_required", 400, "revoked"],
  ["invalid_client", 401, "misconfigured"],
  ["invalid_scope", 400, "misconfigured"],
  ["temporarily_unavailable", 400, "unavailable"],
  ["temporarily_unavailable", 503, "unavailable"],
])("a refresh that is refused with %s (%s) is reported as %s", async (error, status, reason) => {
  const issuer = await startScripted();
  const provider = at(issuer);
  await begin(provider);
  issuer.faults.set("/token", { status, body: { error } });
  const tokens = { accessToken: "old", refreshToken: "a-refresh-token" };
  expect(await failureOf(provider.refresh?.(tokens))).toMatchObject({ reason });
});

test("a refresh without a new refresh token keeps the old refresh token, and its expiry", async () => {
  const issuer = await startScripted();
  const tokens = {
    accessToken: "old",
    refreshToken: "kept",
    refreshExpiresAtMs: Date.now() + 60_000,
    scopes: ["openid"],
  };
  expect(await at(issuer).refresh?.(tokens)).toEqual({
    ...tokens,
    accessToken: "at-secret",
    expiresAtMs: expect.any(Number),
  });
});

test.each([
  [{ issuer: "http://login.example.com" }, /issuer is "http:/],
  [{ issuer: undefined }, /issuer/],
  [{ clientId: "" }, /clientId is missing/],
  [{ clientSecret: undefined }, /clientSecret is not set/],
  [{ id: "a/b" }, /id is "a\/b"/],
  [{ scopes: ["a b"] }, /scopes/],
  [{ parameters: { state: "x" } }, /parameters contains "state"/],
  [{ parameters: { redirect_uri: "x" } }, /parameters contains "redirect_uri"/],
  [{ parameters: { response_mode: "form_post" } }, /parameters contains "response_mode"/],
  [{ clientid: "x" }, /has no option "clientid"/],
])("the options %o are refused", (options, text) => {
  const create = () =>
    oidc({ issuer: "https://login.example.com", clientId: "x", ...options } as unknown as OidcOptions);
  expect(create).toThrow(expect.objectContaining({ code: "options-invalid", message: expect.stringMatching(text) }));
});
