/** Attacks on the authorization server that need more than one of its parts: sealed values, redirects, races, many grants. */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";
import {
  allow,
  authorizeUrl,
  Browser,
  fieldsOf,
  leadsTo,
  newVerifier,
  postForm,
  register,
  signIn,
  visit,
} from "./authorization.ts";
import { bearer, KNOWN, outcomeOf, principalOf, refresh, setUp, statusOf, url, worker } from "./authorizing.ts";
import { ModernClient, readAnswer } from "./client.ts";
import { forge, KEYS, unseal } from "./forging.ts";

expectLogs(/^mcp-edge: authorizationServer\(\): claims returns so much that the access token has \d+ characters/);

/** The author's service, which a handler waits for. */
let onWait: () => Promise<void> = async () => undefined;
const service = createServer(async (_, response) => {
  await onWait();
  response.end();
});
await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
afterAll(() => new Promise((resolve) => service.close(resolve)));

setUp(() => `http://127.0.0.1:${(service.address() as AddressInfo).port}`, undefined, { MCP_KEYS: KEYS });

const SITE = "https://site.example/callback";
const refused = { status: 400, body: { error: "invalid_grant" } };
const revoke = (token: string) => postForm(url("/revoke"), { token, client_id: "known" });

async function codeFor(user = "ada", asked = KNOWN) {
  const code_verifier = newVerifier();
  const returned = await allow(new Browser(), authorizeUrl(worker.origin, code_verifier, asked), user);
  const { client_id, redirect_uri } = asked;
  const form = { grant_type: "authorization_code", code: returned.get("code") ?? "", client_id, redirect_uri };
  return { form: { ...form, code_verifier }, returned };
}

describe("a sealed value", () => {
  /** One value of each purpose. */
  async function values(): Promise<Map<string, string>> {
    const browser = new Browser();
    const begun = await browser.get(`${authorizeUrl(worker.origin, newVerifier(), KNOWN)}&identity_provider=people`);
    const pending = [...browser.cookies].find(([name]) => name.startsWith("mcp-edge-signin"))?.[1] ?? "";
    const { page } = await visit(browser, `${begun.headers.get("Location")}&user=ada`, "ada");
    const tokens = await signIn(worker.origin, KNOWN);
    return new Map([
      ["access token", tokens.access_token],
      ["refresh token", tokens.refresh_token],
      ["code", (await codeFor()).form.code],
      ["client id", String((await register(worker.origin)).client_id)],
      ["question", fieldsOf(page).request ?? ""],
      ["sign-in", pending],
      ["session", browser.cookies.get("mcp-edge-session") ?? ""],
    ]);
  }

  test("is refused everywhere except where it belongs: as access token, code, refresh token, client id and cookie", {
    tags: "long",
  }, async () => {
    const all = await values();
    expect([...all].filter(([, value]) => value.length < 60)).toEqual([]);
    for (const [kind, value] of all) {
      const called = await statusOf(value);
      expect([kind, "as access token", called]).toEqual([kind, "as access token", kind === "access token" ? 200 : 401]);
      const { form } = await codeFor();
      const redeemed = await postForm(url("/token"), { ...form, code: value });
      // Its own code is for another verifier.
      expect([kind, "as code", redeemed.status]).toEqual([kind, "as code", 400]);
      const refreshed = (await refresh(value)).status;
      expect([kind, "as refresh token", refreshed]).toEqual([
        kind,
        "as refresh token",
        kind === "refresh token" ? 200 : 400,
      ]);
      const asked = { client_id: value, redirect_uri: "http://127.0.0.1/callback" };
      const shown = (await outcomeOf(asked)).status;
      expect([kind, "as client", shown]).toEqual([kind, "as client", kind === "client id" ? 200 : 400]);
      const browser = new Browser();
      browser.cookies.set("mcp-edge-session", value);
      const { client } = await outcomeOf({ prompt: "none" }, { browser });
      // The user's consent is stored, so a session leads to a code.
      expect([kind, "as session", client]).toMatchObject([
        kind,
        "as session",
        kind === "session" ? { code: expect.any(String) } : { error: "login_required" },
      ]);
    }
  });

  test("is refused at another issuer, even with the same keys", async () => {
    const tokens = await signIn(worker.origin, KNOWN);
    const elsewhere = url("/token").replace("127.0.0.1", "localhost");
    const form = { grant_type: "refresh_token", refresh_token: tokens.refresh_token, client_id: "known" };
    expect(await postForm(elsewhere, form)).toMatchObject(refused);
    expect((await refresh(tokens.refresh_token)).status).toBe(200);
  });

  test("cannot be forged with the keys alone: codes, refresh tokens and access tokens also need what the user's object stores", async () => {
    const { form } = await codeFor();
    const code = await unseal("OAuth code", form.code, worker.origin);
    const forged = await forge("OAuth code", { ...code, secret: "forged" }, worker.origin);
    expect(await postForm(url("/token"), { ...form, code: forged })).toMatchObject(refused);
    const { body } = await postForm(url("/token"), form);
    const access = await unseal("OAuth access token", String(body.access_token), worker.origin);
    const used = async (changes: object) =>
      statusOf(await forge("OAuth access token", { ...access, ...changes }, worker.origin));
    expect(await used({})).toBe(200);
    expect(await used({ resource: "https://other.example/mcp" })).toBe(401);
    expect(await used({ grant: "other" })).toBe(401);
    expect(await used({ expiresAtMs: 1 })).toBe(401);
  });
});

