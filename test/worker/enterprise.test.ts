/** Assertions of companies on workerd: who gets which access, how it ends, and what is announced. */
import { afterEach, describe, expect, test } from "vitest";
import { newKey } from "../harness/issuer.ts";
import { expectLogs, ignoreLogs } from "../harness/logs.ts";
import { proofOf, thumbprint } from "../harness/proofs.ts";
import type { Members } from "../http/messages.ts";
import { type Asked, Browser, fieldsOf, postForm, signIn, visit } from "./authorization.ts";
import { ModernClient, readAnswer } from "./client.ts";
import { AGENT, acme, basic, exchange, globex, JWT_BEARER, OTHER, setUp, worker } from "./companies.ts";

// The reset that a test causes.
ignoreLogs(/The object was reset by the test/);
expectLogs(
  /^mcp-edge: enterprise\(\): an assertion of "\S+" was refused: the issuer is not trusted$/,
  /was refused: no key of the issuer for "ES256" with the id "first" that its policy allows verifies the signature$/,
);

setUp(() => ({
  companies: [
    { issuer: acme.url, domains: ["example.com"], organisationsClaim: "groups" },
    { issuer: globex.url, domains: ["globex.example"], scopes: ["read"], clients: ["agent"], allow: { anyone: true } },
    { issuer: acme.url, tenant: "north", allow: { anyone: true } },
    { issuer: acme.url, audienceTenant: "ours", allow: { anyone: true } },
  ],
  more: { people: acme.url },
}));

const bearer = (token: unknown) => ({ authorization: `Bearer ${String(token)}` });

async function call(token: unknown, tool = "who", headers: Record<string, string> = bearer(token)) {
  const { status, text } = await readAnswer(new ModernClient(worker.url("/mcp")).call(tool, {}, { headers }));
  return { status, text };
}

async function principalOf(token: unknown): Promise<Members> {
  return JSON.parse((await call(token)).text ?? "{}") as Members;
}

/** Returns the access token for an assertion. */
async function tokenFor(claims: Members = {}, headers = AGENT, company = acme): Promise<string> {
  const { status, body } = await exchange(worker, await company.assert(worker, claims), {}, headers);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return String(body.access_token);
}

/** Changes what the operator trusts. */
async function operate(what: Members): Promise<void> {
  await fetch(worker.url("/operator"), { method: "POST", body: JSON.stringify(what) });
}

const invalidGrant = (text: string | RegExp) => {
  const error_description = typeof text === "string" ? text : expect.stringMatching(text);
  return { status: 400, body: { error: "invalid_grant", error_description } };
};

const AGENT_CLIENT: Asked = { client_id: "agent", redirect_uri: "https://agent.example/callback" };

