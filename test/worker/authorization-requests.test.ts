// @module-tag long
/** Authorization requests on workerd: what is refused, and how. */
import { describe, expect, test } from "vitest";
import {
  type Asked,
  allow,
  authorizeUrl,
  Browser,
  fieldsOf,
  leadsTo,
  newVerifier,
  register,
  signIn,
  visit,
} from "./authorization.ts";
import { KNOWN, outcomeOf, setUp, statusOf, url, worker } from "./authorizing.ts";

setUp();

const REDIRECT = "https://known.example/callback";

describe("a request that cannot be trusted", () => {
  test.each<[string, Partial<Asked>, string?]>([
    ["an unknown client", { client_id: "unknown" }],
    ["no client", { client_id: undefined as never }],
    ["two clients", {}, "&client_id=known"],
    ["no redirect URI", { redirect_uri: undefined as never }],
    ["two redirect URIs", {}, `&redirect_uri=${REDIRECT}`],
    ["another host", { redirect_uri: "https://evil.example/callback" }],
    ["a subdomain", { redirect_uri: "https://evil.known.example/callback" }],
    ["another scheme", { redirect_uri: "http://known.example/callback" }],
    ["another port", { redirect_uri: "https://known.example:8443/callback" }],
    ["a longer path", { redirect_uri: `${REDIRECT}/more` }],
    ["a path with .. segments", { redirect_uri: "https://known.example/other/../callback" }],
    ["an encoded path", { redirect_uri: "https://known.example/%63allback" }],
    ["another case", { redirect_uri: "https://KNOWN.example/callback" }],
    ["a query", { redirect_uri: `${REDIRECT}?next=evil` }],
    ["a fragment", { redirect_uri: `${REDIRECT}#` }],
    ["a user name", { redirect_uri: "https://known.example@evil.example/callback" }],
    ["a script", { redirect_uri: "javascript:alert(1)" }],
    ["more than 2,400 characters", { state: "s".repeat(2_400) }],
  ])("gets a page and no redirect if it has %s", async (_, asked, query = "") => {
    const { status, client, page } = await outcomeOf(asked, { query });
    expect([status, client]).toEqual([400, undefined]);
    expect(page).not.toContain("evil");
  });
});

describe("a request with a mistake", () => {
  test.each<[string, Partial<Asked>, string, string?]>([
    ["the implicit flow", { response_type: "token" }, "unsupported_response_type"],
    ["no response type", { response_type: undefined }, "unsupported_response_type"],
    ["no challenge", { code_challenge: undefined }, "invalid_request"],
    ["the method plain", { code_challenge_method: "plain" }, "invalid_request"],
    ["no method, which means plain", { code_challenge_method: undefined }, "invalid_request"],
    ["an unknown method", { code_challenge_method: "S512" }, "invalid_request"],
    ["a challenge that is not a hash", { code_challenge: "short" }, "invalid_request"],
    ["an answer in the fragment", { response_mode: "fragment" }, "invalid_request"],
    ["a request object", { request: "e30" }, "request_not_supported"],
    ["the URL of a request object", { request_uri: "https://known.example/request" }, "request_uri_not_supported"],
    ["another resource", { resource: "https://other.example/mcp" }, "invalid_target"],
    ["a resource with a fragment", { resource: "#" }, "invalid_target"],
    ["scopes with wrong characters", { scope: 'read "write"' }, "invalid_scope"],
    ["a thumbprint of the wrong form", { dpop_jkt: "key" }, "invalid_request"],
    ["a parameter that occurs twice", {}, "invalid_request", "&scope=read&scope=write"],
    ["prompt=none, while no user is signed in", { prompt: "none" }, "login_required"],
    ["only scopes that the user may not grant", { scope: "admin" }, "invalid_scope"],
  ])("is refused at the redirect URI, with state and iss: %s", async (_, asked, error, query = "") => {
    const { client } = await outcomeOf(asked, { query });
    expect(client).toEqual({ error, error_description: expect.any(String), state: "state", iss: worker.origin });
  });
});