describe("the authorization endpoint is not an open redirector (RFC 9700, 4.11.2)", () => {
  const site = async () => String((await register(worker.origin, { redirect_uris: [SITE] })).client_id);

  test.each<[string, Record<string, string | undefined>]>([
    ["a request with a mistake", { response_type: "token" }],
    ["a request that must not ask, while nobody is signed in", { prompt: "none" }],
    ["a request for scopes that the user may not grant", { scope: "admin" }],
  ])("%s of a client that anyone can register shows the host and does not redirect", async (_, asked) => {
    const { status, client, page } = await outcomeOf({ client_id: await site(), redirect_uri: SITE, ...asked });
    expect([status, client]).toEqual([400, undefined]);
    expect(leadsTo(page)).toBe("");
    expect(page).toContain("Continue to site.example");
    expect(page).toContain(`href="${SITE}?error=`);
  });

  test("it redirects to a program on the user's machine, and after the user has decided", async () => {
    const local = {
      client_id: String((await register(worker.origin)).client_id),
      redirect_uri: "http://127.0.0.1:7/callback",
    };
    expect((await outcomeOf({ ...local, response_type: "token" })).client).toMatchObject({
      error: "unsupported_response_type",
    });
    const browser = new Browser();
    const { page } = await outcomeOf({ client_id: await site(), redirect_uri: SITE }, { browser, user: "decider" });
    const answered = await browser.post(url("/authorize"), { ...fieldsOf(page), decision: "deny" });
    expect(leadsTo(await answered.text())).toContain(`${SITE}?error=access_denied`);
  });
});

describe("consent and sign-in in a browser", () => {
  test("a consent form is refused after another user has signed in with the same browser", async () => {
    const browser = new Browser();
    const { page } = await outcomeOf({ prompt: "consent" }, { browser, user: "first" });
    const secret = browser.cookies.get("mcp-edge-browser") ?? "";
    await outcomeOf({ prompt: "login" }, { browser, user: "second" });
    // Even if the browser kept the secret of its forms.
    browser.cookies.set("mcp-edge-browser", secret);
    const answered = await browser.post(url("/authorize"), { ...fieldsOf(page), decision: "allow" });
    expect([answered.status, leadsTo(await answered.text())]).toEqual([400, ""]);
  });

  test("a cookie of a session that was signed out stays useless after the next sign-in", async () => {
    const [old, next] = [new Browser(), new Browser()];
    await signIn(worker.origin, KNOWN, { browser: old, user: "returner" });
    const cookies = new Map(old.cookies);
    const { page } = await visit(old, url("/authorize/allowed"), "returner");
    await old.post(url("/authorize/allowed"), { ...fieldsOf(page), "sign-out": "1" });
    await signIn(worker.origin, KNOWN, { browser: next, user: "returner" });
    for (const [name, value] of cookies) old.cookies.set(name, value);
    expect((await outcomeOf({ prompt: "none" }, { browser: old })).client).toMatchObject({ error: "login_required" });
    expect((await outcomeOf({ prompt: "none" }, { browser: next })).client).toHaveProperty("code");
  });

  test("a sign-in is completed only with its own state", async () => {
    const browser = new Browser();
    const begun = await browser.get(`${authorizeUrl(worker.origin, newVerifier(), KNOWN)}&identity_provider=people`);
    const callback = `${begun.headers.get("Location")}&user=ada`;
    // The first character names the cookie.
    expect((await browser.get(callback.replace(/(state=.)[^&]*/, "$1x"))).status).toBe(400);
    expect((await browser.get(callback)).status).toBe(303);
  });

  test("the callback accepts only GET", async () => {
    const browser = new Browser();
    const begun = await browser.get(`${authorizeUrl(worker.origin, newVerifier(), KNOWN)}&identity_provider=people`);
    const callback = `${begun.headers.get("Location")}&user=ada`;
    expect((await browser.post(callback, {})).status).toBe(405);
    expect((await browser.get(callback)).status).toBe(303);
  });
});

