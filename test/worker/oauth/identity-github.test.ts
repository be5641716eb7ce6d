/** Sign-in with GitHub, against a service on this machine that responds as GitHub documents it. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type GithubOptions, github } from "../../../src/authorization-server/identity/github.ts";
import type {
  IdentityProvider,
  UpstreamSignIn,
  UpstreamTokens,
} from "../../../src/authorization-server/identity/provider.ts";
import { CLIENT, GithubService } from "./github-service.ts";
import { begin, failureOf, STATE } from "./sign-in.ts";

let service: GithubService;
beforeEach(async () => {
  service = await GithubService.start();
});
afterEach(() => service[Symbol.asyncDispose]());

const CALLBACK = "https://mcp.example.com/oauth/callback/github";

function provider(more: Partial<GithubOptions> = {}): IdentityProvider {
  return github({ ...CLIENT, url: service.origin, ...more });
}

/** Follows the redirect of GitHub, as a browser does. */
async function visit(url: string): Promise<string> {
  const { headers } = await fetch(url, { redirect: "manual" });
  return headers.get("location") ?? "";
}

async function signIn(using = provider()): Promise<UpstreamSignIn> {
  const { url, kept } = await begin(using);
  return using.finish(await visit(url), kept);
}

test("the subject is the numeric id, and the address is the primary one that GitHub has verified", async () => {
  const { user, tokens } = await signIn();
  expect(user).toEqual({
    issuer: service.origin,
    subject: "583231",
    name: "The Octocat",
    email: "octocat@example.com",
    emailVerified: true,
    organisations: undefined,
    claims: { login: "octocat" },
  });
  expect(tokens).toMatchObject({ accessToken: expect.stringMatching(/^gho_/), scopes: ["user:email"] });
  expect(tokens).toMatchObject({ expiresAtMs: undefined, refreshToken: undefined });
});

test("a renamed account stays the same user, and another account with the old login is another user", async () => {
  const before = await signIn();
  service.user = { ...service.user, login: "renamed" };
  expect((await signIn()).user.subject).toBe(before.user.subject);
  service.user = { ...service.user, id: 1, login: "octocat" };
  expect((await signIn()).user.subject).not.toBe(before.user.subject);
});

test.each([
  ["unverified", [{ email: "octocat@example.com", primary: true, verified: false }]],
  ["not the primary one", [{ email: "octocat@example.com", primary: false, verified: true }]],
  ["verified with a string", [{ email: "octocat@example.com", primary: true, verified: "true" }]],
  ["missing", []],
  ["not a list", { email: "octocat@example.com", primary: true, verified: true }],
])("an address that is %s is refused", async (_, emails) => {
  service.emails = emails;
  expect((await signIn()).user).toMatchObject({ email: undefined, emailVerified: false });
});

test("without the scope for addresses there is no address, not even the address of the profile", async () => {
  const { user } = await signIn(provider({ scopes: ["read:user"] }));
  expect(user).toMatchObject({ email: undefined, emailVerified: false });
});

describe("the organisations of a GitHub user", () => {
  test("are those with active memberships, by login and by id", async () => {
    const { user } = await signIn(provider({ organisations: true }));
    expect(user.organisations).toEqual(["acme", "id:9919"]);
  });

  test("are read from every page", async () => {
    service.memberships = Array.from({ length: 201 }, (_, id) => ({
      state: "active",
      organization: { login: `org-${id}`, id },
    }));
    const { user } = await signIn(provider({ organisations: true }));
    expect(user.organisations).toHaveLength(402);
    expect(user.organisations).toContain("id:200");
  });

  test("are empty if the token does not permit reading them", async () => {
    const { user } = await signIn(provider({ organisations: true, scopes: ["user:email"] }));
    expect(user.organisations).toEqual([]);
  });

  test("are not requested unless the option says so", async () => {
    await signIn();
    expect(service.timesAsked("/api/v3/user/memberships/orgs")).toBe(0);
  });
});

describe("the authorization request", () => {
  test("has the state, the redirect URI, the scopes and a PKCE challenge, and no secret", async () => {
    const { url, kept } = await begin(provider({ organisations: true }));
    const { origin, pathname, searchParams } = new URL(url);
    expect(origin + pathname).toBe(`${service.origin}/login/oauth/authorize`);
    expect(Object.fromEntries(searchParams)).toEqual({
      client_id: CLIENT.clientId,
      redirect_uri: CALLBACK,
      scope: "user:email read:org",
      state: STATE,
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: "S256",
    });
    expect(url).not.toContain(kept.verifier);
    expect(url).not.toContain(CLIENT.clientSecret);
  });

  test("goes to github.com and its API unless the options name another server", async () => {
    const { url } = await begin(github(CLIENT));
    expect(url).toMatch(/^https:\/\/github\.com\/login\/oauth\/authorize\?/);
  });

  test("has a different verifier for each sign-in", async () => {
    const [one, two] = await Promise.all([1, 2].map(() => begin(provider())));
    expect(one?.kept.verifier).not.toBe(two?.kept.verifier);
  });
});