describe("an assertion", () => {
  test("gives its client an access token for its user, without a refresh token", async () => {
    const { status, body, headers } = await exchange(worker, await acme.assert(worker));
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        access_token: expect.any(String),
        token_type: "Bearer",
        expires_in: 3600,
        scope: "read write",
        resource: `${worker.origin}/mcp`,
      },
    });
    expect(headers.get("Cache-Control")).toBe("no-store");
    expect(await principalOf(body.access_token)).toMatchObject({
      issuer: worker.origin,
      scopes: ["read", "write"],
      clientId: "agent",
      claims: { name: "Ada Lovelace", email: "ada@example.com", identity: { issuer: acme.url, subject: "ada" } },
    });
    expect((await call(body.access_token, "write")).text).toBe("written");
  });

  test("names the same user as an interactive sign-in at the same issuer, and brings no upstream tokens", async () => {
    const token = await tokenFor();
    const { access_token } = await signIn(worker.origin, AGENT_CLIENT, { headers: AGENT });
    const [managed, interactive] = [await principalOf(token), await principalOf(access_token)];
    expect(managed.subject).toBe(interactive.subject);
    expect(managed.subject).not.toBe((await principalOf(await tokenFor({ sub: "grace" }))).subject);
    expect((await call(token, "upstream")).text).toBe("none");
  });

  test("is accepted with credentials in the form, the resource of the request, and claims in their other forms", async () => {
    const assertion = await acme.assert(worker, {
      aud: [worker.origin],
      resource: ["https://elsewhere.example/mcp", `${worker.origin}/mcp`],
      nbf: Math.floor(Date.now() / 1000) - 1,
    });
    const credentials = { client_id: "agent", client_secret: "a secret of the agent" };
    const answer = await exchange(worker, assertion, { resource: worker.url("/mcp"), ...credentials }, {});
    expect(answer.status).toBe(200);
    // The only resource of this authorization server is the endpoint.
    expect((await exchange(worker, await acme.assert(worker, { resource: undefined }))).status).toBe(200);
  });

  test.each([
    ["fast", 20],
    ["slow", -320],
  ])("is accepted although the clock of its issuer is somewhat %s", async (_, aheadS) => {
    const iat = Math.floor(Date.now() / 1000) + aheadS;
    expect((await exchange(worker, await acme.assert(worker, { iat, exp: iat + 300 }))).status).toBe(200);
  });

  test("is accepted once, also in another isolate, at the same moment, and after an eviction", async () => {
    const assertion = await acme.assert(worker, { sub: "once" });
    const twin = { ...AGENT, "X-Twin": "yes" };
    const senders = [AGENT, twin, AGENT, twin, AGENT, twin];
    const answers = await Promise.all(senders.map((each) => exchange(worker, assertion, {}, each)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const used = invalidGrant("The assertion was used before.");
    for (const answer of answers) if (answer.status !== 200) expect(answer).toMatchObject(used);
    await worker.evict("McpObject");
    expect(await exchange(worker, assertion, {}, twin)).toMatchObject(used);
  });

  test("whose exchange is lost between the Worker and the object is accepted all the same", async () => {
    await operate({ lose: "yes" });
    const assertion = await acme.assert(worker, { sub: "lost" });
    const { status, body } = await exchange(worker, assertion);
    expect(status).toBe(200);
    expect((await call(body.access_token)).status).toBe(200);
    expect((await exchange(worker, assertion)).status).toBe(400);
  });
});

test("an assertion without a scope that every request needs is refused, because its token could not be used", async () => {
  const { status, body } = await exchange(worker, await acme.assert(worker, { scope: "write" }));
  expect({ status, body }).toEqual({
    status: 400,
    body: {
      error: "invalid_scope",
      error_description: "The assertion does not give read, which every request needs.",
    },
  });
});

describe("the scopes of an assertion", () => {
  test.each<[string, Members, string | undefined, string]>([
    ["are those that it names", { scope: "read write" }, undefined, "read write"],
    ["are those of the request, if it names fewer", { scope: "read write" }, "read", "read"],
    ["are never more than it names", { scope: "read" }, "read write admin", "read"],
    ["are never more than the user may grant", { scope: "read admin" }, undefined, "read"],
    ["include those that only some users may grant", { sub: "boss", scope: "read admin" }, undefined, "read admin"],
    ["are those that every request needs, if it names none", { scope: undefined }, undefined, "read"],
    ["are not more than that for a request that names more", { scope: undefined }, "read write", "read"],
    ["are each granted once", { scope: "read read" }, undefined, "read"],
    ["are not limited by unknown ones in the request", { scope: "read" }, "offline_access read", "read"],
  ])("%s", async (_, claims, scope, granted) => {
    const { status, body } = await exchange(worker, await acme.assert(worker, claims), { scope });
    expect({ status, scope: body.scope }).toEqual({ status: 200, scope: granted });
    expect((await principalOf(body.access_token)).scopes).toEqual(granted.split(" "));
  });

  test("are limited by the policy of the issuer", async () => {
    const { body } = await exchange(worker, await globex.assert(worker, { scope: "read write" }));
    expect(body.scope).toBe("read");
    const refused = await exchange(worker, await globex.assert(worker, { scope: "write" }));
    expect(refused).toMatchObject({ status: 400, body: { error: "invalid_scope" } });
  });
});