test("a consent form that was sent once does not give access again, even after the user has ended the access", async () => {
  const browser = new Browser();
  const { page } = await outcomeOf({}, { browser, user: "once" });
  const form = { ...fieldsOf(page), decision: "allow" };
  const send = async () => {
    const answered = await browser.post(url("/authorize"), form);
    return leadsTo(await answered.text());
  };
  expect(await send()).toContain("code=");
  const { page: allowed } = await visit(browser, url("/authorize/allowed"), "once");
  await browser.post(url("/authorize/allowed"), { ...fieldsOf(allowed), revoke: "known" });
  expect(await send()).not.toContain("code=");
});

describe("a client's effect on others", () => {
  test("a client that is made to ask a hundred times ends no access that is in use, neither its own nor another's", {
    tags: "long",
  }, async () => {
    const [browser, user] = [new Browser(), "busy"];
    const other = await signIn(
      worker.origin,
      { client_id: "secretive", redirect_uri: "https://secretive.example/callback" },
      {
        browser,
        user,
        headers: {
          Authorization: `Basic ${btoa(`secretive:${encodeURIComponent("a secret of the secretive client")}`)}`,
        },
      },
    );
    const first = await signIn(worker.origin, KNOWN, { browser, user });
    for (let asked = 0; asked < 100; asked += 1) {
      const { client } = await outcomeOf({}, { browser, user });
      expect(client).toBeDefined();
    }
    expect([await statusOf(other.access_token), await statusOf(first.access_token)]).toEqual([200, 200]);
  });

  test("tokens of one user are refused for the grant of another", async () => {
    const [ada, eve] = [
      await signIn(worker.origin, KNOWN, { user: "ada" }),
      await signIn(worker.origin, KNOWN, { user: "eve" }),
    ];
    const [one, other] = await Promise.all(
      [ada, eve].map(({ access_token }) => unseal("OAuth access token", access_token, worker.origin)),
    );
    const mixed = await forge("OAuth access token", { ...one, grant: other?.grant }, worker.origin);
    expect(await statusOf(mixed)).toBe(401);
    await revoke(eve.refresh_token);
    expect([await statusOf(ada.access_token), await statusOf(eve.access_token)]).toEqual([200, 401]);
  });
});

describe("revocation and concurrent requests", () => {
  test("a refresh during a revocation does not bring the access back", async () => {
    const { access_token, refresh_token } = await signIn(worker.origin, KNOWN, { user: "slow" });
    // The author's function `allow` asks the service, and meanwhile the access is revoked.
    onWait = async () => {
      onWait = async () => undefined;
      await revoke(refresh_token);
    };
    expect(await refresh(refresh_token)).toMatchObject(refused);
    expect(await statusOf(access_token)).toBe(401);
    expect(await refresh(refresh_token)).toMatchObject(refused);
  });

  test("a handler that runs while its access is revoked gets no token of the identity provider", async () => {
    const { access_token, refresh_token } = await signIn(worker.origin, KNOWN, { user: "waiter" });
    onWait = async () => void (await revoke(refresh_token));
    const { text } = await readAnswer(new ModernClient(url()).call("wait", {}, { headers: bearer(access_token) }));
    expect(text).toBe("revoked");
  });

  test("a refresh token that has expired after it was replaced is refused, and the access continues", async () => {
    const day = 24 * 60 * 60_000;
    const { refresh_token } = await signIn(worker.origin, KNOWN, { user: "keeper" });
    await worker.advance(29 * day);
    const next = await refresh(refresh_token);
    const last = await refresh(String(next.body.refresh_token));
    await worker.advance(2 * day);
    expect(await refresh(refresh_token)).toMatchObject(refused);
    expect((await refresh(String(last.body.refresh_token))).status).toBe(200);
  });

  test("the same request with and without its resource causes one refresh", async () => {
    const { refresh_token } = await signIn(worker.origin, KNOWN);
    const [one, other] = [await refresh(refresh_token), await refresh(refresh_token, { resource: url() })];
    expect([other.status, other.body]).toEqual([200, one.body]);
  });
});