describe("the redirect URI of a program on the user's machine", () => {
  test.each<[string, string, number]>([
    ["with any port", "http://127.0.0.1:51234/callback", 200],
    ["without a port", "http://127.0.0.1/callback", 200],
    ["with another name", "http://localhost:51234/callback", 400],
    ["with another address", "http://127.0.0.2:51234/callback", 400],
    ["with another path", "http://127.0.0.1:51234/other", 400],
    ["with a query", "http://127.0.0.1:51234/callback?x=1", 400],
    ["with https", "https://127.0.0.1:51234/callback", 400],
    ["that is the user name of another host", "http://127.0.0.1:80@evil.example/callback", 400],
    ["that is the beginning of another host", "http://127.0.0.1.evil.example/callback", 400],
    ["with an invalid port", "http://127.0.0.1:99999/callback", 400],
  ])("%s (%s) causes %i", async (_, redirect_uri, expected) => {
    const { client_id } = await register(worker.origin);
    const { status } = await outcomeOf({ client_id: String(client_id), redirect_uri });
    expect(status).toBe(expected);
  });
});

describe("consent", () => {
  test("is asked for once for an https client, and each time for a program on the machine", async () => {
    const browser = new Browser();
    await signIn(worker.origin, KNOWN, { browser, user: "grace" });
    expect((await outcomeOf({}, { browser, user: "grace" })).client?.code).toEqual(expect.any(String));
    expect((await outcomeOf({ prompt: "none" }, { browser })).client?.code).toEqual(expect.any(String));
    expect((await outcomeOf({ prompt: "consent" }, { browser })).status).toBe(200);
    const { client_id } = await register(worker.origin);
    const local = { client_id: String(client_id), redirect_uri: "http://127.0.0.1:1/callback" };
    await signIn(worker.origin, local, { browser, user: "grace" });
    expect((await outcomeOf(local, { browser })).client).toBeUndefined();
    expect((await outcomeOf({ ...local, prompt: "none" }, { browser })).client).toMatchObject({
      error: "consent_required",
    });
  });

  test("is asked for again if the client requests more scopes", async () => {
    const browser = new Browser();
    await signIn(worker.origin, { ...KNOWN, scope: "read" }, { browser, user: "hedy" });
    const more = await outcomeOf({ scope: "read write" }, { browser });
    expect([more.status, more.client]).toEqual([200, undefined]);
  });

  test("is reported to the client if it is denied, and no grant is stored", async () => {
    const browser = new Browser();
    const { page } = await outcomeOf({}, { browser, user: "denier" });
    const answered = await browser.post(url("/authorize"), { ...fieldsOf(page), decision: "deny" });
    const to = new URL(leadsTo(await answered.text()));
    expect(Object.fromEntries(to.searchParams)).toEqual({
      error: "access_denied",
      error_description: expect.any(String),
      state: "state",
      iss: worker.origin,
    });
    expect((await outcomeOf({}, { browser })).client).toBeUndefined();
  });

  test("can grant only scopes that the user may grant", async () => {
    const scope = async (user: string) =>
      (await signIn(worker.origin, { ...KNOWN, scope: "read admin" }, { user })).scope;
    expect([await scope("boss"), await scope("clerk")]).toEqual(["read admin", "read"]);
  });

  test("grants the required scopes to a client that requests none, and ignores unknown ones", async () => {
    expect((await signIn(worker.origin, KNOWN)).scope).toBe("read");
    expect((await signIn(worker.origin, { ...KNOWN, scope: "offline_access write" })).scope).toBe("write");
  });
});