describe("users", () => {
  test("are admitted by the option allow, and only with addresses in the domains of their issuer", async () => {
    const refused = invalidGrant("The user is not admitted to this server.");
    const exchangeFor = async (claims: Members) => exchange(worker, await acme.assert(worker, claims));
    expect(await exchangeFor({ email: "ada@globex.example" })).toMatchObject(refused);
    expect(await exchangeFor({ email: "ada@example.com.evil.example" })).toMatchObject(refused);
    expect(await exchangeFor({ email: undefined })).toMatchObject(refused);
    expect(await exchangeFor({ email_verified: false })).toMatchObject(refused);
    expect((await exchangeFor({ email_verified: true, email: "Ada@EXAMPLE.com" })).status).toBe(200);
  });

  test("are admitted by the rule of their issuer, and an address of another company is not verified", async () => {
    const principal = await principalOf(
      await tokenFor({ email: "boss@example.com", email_verified: true }, AGENT, globex),
    );
    expect(principal.claims).not.toHaveProperty("email");
  });

  test("of two organisations at one issuer are different users", async () => {
    const claims = [{ tenant: "north" }, {}, { aud_tenant: "ours" }];
    const [north, plain, ours] = await Promise.all(claims.map(async (each) => principalOf(await tokenFor(each))));
    expect(north?.subject).not.toBe(plain?.subject);
    expect(ours?.subject).toBe(plain?.subject);
  });
});

describe("an assertion with a key", () => {
  const dpop = async (key: Awaited<ReturnType<typeof newKey>>, at = "/token", token = "") => {
    return proofOf(key, token, worker.url(at), token === "" ? { ath: undefined, jti: crypto.randomUUID() } : {});
  };

  test("gives a token that is bound to the key", async () => {
    const key = await newKey("ES256", undefined);
    const assertion = await acme.assert(worker, { cnf: { jkt: await thumbprint(key) } });
    const { status, body } = await exchange(worker, assertion, {}, { ...AGENT, DPoP: await dpop(key) });
    expect({ status, type: body.token_type }).toEqual({ status: 200, type: "DPoP" });
    const token = String(body.access_token);
    expect((await call(token)).status).toBe(401);
    const proven = { authorization: `DPoP ${token}`, dpop: await dpop(key, "/mcp", token) };
    expect((await call(token, "who", proven)).status).toBe(200);
  });

  test("is refused without a proof, and with a proof of another key", async () => {
    const [key, other] = [await newKey("ES256", undefined), await newKey("ES256", undefined)];
    const assertion = await acme.assert(worker, { cnf: { jkt: await thumbprint(key) } });
    expect(await exchange(worker, assertion)).toMatchObject(invalidGrant("A DPoP proof is required."));
    const wrong = await exchange(worker, assertion, {}, { ...AGENT, DPoP: await dpop(other) });
    expect(wrong).toMatchObject(invalidGrant("The assertion is bound to another key."));
    const malformed = await exchange(worker, assertion, {}, { ...AGENT, DPoP: "nonsense" });
    expect(malformed).toMatchObject({ status: 400, body: { error: "invalid_dpop_proof" } });
    expect((await exchange(worker, assertion, {}, { ...AGENT, DPoP: await dpop(key) })).status).toBe(200);
  });

  test("is not needed for a token that is bound to the key of a proof", async () => {
    const key = await newKey("ES256", undefined);
    const { body } = await exchange(worker, await acme.assert(worker), {}, { ...AGENT, DPoP: await dpop(key) });
    expect(body.token_type).toBe("DPoP");
  });
});