describe("responses of GitHub", () => {
  test.each([
    ["with another state", (url: URL) => url.searchParams.set("state", "another"), /"state"/],
    ["without a state", (url: URL) => url.searchParams.delete("state"), /"state"/],
    ["with two states", (url: URL) => url.searchParams.append("state", STATE), /"state"/],
    ["without a code", (url: URL) => url.searchParams.delete("code"), /no code/],
    ["with the issuer of another server", (url: URL) => url.searchParams.set("iss", "https://evil.example"), /"iss"/],
    [
      "at the URL of another provider",
      (url: URL) => Object.assign(url, { pathname: "/oauth/callback/oidc" }),
      /another URL/,
    ],
    ["at another host", (url: URL) => Object.assign(url, { host: "other.example.com" }), /another URL/],
  ])("a response %s is refused", async (_, change, text) => {
    const using = provider();
    const { url, kept } = await begin(using);
    const answer = new URL(await visit(url));
    change(answer);
    const { reason, message } = await failureOf(using.finish(answer.href, kept));
    expect(reason).toBe("invalid");
    expect(message).toMatch(text);
    expect(service.timesAsked("/login/oauth/access_token")).toBe(0);
  });

  test("a response for a sign-in that was begun at another provider or in another browser is refused", async () => {
    const using = provider();
    const one = await begin(using);
    const answer = await visit(one.url);
    expect(await failureOf(using.finish(answer, { ...one.kept, issuer: "https://other.example" }))).toMatchObject({
      reason: "invalid",
    });
    expect(await failureOf(using.finish(answer, {}))).toMatchObject({ reason: "invalid" });
    const two = await begin(using);
    // The same state, but another code verifier.
    expect(await failureOf(using.finish(answer, two.kept))).toMatchObject({ reason: "invalid" });
  });

  test("a response that is used a second time is refused", async () => {
    const using = provider();
    const { url, kept } = await begin(using);
    const answer = await visit(url);
    await using.finish(answer, kept);
    expect(await failureOf(using.finish(answer, kept))).toMatchObject({ reason: "invalid" });
  });
});

test.each([
  ["access_denied", "denied"],
  ["application_suspended", "misconfigured"],
  ["redirect_uri_mismatch", "misconfigured"],
  ["temporarily_unavailable", "unavailable"],
])("the error %s of the authorization request is reported as %s", async (error, reason) => {
  const using = provider();
  const { kept } = await begin(using);
  const answer = `${CALLBACK}?${new URLSearchParams({ error, state: STATE, error_description: "line\u202ebreak" })}`;
  const failure = await failureOf(using.finish(answer, kept));
  expect(failure.reason).toBe(reason);
  expect(failure.message).not.toContain("\u202e");
});

test("a wrong client secret is reported as the author's mistake, and no error contains it", async () => {
  const { reason, message } = await failureOf(signIn(provider({ clientSecret: "a-wrong-secret-value" })));
  expect(reason).toBe("misconfigured");
  expect(message).toContain("incorrect_client_credentials");
  expect(message).not.toContain("a-wrong-secret-value");
});

describe("tokens of a GitHub App", () => {
  beforeEach(() => {
    service.expires = true;
  });

  test("expire, and are replaced by a refresh", async () => {
    const using = provider();
    const { tokens } = await signIn(using);
    expect(tokens?.expiresAtMs).toBeGreaterThan(Date.now() + 28_000_000);
    expect(tokens?.refreshExpiresAtMs).toBeGreaterThan(Date.now() + 15_000_000_000);
    const next = await using.refresh?.(tokens as UpstreamTokens);
    expect(next?.accessToken).not.toBe(tokens?.accessToken);
    expect(next?.refreshToken).not.toBe(tokens?.refreshToken);
    // The first refresh token works once.
    expect(await failureOf(using.refresh?.(tokens as UpstreamTokens))).toMatchObject({ reason: "revoked" });
  });

  test("cannot be refreshed after the user has revoked the access", async () => {
    const using = provider();
    const { tokens } = await signIn(using);
    service.revoke();
    const { reason, message } = await failureOf(using.refresh?.(tokens as UpstreamTokens));
    expect(reason).toBe("revoked");
    expect(message).not.toContain(tokens?.refreshToken);
  });

  test("are not refreshed with an expired refresh token", async () => {
    const using = provider();
    const { tokens } = await signIn(using);
    const before = service.asked.length;
    const expired = { ...(tokens as UpstreamTokens), refreshExpiresAtMs: Date.now() - 1 };
    expect(await failureOf(using.refresh?.(expired))).toMatchObject({ reason: "revoked" });
    expect(service.asked).toHaveLength(before);
  });

  test.each([
    [500, "unavailable"],
    [502, "unavailable"],
    [429, "unavailable"],
  ])("stay valid if GitHub responds to a refresh with %s", async (status, reason) => {
    const using = provider();
    const { tokens } = await signIn(using);
    service.faults.set("/login/oauth/access_token", { status, body: "<h1>Unicorn</h1>" });
    expect(await failureOf(using.refresh?.(tokens as UpstreamTokens))).toMatchObject({ reason });
  });

  test("stay valid if GitHub cannot be reached", async () => {
    const using = provider();
    const { tokens } = await signIn(using);
    await service[Symbol.asyncDispose]();
    expect(await failureOf(using.refresh?.(tokens as UpstreamTokens))).toMatchObject({ reason: "unavailable" });
    service = await GithubService.start();
  });
});

