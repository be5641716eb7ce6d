/** Faults that a review of assertions found, on workerd. */
import { describe, expect, test } from "vitest";
import { newKey } from "../harness/issuer.ts";
import { expectLogs } from "../harness/logs.ts";
import { proofOf, thumbprint } from "../harness/proofs.ts";
import type { Members } from "../http/messages.ts";
import { type Asked, authorizeUrl, Browser, fieldsOf, newVerifier, postForm, signIn, visit } from "./authorization.ts";
import { ModernClient, readAnswer } from "./client.ts";
import { AGENT, acme, exchange, globex, OTHER, setUp, worker } from "./companies.ts";

expectLogs(
  /a request to \/token failed KitError: .* has jwks, but users sign in at it interactively/,
  /^mcp-edge: enterprise\(\): an assertion of "__proto__" was refused: the issuer is not trusted$/,
  // The name contains a line break.
  /^mcp-edge: enterprise\(\): an assertion of "https:\/\/a\.example\/\\n" was refused: the issuer is not trusted$/,
  /^mcp-edge: enterprise\(\): an assertion of "\S+" was refused: the issuer is not trusted$/,
);

setUp(() => ({
  companies: [
    { issuer: acme.url, organisationsClaim: "groups", allow: { anyone: true } },
    { issuer: acme.url, tenant: "north", organisationsClaim: "groups", allow: { anyone: true } },
    { issuer: acme.url, tenant: "south", organisationsClaim: "groups", allow: { anyone: true } },
    { issuer: acme.url, audienceTenant: "first", allow: { anyone: true } },
    { issuer: acme.url, audienceTenant: "second", allow: { anyone: true } },
    { issuer: acme.url, audienceTenant: "keys", allow: { anyone: true }, jwks: { keys: [globex.key.jwk] } },
    { issuer: globex.url, allow: { anyone: true } },
  ],
  more: { people: acme.url, naive: true, vip: [{ issuer: acme.url, tenant: "north", name: "admins" }] },
}));

const bearer = (token: unknown) => ({ authorization: `Bearer ${String(token)}` });

async function call(token: unknown, tool = "who") {
  const headers = bearer(token);
  const { status, text } = await readAnswer(new ModernClient(worker.url("/mcp")).call(tool, {}, { headers }));
  return { status, text };
}

async function principalOf(token: unknown): Promise<Members> {
  return JSON.parse((await call(token)).text ?? "{}") as Members;
}

/** Returns the access token for an assertion. */
async function tokenFor(claims: Members = {}, headers = AGENT): Promise<string> {
  const { status, body } = await exchange(worker, await acme.assert(worker, claims), {}, headers);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return String(body.access_token);
}

/** Changes what the operator trusts. */
async function operate(what: Members): Promise<void> {
  await fetch(worker.url("/operator"), { method: "POST", body: JSON.stringify(what) });
}

const AGENT_CLIENT: Asked = { client_id: "agent", redirect_uri: "https://agent.example/callback" };
const ALLOWED = "/authorize/allowed";

/** Revokes a client on the page where a user sees the allowed clients. Returns the page as it was before. */
async function revokeOnPage(browser: Browser, user: string, client: string): Promise<string> {
  const { page } = await visit(browser, worker.url(ALLOWED), user);
  await browser.post(worker.url(ALLOWED), { ...fieldsOf(page), revoke: client });
  return page;
}