describe("the access of an assertion", () => {
  afterEach(async () => {
    await operate({ restore: acme.url, change: { issuer: globex.url } });
  });

  test("is shown to the user with the host of the issuer, and ends when the user revokes it", async () => {
    const claims = { sub: "revoker" };
    const [token, spare] = [await tokenFor(claims), await acme.assert(worker, claims)];
    const other = await tokenFor({ ...claims, client_id: "other" }, OTHER);
    const browser = new Browser();
    const { page } = await visit(browser, worker.url("/authorize/allowed"), "revoker");
    expect(page).toContain("Agent");
    expect(page).toContain(new URL(acme.url).host);
    await browser.post(worker.url("/authorize/allowed"), { ...fieldsOf(page), revoke: "agent" });
    expect([(await call(token)).status, (await call(other)).status]).toEqual([401, 200]);
    expect(await (await browser.get(worker.url("/authorize/allowed"))).text()).not.toContain("Agent");
    // The client does not get it back, neither with an older nor with a newer assertion, until the user allows it.
    const denied = invalidGrant(/^The user has revoked the access of this client/);
    for (const each of [spare, await acme.assert(worker, claims)])
      expect(await exchange(worker, each)).toMatchObject(denied);
    await worker.evict("McpObject");
    expect(await exchange(worker, await acme.assert(worker, claims))).toMatchObject(denied);
    await signIn(worker.origin, AGENT_CLIENT, { user: "revoker", headers: AGENT, browser });
    expect((await exchange(worker, await acme.assert(worker, claims))).status).toBe(200);
    expect((await call(token)).status).toBe(401);
  });

  test("is not given to a client whose other access the user has revoked", async () => {
    const browser = new Browser();
    await signIn(worker.origin, AGENT_CLIENT, { user: "consenter", headers: AGENT, browser });
    const { page } = await visit(browser, worker.url("/authorize/allowed"), "consenter");
    await browser.post(worker.url("/authorize/allowed"), { ...fieldsOf(page), revoke: "agent" });
    const assertion = await acme.assert(worker, { sub: "consenter" });
    expect((await exchange(worker, assertion)).body.error_description).toMatch(/^The user has revoked/);
  });

  test("is not revoked by a page that is not signed in as the user", async () => {
    const token = await tokenFor({ sub: "steady" });
    const browser = new Browser();
    const { page } = await visit(browser, worker.url("/authorize/allowed"), "somebody");
    expect(page).not.toContain("Agent");
    await browser.post(worker.url("/authorize/allowed"), { ...fieldsOf(page), revoke: "agent" });
    expect((await call(token)).status).toBe(200);
  });

  test("is revoked by its client, but not by another one, and a new assertion gives it again", async () => {
    const token = await tokenFor({ sub: "leaver" });
    await postForm(worker.url("/revoke"), { token }, OTHER);
    expect((await call(token)).status).toBe(200);
    await postForm(worker.url("/revoke"), { token }, AGENT);
    expect((await call(token)).status).toBe(401);
    expect((await call(await tokenFor({ sub: "leaver" }))).status).toBe(200);
    expect((await call(token)).status).toBe(401);
  });

  test("ends with its own issuer, also if another one has given the same client access", async () => {
    const sub = "twice";
    const [plain, ours] = [await tokenFor({ sub }), await tokenFor({ sub, aud_tenant: "ours" })];
    await operate({ remove: `${acme.url} undefined` });
    expect([(await call(plain)).status, (await call(ours)).status]).toEqual([401, 200]);
    await operate({ restore: `${acme.url} undefined` });
    expect((await call(plain)).status).toBe(200);
  });

  test("ends when the operator removes the issuer, or the client from its policy", async () => {
    const [token, other] = [await tokenFor({ sub: "operated" }), await tokenFor({ sub: "operated" }, AGENT, globex)];
    await operate({ remove: acme.url });
    expect([(await call(token)).status, (await call(other)).status]).toEqual([401, 200]);
    expect((await exchange(worker, await acme.assert(worker))).status).toBe(400);
    await operate({ change: { issuer: globex.url, clients: ["other"] } });
    expect((await call(other)).status).toBe(401);
    const refused = await exchange(worker, await globex.assert(worker));
    expect(refused).toMatchObject(invalidGrant("The issuer may not give access to this client."));
  });
});

test("the metadata announces the grant, and names no issuer", async () => {
  const text = await (await fetch(worker.url("/.well-known/oauth-authorization-server"))).text();
  expect(JSON.parse(text)).toMatchObject({
    grant_types_supported: ["authorization_code", "refresh_token", JWT_BEARER],
    authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"],
  });
  for (const { url } of [acme, globex]) expect(text).not.toContain(url);
});

test("an exchange costs one call of an object, and an assertion that is refused before its signature is trusted costs none", async () => {
  const countCalls = async () => Number(await (await fetch(worker.url("/calls"))).text());
  const before = await countCalls();
  expect((await exchange(worker, await acme.assert(worker))).status).toBe(200);
  expect(await countCalls()).toBe(before + 1);
  const unsigned = (await acme.assert(worker)).replace(/[^.]*$/, "");
  const wrong = [await acme.assert(worker, { aud: "https://elsewhere.example" }), unsigned, "nonsense"];
  for (const each of wrong) expect((await exchange(worker, each)).status).toBe(400);
  expect(await countCalls()).toBe(before + 1);
});