describe("expired data", () => {
  const DAY_MS = 24 * 60 * 60_000;
  /** The keys and the database of a user's object, after days without requests of the user. */
  async function left(user: string, begin: () => Promise<unknown>) {
    const { access_token } = await signIn(worker.origin, KNOWN, { user });
    const name = `user:${(await principalOf(access_token)).subject}`;
    await begin();
    for (let times = 0; times < 3; times += 1) await worker.advance(12 * DAY_MS);
    const { keys, tables, alarmAtMs } = await worker.storage("MCP", name);
    return { keys: Object.keys(keys), tables: Object.keys(tables), alarmAtMs };
  }

  test.each<[string, (user: string) => Promise<unknown>]>([
    ["of a user who never comes back", async () => undefined],
    ["of codes that were never used", (user) => codeFor(user)],
    ["of a sign-in without consent", (user) => outcomeOf({ prompt: "consent" }, { user })],
    [
      "of a user who has revoked everything",
      async (user) => revoke((await signIn(worker.origin, KNOWN, { user })).refresh_token),
    ],
  ])("%s leaves no rows and no database", async (what, begin) => {
    const user = what.replaceAll(" ", "-");
    expect(await left(user, () => begin(user))).toEqual({ keys: [], tables: [], alarmAtMs: undefined });
  });

  test("is deleted at once if the user revokes everything and signs out, without an alarm", async () => {
    const browser = new Browser();
    const { access_token, refresh_token } = await signIn(worker.origin, KNOWN, { user: "leaver", browser });
    const name = `user:${(await principalOf(access_token)).subject}`;
    await revoke(refresh_token);
    expect(Object.keys((await worker.storage("MCP", name)).keys)).toHaveLength(1);
    const { page } = await visit(browser, url("/authorize/allowed"), "leaver");
    await browser.post(url("/authorize/allowed"), { ...fieldsOf(page), "sign-out": "1" });
    expect(Object.keys((await worker.storage("MCP", name)).keys)).toEqual([]);
  });

  test("is not restored for a user who returns: the user is treated as new", async () => {
    await left("phoenix", async () => undefined);
    const { access_token } = await signIn(worker.origin, KNOWN, { user: "phoenix" });
    expect(await statusOf(access_token)).toBe(200);
  });
});

test("a request whose parameters become too long when they are encoded is refused, because browsers would not store them", async () => {
  const query = `&more=${"(".repeat(900)}`;
  const { status } = await new Browser().get(authorizeUrl(worker.origin, newVerifier(), KNOWN) + query);
  expect(status).toBe(400);
});

test("the names of members that every object inherits are not scopes", async () => {
  expect((await signIn(worker.origin, { ...KNOWN, scope: "read constructor toString" })).scope).toBe("read");
  expect((await outcomeOf({ scope: "constructor" })).client).not.toHaveProperty("error");
});

test("a registered client is unknown where registration is disabled", { tags: "long" }, async () => {
  const closed = await startWorker({
    entry: "test/worker/fixtures/authorization-server.ts",
    objects: { MCP: "McpObject" },
    bindings: { UPSTREAM: "http://127.0.0.1:1", CLOSED: "yes", MCP_KEYS: KEYS },
  });
  try {
    const client = { name: "Old", redirectUris: ["http://127.0.0.1/callback"], method: "none", expiresAtMs: 4e12 };
    const client_id = await forge("OAuth client", client, closed.origin);
    const asked = { client_id, redirect_uri: "http://127.0.0.1:1/callback" };
    const shown = await visit(new Browser(), authorizeUrl(closed.origin, newVerifier(), asked), "ada");
    expect(shown.status).toBe(400);
  } finally {
    await closed.stop();
  }
});