describe("organisations", () => {
  test("of this server have separate access: removing one of them ends its tokens, and no others", async () => {
    const first = await tokenFor({ sub: "two", aud_tenant: "first" });
    const second = await tokenFor({ sub: "two", aud_tenant: "second" });
    await operate({ remove: `${acme.url} first` });
    expect([(await call(first)).status, (await call(second)).status]).toEqual([401, 200]);
    await operate({ restore: `${acme.url} first`, remove: `${acme.url} second` });
    expect([(await call(first)).status, (await call(second)).status]).toEqual([200, 401]);
    await operate({ restore: `${acme.url} second` });
  });

  test("at an issuer have separate access: removing one of them ends its tokens, and no others", async () => {
    const tenants = [{ tenant: "north" }, { tenant: "south" }, {}];
    const tokens = await Promise.all(tenants.map((each) => tokenFor({ sub: "three", ...each })));
    const statuses = async () => Promise.all(tokens.map(async (token) => (await call(token)).status));
    await operate({ remove: `${acme.url} at north` });
    expect(await statuses()).toEqual([401, 200, 200]);
    await operate({ restore: `${acme.url} at north`, remove: `${acme.url} at undefined` });
    expect(await statuses()).toEqual([200, 200, 401]);
    await operate({ restore: `${acme.url} at undefined` });
  });

  test("are in the default claims, so that handlers can tell them apart", async () => {
    const identityOf = async (claims: Members) => (await principalOf(await tokenFor(claims))).claims;
    const issuer = acme.url;
    expect(await identityOf({ aud_tenant: "first" })).toMatchObject({
      identity: { issuer, subject: "ada", audienceTenant: "first" },
    });
    expect(await identityOf({ tenant: "north" })).toMatchObject({
      identity: { issuer, subject: "ada", tenant: "north" },
    });
  });

  test("at an issuer have separate subjects, whatever a subject looks like", async () => {
    const [organised, plain] = [
      await principalOf(await tokenFor({ tenant: "north", sub: "ada" })),
      await principalOf(await tokenFor({ sub: '["north","ada"]' })),
    ];
    expect(organised.subject).not.toBe(plain.subject);
  });

  test("at an issuer have separate groups: a rule for one does not match another, nor the issuer itself", async () => {
    const scopesOf = async (claims: Members) => {
      const assertion = await acme.assert(worker, { scope: "read vip", groups: ["admins"], ...claims });
      return (await exchange(worker, assertion)).body.scope;
    };
    expect(await scopesOf({ tenant: "north" })).toBe("read vip");
    expect(await scopesOf({ tenant: "south" })).toBe("read");
    expect(await scopesOf({})).toBe("read");
  });
});

describe("the consent of a user", () => {
  test("is not given by an assertion: an authorization request asks, also a silent one", async () => {
    const browser = new Browser();
    const { subject } = await principalOf(await tokenFor({ sub: "asked" }));
    // The company has the host to which the client returns, so that the two would look the same.
    const company = { issuer: "https://agent.example" };
    const client = { id: "agent", name: "Agent", isVerified: true };
    const untilMs = Date.now() + 600_000;
    const access = { id: "id", attempt: "first", untilMs, client, scopes: ["read", "write"], issuer: company };
    expect(await callUser(String(subject), "admit", [[access]])).toEqual([{ grant: expect.any(String) }]);
    const ask = { ...AGENT_CLIENT, scope: "read write" };
    const shown = await visit(browser, authorizeUrl(worker.origin, newVerifier(), ask), "asked");
    expect(shown).toMatchObject({ status: 200, page: expect.stringContaining("Write notes") });
    expect(new URL(shown.url).origin).toBe(worker.origin);
    const silent = await browser.get(authorizeUrl(worker.origin, newVerifier(), { ...ask, prompt: "none" }));
    expect(silent.headers.get("Location")).toContain("error=consent_required");
  });
});

describe("the decision of a user against a client", () => {
  const denied = /^The user has revoked the access of this client/;

  test("counts also if no company has given it access yet", async () => {
    const browser = new Browser();
    await signIn(worker.origin, AGENT_CLIENT, { user: "early", headers: AGENT, browser });
    expect(await revokeOnPage(browser, "early", "agent")).toContain("Agent");
    const { status, body } = await exchange(worker, await acme.assert(worker, { sub: "early" }));
    expect({ status, text: body.error_description }).toEqual({ status: 400, text: expect.stringMatching(denied) });
  });
});

test("the page shows the access of all tokens that still work, not only that of the last assertion", async () => {
  const broad = await tokenFor({ sub: "narrow", scope: "read write" });
  const narrow = await tokenFor({ sub: "narrow", scope: "read" });
  const browser = new Browser();
  const { page } = await visit(browser, worker.url(ALLOWED), "narrow");
  expect(page).toContain("Write notes");
  expect((await call(broad, "write")).text).toBe("written");
  // One decision ends both.
  await revokeOnPage(browser, "narrow", "agent");
  expect([(await call(broad)).status, (await call(narrow)).status]).toEqual([401, 401]);
});

test("a policy with fewer scopes ends tokens with more, and the client gets a new one at once", async () => {
  const token = await tokenFor({ sub: "policy" });
  await operate({ change: { issuer: acme.url, scopes: ["read"] } });
  expect((await call(token)).status).toBe(401);
  expect((await call(await tokenFor({ sub: "policy" }))).status).toBe(200);
  await operate({ change: { issuer: acme.url } });
});