test("other grants work as before", async () => {
  const { refresh_token } = await signIn(worker.origin, AGENT_CLIENT, { user: "usual", headers: AGENT });
  const refreshed = await postForm(worker.url("/token"), { grant_type: "refresh_token", refresh_token }, AGENT);
  expect(refreshed.status).toBe(200);
  const { access_token } = refreshed.body;
  expect((await call(access_token)).status).toBe(200);
  await postForm(worker.url("/revoke"), { token: String(refreshed.body.refresh_token) }, AGENT);
  expect((await call(access_token)).status).toBe(401);
  const unknown = await postForm(worker.url("/token"), { grant_type: "password" }, AGENT);
  expect(unknown).toMatchObject({ status: 400, body: { error: "unsupported_grant_type" } });
});

test("refusals are recorded with the client, and with the user of a genuine assertion", async () => {
  const assertion = await acme.assert(worker, { sub: "audited" });
  const { body } = await exchange(worker, assertion);
  const { subject } = await principalOf(body.access_token);
  await exchange(worker, assertion);
  await exchange(worker, await acme.assert(worker, { aud: "https://elsewhere.example" }));
  await exchange(worker, assertion, {}, basic("agent", "a wrong secret of it"));
  const records = (await (await fetch(worker.url("/audited"))).json()) as Members[];
  expect(records.slice(-3)).toMatchObject([
    { kind: "refusal", reason: "assertion-replayed", status: 400, subject, clientId: "agent" },
    { kind: "refusal", reason: "invalid_grant", status: 400, clientId: "agent" },
    { kind: "refusal", reason: "invalid_client", status: 401 },
  ]);
  expect(JSON.stringify(records)).not.toContain(assertion);
});

// These move the clock of the Worker, so that assertions of now would be too old.
describe("time", () => {
  let aheadS = 0;
  const advance = (ms: number) => {
    aheadS += ms / 1000;
    return worker.advance(ms);
  };
  const later = (claims: Members) => {
    const nowS = Math.floor(Date.now() / 1000) + aheadS;
    return { iat: nowS, exp: nowS + 300, ...claims };
  };

  test("ends the access, and everything that was stored is deleted", async () => {
    const token = await tokenFor({ sub: "passing" });
    // A token is valid for an hour. The minute before its end is longer than a loaded machine takes for the call.
    await advance(3_540_000);
    expect((await call(token)).status).toBe(200);
    await advance(61_000);
    expect((await call(token)).status).toBe(401);
    const left = async () => {
      const ids = await worker.objects("McpObject", "user");
      const stored = await Promise.all(ids.map(async (id) => (await worker.storage("McpObject", id)).keys));
      return stored.flatMap((keys) => Object.keys(keys));
    };
    await advance(86_400_000);
    expect((await left()).filter((key) => key.startsWith("user/assertions"))).toEqual([]);
    // The clients are listed for a month.
    await advance(31 * 86_400_000);
    expect((await left()).filter((key) => key.startsWith("user/managed"))).toEqual([]);
  });

  test("does not bring back the access that a user has revoked, for a year", async () => {
    const revoked = async () => exchange(worker, await acme.assert(worker, later({ sub: "forgetful" })));
    expect((await revoked()).status).toBe(200);
    const browser = new Browser();
    // Another client keeps its access, for a month.
    const asked = { client_id: "other", redirect_uri: "https://other.example/callback" };
    await signIn(worker.origin, asked, { user: "forgetful", headers: OTHER, browser });
    const { page } = await visit(browser, worker.url("/authorize/allowed"), "forgetful");
    await browser.post(worker.url("/authorize/allowed"), { ...fieldsOf(page), revoke: "agent" });
    const keysOf = async () => {
      const all = await worker.objects("McpObject", "user");
      const stored = await Promise.all(all.map((id) => worker.storage("McpObject", id)));
      return stored.map(({ keys }) => Object.keys(keys)).filter((keys) => keys.includes("user/denied"));
    };
    for (const days of [2, 18]) await advance(days * 86_400_000);
    expect((await keysOf()).flat()).toContain("user/me");
    for (const days of [12, 2]) await advance(days * 86_400_000);
    // The name and the address of the user are not stored any longer.
    expect(new Set((await keysOf()).flat())).toEqual(new Set(["user/denied"]));
    await advance(266 * 86_400_000);
    expect((await revoked()).status).toBe(400);
    await advance(66 * 86_400_000);
    expect((await revoked()).status).toBe(200);
  });
});