test("claims that make a token too long are reported to the author, and no token is issued", {
  tags: "long",
}, async () => {
  const verbose = await startWorker({
    entry: "test/worker/fixtures/authorization-server.ts",
    objects: { MCP: "McpObject" },
    bindings: { UPSTREAM: "http://127.0.0.1:1", CLAIMS: "20000" },
  });
  try {
    await expect(signIn(verbose.origin, KNOWN)).rejects.toThrow(/500.*server_error/);
  } finally {
    await verbose.stop();
  }
});

describe("with an issuer on this machine", () => {
  let local: TestWorker;
  beforeAll(async () => {
    local = await startWorker({
      entry: "test/worker/fixtures/authorization-server.ts",
      objects: { MCP: "McpObject" },
      bindings: { UPSTREAM: "http://127.0.0.1:1", ISSUER: "http://localhost:8787" },
    });
  });
  afterAll(() => local?.stop());

  test.each([
    ["localhost:8787", 200],
    ["evil.example:8787", 400],
    ["localhost.evil.example", 400],
  ])("a request for the host %s gets the status %i (DNS rebinding)", async (host, expected) => {
    const { hostname, port } = new URL(local.origin);
    for (const path of ["/.well-known/oauth-authorization-server", "/authorize/allowed?identity_provider=people"]) {
      const asked = request({ hostname, port, path, headers: { Host: host } });
      const answered = new Promise<number | undefined>((resolve) => {
        asked.once("response", (response) => resolve(response.resume().statusCode));
      });
      asked.end();
      // Signing in begins with a redirect.
      expect([200, 303].includes((await answered) ?? 0) ? 200 : 400).toBe(expected);
    }
  });
});

describe("behind a proxy that ends TLS and changes the host", () => {
  const ISSUER = "https://mcp.example.com";
  let inner: TestWorker;
  beforeAll(async () => {
    inner = await startWorker({
      entry: "test/worker/fixtures/authorization-server.ts",
      objects: { MCP: "McpObject" },
      bindings: { UPSTREAM: "http://127.0.0.1:1", ISSUER },
    });
  });
  afterAll(() => inner?.stop());

  /** A browser in front of the proxy: it uses only the public URLs. */
  async function send(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(inner.url(path), { redirect: "manual", ...init });
  }

  test("cookies, forms and tokens use the issuer's URL", async () => {
    const verifier = newVerifier();
    const to = new URL(authorizeUrl(ISSUER, verifier, KNOWN));
    const begun = await send(`${to.pathname}${to.search}&identity_provider=people`);
    const [pending = ""] = begun.headers.getSetCookie();
    expect(pending).toMatch(/^__Host-mcp-edge-signin-\d=.*; Secure$/);
    const callback = new URL(begun.headers.get("Location") ?? "");
    expect(callback.origin).toBe(ISSUER);
    const cookie = (from: readonly string[]) => from.map((each) => each.split(";")[0]).join("; ");
    const signed = await send(`${callback.pathname}${callback.search}&user=ada`, {
      headers: { Cookie: cookie([pending]) },
    });
    const cookies = cookie(signed.headers.getSetCookie().filter((each) => !each.includes("Max-Age=0")));
    const shown = await (await send(signed.headers.get("Location") ?? "", { headers: { Cookie: cookies } })).text();
    const answer = (origin: string) =>
      send("/authorize", {
        method: "POST",
        body: new URLSearchParams({ ...fieldsOf(shown), decision: "allow" }),
        headers: { Cookie: cookies, Origin: origin },
      });
    expect((await answer("https://evil.example")).status).toBe(403);
    const returned = new URL(leadsTo(await (await answer(ISSUER)).text()));
    expect(returned.searchParams.get("iss")).toBe(ISSUER);
    const code = returned.searchParams.get("code") ?? "";
    const form = {
      grant_type: "authorization_code",
      code,
      ...KNOWN,
      code_verifier: verifier,
      resource: `${ISSUER}/mcp`,
    };
    const { status, body } = await postForm(inner.url("/token"), form);
    expect(status).toBe(200);
    const headers = bearer(String(body.access_token));
    const called = await readAnswer(new ModernClient(inner.url("/mcp")).call("who", {}, { headers }));
    expect([called.status, JSON.parse(called.text ?? "{}").issuer]).toEqual([200, ISSUER]);
    const refusal = await new ModernClient(inner.url("/mcp")).call("who", {}, {});
    await refusal.body?.cancel();
    expect(refusal.headers.get("WWW-Authenticate")).toContain(`${ISSUER}/.well-known/oauth-protected-resource/mcp`);
  });
});