describe("forged forms and responses", () => {
  const ask = async (user: string) => {
    const browser = new Browser();
    const { page } = await outcomeOf({}, { browser, user });
    const fields: Record<string, string> = { ...fieldsOf(page), decision: "allow" };
    return { browser, fields };
  };

  test.each<[string, Record<string, string>]>([
    ["of another site", { Origin: "https://evil.example", "Sec-Fetch-Site": "cross-site" }],
    ["of another site, without its name", { Origin: "null" }],
    ["of a subdomain", { "Sec-Fetch-Site": "same-site" }],
  ])("a form %s is refused (CSRF)", async (_, headers) => {
    const { browser, fields } = await ask("ada");
    const answered = await browser.post(url("/authorize"), fields, headers);
    expect(answered.status).toBe(403);
    expect(leadsTo(await answered.text())).toBe("");
  });

  test("the form of one user is refused in the browser of another, and without cookies", async () => {
    const mallory = await ask("mallory");
    const ada = await ask("ada");
    for (const browser of [ada.browser, new Browser()]) {
      const answered = await browser.post(url("/authorize"), mallory.fields);
      expect(answered.status).toBe(403);
    }
    const mixed = { ...ada.fields, request: mallory.fields.request ?? "" };
    expect((await ada.browser.post(url("/authorize"), mixed)).status).toBe(403);
  });

  test("a form is refused after the user has signed out, and when it is too old", async () => {
    const first = await ask("leaver");
    const page = await (await first.browser.get(url("/authorize/allowed"))).text();
    const kept = new Map(first.browser.cookies);
    await first.browser.post(url("/authorize/allowed"), { ...fieldsOf(page), "sign-out": "1" });
    for (const [name, value] of kept) first.browser.cookies.set(name, value);
    expect((await first.browser.post(url("/authorize"), first.fields)).status).toBe(400);
    const second = await ask("late");
    await worker.advance(11 * 60_000);
    expect((await second.browser.post(url("/authorize"), second.fields)).status).toBe(400);
  });

  test("a browser cannot be signed in with the response that another browser got (login CSRF)", async () => {
    const mallory = new Browser();
    const to = authorizeUrl(worker.origin, newVerifier(), KNOWN);
    const begun = await mallory.get(`${to}&identity_provider=people`);
    const callback = `${begun.headers.get("Location")}&user=mallory`;
    const ada = new Browser();
    const answered = await ada.get(callback);
    expect([answered.status, ada.cookies.size]).toEqual([400, 0]);
    expect((await mallory.get(callback)).status).toBe(303);
  });

  test("the response of one identity provider is not accepted as another provider's (mix-up)", async () => {
    const browser = new Browser();
    const to = authorizeUrl(worker.origin, newVerifier(), KNOWN);
    const begun = await browser.get(`${to}&identity_provider=people`);
    const callback = `${begun.headers.get("Location")}&user=ada`.replace("/people", "/accounts");
    expect((await browser.get(callback)).status).toBe(400);
  });

  test("a sign-in works once, and not after ten minutes", async () => {
    const begin = async (browser: Browser) => {
      const begun = await browser.get(`${authorizeUrl(worker.origin, newVerifier(), KNOWN)}&identity_provider=people`);
      return `${begun.headers.get("Location")}&user=ada`;
    };
    const browser = new Browser();
    const callback = await begin(browser);
    expect((await browser.get(callback)).status).toBe(303);
    expect((await browser.get(callback)).status).toBe(400);
    const another = new Browser();
    const late = await begin(another);
    await worker.advance(11 * 60_000);
    expect((await another.get(late)).status).toBe(400);
  });

  test("a user who is not admitted gets a page, no session and no object", async () => {
    const browser = new Browser();
    const before = (await worker.objects("MCP", "user")).length;
    const { status, page } = await outcomeOf({}, { browser, user: "banned" });
    expect([status, [...browser.cookies.keys()].filter((name) => name.includes("session"))]).toEqual([403, []]);
    expect(page).toContain("banned@example.com");
    expect((await worker.objects("MCP", "user")).length).toBe(before);
  });
});

describe("the page of allowed clients", () => {
  test("lists the clients that have access, and revokes access at once", async () => {
    const browser = new Browser();
    const tokens = await signIn(worker.origin, KNOWN, { browser, user: "lister" });
    const other = await signIn(worker.origin, KNOWN, { user: "other" });
    const shown = await visit(browser, url("/authorize/allowed"), "lister");
    expect(shown.page).toContain("Known");
    const fields = fieldsOf(shown.page);
    const foreign = { Origin: "https://evil.example" };
    expect((await browser.post(url("/authorize/allowed"), { ...fields, revoke: "known" }, foreign)).status).toBe(403);
    expect(await statusOf(tokens.access_token)).toBe(200);
    expect((await browser.post(url("/authorize/allowed"), { ...fields, revoke: "known" })).status).toBe(303);
    expect([await statusOf(tokens.access_token), await statusOf(other.access_token)]).toEqual([401, 200]);
    expect((await visit(browser, url("/authorize/allowed"), "lister")).page).not.toContain("Known");
  });

  test("signs the user out of all browsers, and clients keep their access", async () => {
    const [one, two] = [new Browser(), new Browser()];
    const tokens = await signIn(worker.origin, KNOWN, { browser: one, user: "roamer" });
    await allow(two, authorizeUrl(worker.origin, newVerifier(), KNOWN), "roamer");
    const fields = fieldsOf((await visit(one, url("/authorize/allowed"), "roamer")).page);
    expect((await one.post(url("/authorize/allowed"), { ...fields, "sign-out": "1" })).status).toBe(200);
    for (const browser of [one, two]) {
      expect((await outcomeOf({ prompt: "none" }, { browser })).client).toMatchObject({ error: "login_required" });
    }
    expect(await statusOf(tokens.access_token)).toBe(200);
  });
});