test("keys from a policy are refused for an issuer at which users sign in interactively", async () => {
  const assertion = await globex.assert(worker, { iss: acme.url, aud_tenant: "keys", sub: "victim" });
  const { status, body } = await exchange(worker, assertion);
  expect({ status, error: body.error }).toEqual({ status: 500, error: "server_error" });
});

describe("an assertion that is refused creates no object for the key of its proof", () => {
  const prove = async (assertion: string) => {
    const key = await newKey("ES256", undefined);
    const DPoP = await proofOf(key, "", worker.url("/token"), { ath: undefined, jti: crypto.randomUUID() });
    return (await exchange(worker, assertion, {}, { ...AGENT, DPoP })).body.error_description;
  };

  test("because it was used", async () => {
    const assertion = await acme.assert(worker, { sub: "proof" });
    expect((await exchange(worker, assertion)).status).toBe(200);
    const before = (await worker.objects("McpObject")).length;
    for (let times = 0; times < 3; times += 1) expect(await prove(assertion)).toBe("The assertion was used before.");
    expect(await worker.objects("McpObject")).toHaveLength(before);
  });

  test("because it is bound to another key", async () => {
    const jkt = await thumbprint(await newKey("ES256", undefined));
    const assertion = await acme.assert(worker, { sub: "bound", cnf: { jkt } });
    const before = (await worker.objects("McpObject")).length;
    expect(await prove(assertion)).toBe("The assertion is bound to another key.");
    expect(await worker.objects("McpObject")).toHaveLength(before);
  });
});

describe("strange claims", () => {
  test.each(["__proto__", "constructor", "toString", "x", "http://plain.example", "https://a.example/\n"])(
    "the issuer %j is not trusted, whatever the function of the author does with it",
    async (iss) => {
      const { status, body } = await exchange(worker, await acme.assert(worker, { iss }));
      expect({ status, error: body.error }).toEqual({ status: 400, error: "invalid_grant" });
    },
  );

  test("subjects that differ only in what cannot be encoded are refused", async () => {
    for (const sub of ["\ud800", "a\ufffd"]) {
      const { status, body } = await exchange(worker, await acme.assert(worker, { sub }));
      expect({ status, text: body.error_description }).toEqual({
        status: 400,
        text: "The assertion needs iss, sub and jti.",
      });
    }
  });

  test("a request for unknown scopes only is refused, and does not use up the assertion", async () => {
    const assertion = await acme.assert(worker, { sub: "unknown" });
    const { status, body } = await exchange(worker, assertion, { scope: "offline_access" });
    expect({ status, error: body.error }).toEqual({ status: 400, error: "invalid_scope" });
    expect((await exchange(worker, assertion)).status).toBe(200);
  });
});

test("an unknown grant type is refused with all known ones", async () => {
  const { status, body } = await postForm(worker.url("/token"), { grant_type: "password" }, AGENT);
  expect({ status, body }).toEqual({
    status: 400,
    body: {
      error: "unsupported_grant_type",
      error_description: expect.stringContaining("urn:ietf:params:oauth:grant-type:jwt-bearer"),
    },
  });
});

test("refusals of a client, a resource and scopes are recorded", async () => {
  await exchange(worker, await acme.assert(worker, { client_id: "public" }), { client_id: "public" }, {});
  await exchange(worker, await acme.assert(worker), { resource: "https://elsewhere.example" });
  await exchange(worker, await acme.assert(worker), { scope: "offline_access" });
  const records = (await (await fetch(worker.url("/audited"))).json()) as Members[];
  expect(records.slice(-3)).toMatchObject([
    { reason: "unauthorized_client", status: 400, clientId: "public" },
    { reason: "invalid_target", status: 400, clientId: "agent" },
    { reason: "invalid_scope", status: 400, clientId: "agent", subject: expect.any(String) },
  ]);
});

/** Calls a method of the object of a user, once for each list of arguments. */
async function callUser(user: string, method: string, calls: readonly unknown[][]): Promise<Members[]> {
  const body = JSON.stringify({ user, method, calls });
  return (await (await fetch(worker.url("/object"), { method: "POST", body })).json()) as Members[];
}