describe("tokens of an OAuth app, which do not expire", () => {
  test("cannot be refreshed", async () => {
    const using = provider();
    const { tokens } = await signIn(using);
    expect(await failureOf(using.refresh?.(tokens as UpstreamTokens))).toMatchObject({ reason: "revoked" });
  });

  test("are checked, and the user is read again", async () => {
    const using = provider({ organisations: true });
    const { user, tokens } = await signIn(using);
    service.memberships = [];
    expect(await using.check?.(tokens as UpstreamTokens, user)).toMatchObject({
      subject: user.subject,
      organisations: [],
    });
  });

  test("are revoked if GitHub no longer accepts them, or if they belong to another user", async () => {
    const using = provider();
    const { user, tokens } = await signIn(using);
    const check = () => failureOf(using.check?.(tokens as UpstreamTokens, user));
    service.user = { ...service.user, id: 2 };
    expect(await check()).toMatchObject({ reason: "revoked" });
    service.revoke();
    expect(await check()).toMatchObject({ reason: "revoked" });
  });

  test.each([
    ["/api/v3/user", { status: 403, body: { message: "API rate limit exceeded for user ID 583231." } }],
    ["/api/v3/user", { status: 403, body: { message: "Sorry. Your account was suspended." } }],
    ["/api/v3/user", { status: 404, body: { message: "Not Found" } }],
    ["/api/v3/user", { status: 200, body: "<html>" }],
    ["/api/v3/user", { status: 200, body: { id: "583231", login: "octocat" } }],
    ["/api/v3/user", { status: 301, headers: { location: "https://evil.example/" } }],
    ["/api/v3/user/emails", { status: 403, body: { message: "You have exceeded a secondary rate limit." } }],
    ["/api/v3/user/emails", { status: 503, body: {} }],
    ["/api/v3/user/emails", { status: 429, body: {} }],
  ])("are kept if %s cannot be read (%o, %#)", async (path, fault) => {
    const using = provider();
    const { user, tokens } = await signIn(using);
    service.faults.set(path, fault);
    expect(await failureOf(using.check?.(tokens as UpstreamTokens, user))).toMatchObject({ reason: "unavailable" });
  });
});

test("a response that does not end is cut off", async () => {
  const using = provider();
  const { user, tokens } = await signIn(using);
  service.faults.set("/api/v3/user", { status: 200, body: { id: 1, filler: "x".repeat(300_000) } });
  expect(await failureOf(using.check?.(tokens as UpstreamTokens, user))).toMatchObject({ reason: "unavailable" });
});

test.each([
  [{ clientId: "" }, /clientId is missing/],
  [{ clientSecret: "" }, /clientSecret is not set/],
  [{ clientSecret: undefined }, /clientSecret is not set/],
  [{ id: "Git Hub" }, /id is "Git Hub"/],
  [{ id: "../x" }, /id is/],
  [{ scopes: ["user:email read:org"] }, /scopes/],
  [{ scopes: "user:email" }, /scopes/],
  [{ url: "http://github.example.com" }, /url is "http:\/\/github\.example\.com"/],
  [{ apiUrl: "ftp://github.example.com" }, /apiUrl/],
  [{ scope: ["user:email"] }, /has no option "scope"\. Did you mean "scopes"/],
])("the options %o are refused", (options, text) => {
  const create = () => github({ ...CLIENT, ...options } as unknown as GithubOptions);
  expect(create).toThrow(expect.objectContaining({ code: "options-invalid", message: expect.stringMatching(text) }));
});