test("a client that has used too many assertions does not lock out others, and is told when to try again", async () => {
  const token = await tokenFor({ sub: "flooded", client_id: "other" }, OTHER);
  const { subject } = await principalOf(token);
  const client = { id: "other", name: "Other", isVerified: true };
  const untilMs = Date.now() + 600_000;
  const flood = Array.from({ length: 500 }, (_, number) => [
    { id: `${number}`, attempt: "first", untilMs, client, scopes: ["read"], issuer: { issuer: acme.url } },
  ]);
  await callUser(String(subject), "admit", flood);
  const assertion = await acme.assert(worker, { sub: "flooded", client_id: "other" });
  const full = await exchange(worker, assertion, {}, OTHER);
  expect([full.status, full.body.error, full.headers.get("Retry-After")]).toEqual([
    503,
    "temporarily_unavailable",
    "60",
  ]);
  expect((await exchange(worker, await acme.assert(worker, { sub: "flooded" }))).status).toBe(200);
  const records = (await (await fetch(worker.url("/audited"))).json()) as Members[];
  expect(records.at(-1)).toMatchObject({ reason: "too-many", status: 503, clientId: "other", subject });
});

// These move the clock of the Worker, so that assertions of now would be too old.
describe("time", () => {
  let aheadMs = 0;
  const advance = (ms: number): Promise<number> => {
    aheadMs += ms;
    return worker.advance(ms);
  };
  const later = (claims: Members): Members => {
    const nowS = Math.floor((Date.now() + aheadMs) / 1000);
    return { iat: nowS, exp: nowS + 300, ...claims };
  };
  const DAY_MS = 86_400_000;

  /** An assertion, as the Worker passes it to the object. */
  const verified = (attempt: string, untilMs: number): unknown[] => {
    const client = { id: "agent", name: "Agent", isVerified: true };
    return [{ id: "id", attempt, untilMs, client, scopes: ["read"], issuer: { issuer: acme.url } }];
  };

  test("an assertion that expired on its way to the object is refused", async () => {
    const expired = verified("first", Date.now() + aheadMs - 1);
    expect(await callUser("late", "admit", [expired])).toEqual([{ problem: "expired" }]);
    expect(Object.keys((await worker.storage("McpObject", "user:late")).keys)).toEqual([]);
  });

  test("a used assertion is remembered for as long as any clock skew could make it acceptable", async () => {
    const untilMs = Date.now() + aheadMs + 1_000;
    expect(await callUser("skewed", "admit", [verified("first", untilMs)])).toEqual([{ grant: expect.any(String) }]);
    await advance(60_000);
    // A clock that is slow, or a larger skew since the last deployment, accepts the assertion for longer.
    const again = verified("second", untilMs + 240_000);
    expect(await callUser("skewed", "admit", [again])).toEqual([{ problem: "used" }]);
  });

  test("a client is listed, and can be revoked, when its token has expired, because it could get another one", async () => {
    await tokenFor(later({ sub: "expired" }));
    // The alarm of the object runs meanwhile.
    await advance(20 * DAY_MS);
    const browser = new Browser();
    expect(await revokeOnPage(browser, "expired", "agent")).toContain("Agent");
    const { status, body } = await exchange(worker, await acme.assert(worker, later({ sub: "expired" })));
    expect([status, body.error_description]).toEqual([400, expect.stringContaining("has revoked the access")]);
    expect((await visit(browser, worker.url(ALLOWED), "expired")).page).not.toContain("Agent");
  });

  test("a client is listed with the access that it had last", async () => {
    await tokenFor(later({ sub: "shrunk", scope: "read write" }));
    await advance(1_800_000);
    await tokenFor(later({ sub: "shrunk", scope: "read" }));
    await advance(3_601_000);
    const { page } = await visit(new Browser(), worker.url(ALLOWED), "shrunk");
    expect(page).toContain("Read your notes");
    expect(page).not.toContain("Write notes");
  });

  test("deletes the user, although the decision against a client is stored for a year", async () => {
    const browser = new Browser();
    await signIn(worker.origin, AGENT_CLIENT, { user: "private", headers: AGENT, browser });
    const { subject } = await principalOf(await tokenFor(later({ sub: "private", client_id: "other" }), OTHER));
    await revokeOnPage(browser, "private", "other");
    const keys = async () => Object.keys((await worker.storage("McpObject", `user:${String(subject)}`)).keys);
    expect(await keys()).toContain("user/me");
    for (let days = 0; days < 33; days += 1) await advance(DAY_MS + 1_000);
    expect(await keys()).toEqual(["user/denied"]);
  });
});
