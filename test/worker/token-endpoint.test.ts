/** The token and revocation endpoints on workerd: codes, refresh tokens, credentials, proofs. */
import { beforeAll, describe, expect, test } from "vitest";
import { newKey, type SigningKey } from "../harness/issuer.ts";
import { proofOf, thumbprint } from "../harness/proofs.ts";
import {
  type Asked,
  allow,
  authorizeUrl,
  Browser,
  newVerifier,
  postForm,
  register,
  signIn,
  type Tokens,
} from "./authorization.ts";
import { bearer, KNOWN, principalOf, refresh, setUp, statusOf, url, worker } from "./authorizing.ts";

setUp();

const SECRET = "a secret of the secretive client";
const SECRETIVE: Asked = { client_id: "secretive", redirect_uri: "https://secretive.example/callback" };
const basic = (id: string, secret: string) => ({ Authorization: `Basic ${btoa(`${id}:${secret}`)}` });

/** A code, with the form that exchanges it. */
async function codeFor(asked: Asked = KNOWN, user = "ada") {
  const verifier = newVerifier();
  const returned = await allow(new Browser(), authorizeUrl(worker.origin, verifier, asked), user);
  const { client_id, redirect_uri } = asked;
  const code = returned.get("code") ?? "";
  return { grant_type: "authorization_code", code, client_id, redirect_uri, code_verifier: verifier };
}

const redeem = (form: Record<string, string | undefined>, headers = {}) => postForm(url("/token"), form, headers);
const refused = (status: number, error: string) => ({ status, body: { error, error_description: expect.any(String) } });

describe("authorization codes", () => {
  test.each<[string, Record<string, string | undefined>, string]>([
    ["of another client", { client_id: "other" }, "invalid_client"],
    ["without a client", { client_id: undefined }, "invalid_request"],
    ["with another redirect URI", { redirect_uri: "https://evil.example/callback" }, "invalid_grant"],
    ["without its redirect URI", { redirect_uri: undefined }, "invalid_grant"],
    ["with another verifier", { code_verifier: "v".repeat(43) }, "invalid_grant"],
    ["without a verifier", { code_verifier: undefined }, "invalid_request"],
    ["with a verifier that is too short", { code_verifier: "v" }, "invalid_request"],
    ["for another resource", { resource: "https://other.example/mcp" }, "invalid_target"],
    ["that is missing", { code: undefined }, "invalid_request"],
    ["with another grant type", { grant_type: "password" }, "unsupported_grant_type"],
    ["without a grant type", { grant_type: undefined }, "invalid_request"],
    ["with a secret that the client does not have", { client_secret: "secret" }, "invalid_client"],
  ])("a code %s is refused, and stays usable", async (_, changes, error) => {
    const form = await codeFor();
    expect(await redeem({ ...form, ...changes })).toMatchObject(refused(error === "invalid_client" ? 401 : 400, error));
    expect((await redeem(form)).status).toBe(200);
  });

  test("a code of one client is refused for another client with a valid secret", async () => {
    const form = await codeFor();
    const other = { ...form, client_id: "secretive", client_secret: SECRET };
    expect(await redeem(other)).toMatchObject(refused(400, "invalid_grant"));
  });

  test("a code that is used twice ends the access (RFC 6749, 4.1.2), but not with a wrong verifier", {
    tags: "long",
  }, async () => {
    const form = await codeFor();
    const { body } = await redeem(form);
    const tokens = body as unknown as Tokens;
    expect(await redeem({ ...form, code_verifier: "v".repeat(43) })).toMatchObject(refused(400, "invalid_grant"));
    expect(await statusOf(tokens.access_token)).toBe(200);
    await worker.advance(31_000);
    expect(await redeem(form)).toMatchObject(refused(400, "invalid_grant"));
    expect(await statusOf(tokens.access_token)).toBe(401);
    expect(await refresh(tokens.refresh_token)).toMatchObject(refused(400, "invalid_grant"));
  });

  test("a code whose response was lost gets the same response again for half a minute, however many times it is sent", async () => {
    const form = await codeFor();
    const answers = await Promise.all(Array.from({ length: 10 }, () => redeem(form)));
    await worker.advance(20_000);
    const bodies = [...answers, await redeem(form)].map(({ body }) => JSON.stringify(body));
    expect(new Set(bodies).size).toBe(1);
    expect(await statusOf(String(answers[0]?.body.access_token))).toBe(200);
  });

  test("a code that is used again after the client has refreshed ends the access", async () => {
    const form = await codeFor();
    const { body } = await redeem(form);
    const next = (await refresh(String(body.refresh_token))).body;
    expect(await redeem(form)).toMatchObject(refused(400, "invalid_grant"));
    expect(await statusOf(String(next.access_token))).toBe(401);
  });

  test("a code expires after two minutes", async () => {
    const form = await codeFor();
    await worker.advance(121_000);
    expect(await redeem(form)).toMatchObject(refused(400, "invalid_grant"));
  });

  test("a code that was made up is refused, and wakes no object", async () => {
    const form = await codeFor();
    const before = (await worker.objects("MCP")).length;
    for (const code of ["code", `${form.code}A`, `A${form.code}`, form.code.slice(0, -2), "x".repeat(9_000)]) {
      expect(await redeem({ ...form, code })).toMatchObject(refused(400, "invalid_grant"));
      expect(await refresh(code)).toMatchObject(refused(400, "invalid_grant"));
    }
    expect((await worker.objects("MCP")).length).toBe(before);
  });
});

describe("a record of the authorization server in audit()", () => {
  const refusals = async () => {
    const records = (await (await fetch(url("/audited"))).json()) as {
      reason: string;
      subject?: string;
      clientId?: string;
    }[];
    return records.map(({ reason, subject, clientId }) => [reason, subject !== undefined, clientId]);
  };

  test("is written for a wrong secret, a forged consent, and a code and a refresh token that are used twice", async () => {
    const browser = new Browser();
    const before = (await refusals()).length;
    await redeem({ ...(await codeFor()), client_id: "secretive", client_secret: "wrong" });
    await browser.post(url("/authorize"), { request: "made up", decision: "allow" });
    const form = await codeFor();
    await redeem(form);
    await worker.advance(31_000);
    await redeem(form);
    const { refresh_token } = await signIn(worker.origin, KNOWN, { user: "robbed" });
    await refresh(refresh_token);
    await worker.advance(301_000);
    await refresh(refresh_token);
    expect((await refusals()).slice(before)).toEqual([
      ["invalid_client", false, "secretive"],
      ["consent-refused", false, undefined],
      ["code-replayed", true, "known"],
      ["refresh-token-replayed", true, "known"],
    ]);
  });
});

describe("a token request that is not a form", () => {
  test("is refused", async () => {
    const form = new URLSearchParams(await codeFor());
    const send = async (init: RequestInit) => (await fetch(url("/token"), { method: "POST", ...init })).status;
    const type = { "Content-Type": "application/x-www-form-urlencoded" };
    expect(await send({ body: JSON.stringify(Object.fromEntries(form)) })).toBe(400);
    // Twice the same value is as ambiguous as two.
    expect(await send({ body: `${form}&client_id=known`, headers: type })).toBe(400);
    expect(await send({ body: String(form), headers: { "Content-Type": "text/plain" } })).toBe(400);
    expect(await send({ body: `${form}&filler=${"x".repeat(40_000)}`, headers: type })).toBe(400);
    expect((await fetch(`${url("/token")}?${form}`)).status).toBe(405);
    expect(await send({ body: String(form), headers: { ...type, Authorization: "Bearer token" } })).toBe(401);
    expect(await send({ body: String(form), headers: type })).toBe(200);
  });
});

describe("refresh tokens", () => {
  test.each<[string, Record<string, string | undefined>, string]>([
    ["of another client", { client_id: "secretive", client_secret: SECRET }, "invalid_grant"],
    ["of an unknown client", { client_id: "other" }, "invalid_client"],
    ["for more scopes than were granted", { scope: "read write" }, "invalid_scope"],
    ["for another resource", { resource: "https://other.example/mcp" }, "invalid_target"],
    ["that is missing", { refresh_token: undefined }, "invalid_request"],
  ])("a refresh token %s is refused, and stays valid", async (_, changes, error) => {
    const { refresh_token } = await signIn(worker.origin, KNOWN);
    const status = error === "invalid_client" ? 401 : 400;
    expect(await refresh(refresh_token, changes)).toMatchObject(refused(status, error));
    expect((await refresh(refresh_token)).status).toBe(200);
  });

  test("a refresh token can get an access token with fewer scopes, and keeps all of them for later", async () => {
    const { refresh_token } = await signIn(worker.origin, { ...KNOWN, scope: "read write" });
    const { body } = await refresh(refresh_token, { scope: "read" });
    expect(body).toMatchObject({ scope: "read" });
    expect(await statusOf(String(body.access_token), "write")).toBe(403);
    expect((await refresh(String(body.refresh_token))).body).toMatchObject({ scope: "read write" });
  });

  test("a refresh token is not an access token, and an access token is not a refresh token or a code", async () => {
    const tokens = await signIn(worker.origin, KNOWN);
    expect(await statusOf(tokens.refresh_token)).toBe(401);
    expect(await refresh(tokens.access_token)).toMatchObject(refused(400, "invalid_grant"));
    const form = { ...(await codeFor()), code: tokens.refresh_token };
    expect(await redeem(form)).toMatchObject(refused(400, "invalid_grant"));
  });

  test("a refresh token that was replaced gets the same response for a minute, even after its successor was used", async () => {
    const { refresh_token } = await signIn(worker.origin, KNOWN);
    const first = (await refresh(refresh_token)).body;
    const second = (await refresh(String(first.refresh_token))).body;
    expect((await refresh(refresh_token)).body).toEqual(first);
    expect((await refresh(String(first.refresh_token))).body).toEqual(second);
    expect(await statusOf(String(second.access_token))).toBe(200);
  });

  test("a refresh token that was replaced more than a minute ago gets one other successor, because the response may have been lost", async () => {
    const { refresh_token } = await signIn(worker.origin, KNOWN);
    const lost = (await refresh(refresh_token)).body;
    await worker.advance(4 * 60_000);
    const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(refresh_token)));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    const body = answers[0]?.body ?? {};
    expect(body.refresh_token).not.toBe(lost.refresh_token);
    expect(await statusOf(String(body.access_token))).toBe(200);
    expect((await refresh(String(body.refresh_token))).status).toBe(200);
  });

  test("a refresh token that two clients have ends the access of both when a client uses it whose successor was replaced", async () => {
    const { refresh_token } = await signIn(worker.origin, KNOWN);
    const client = (await refresh(refresh_token)).body;
    await worker.advance(61_000);
    const thief = (await refresh(refresh_token)).body;
    expect(await statusOf(String(thief.access_token))).toBe(200);
    expect(await refresh(String(client.refresh_token))).toMatchObject(refused(400, "invalid_grant"));
    expect(await refresh(String(thief.refresh_token))).toMatchObject(refused(400, "invalid_grant"));
    expect(await statusOf(String(thief.access_token))).toBe(401);
  });

  test("a refresh token that two clients have ends the access of both when the second uses it more than five minutes after the first", async () => {
    const { refresh_token } = await signIn(worker.origin, KNOWN);
    const thief = (await refresh(refresh_token)).body;
    await worker.advance(5 * 60_000 + 1_000);
    expect(await refresh(refresh_token)).toMatchObject(refused(400, "invalid_grant"));
    expect(await refresh(String(thief.refresh_token))).toMatchObject(refused(400, "invalid_grant"));
    expect(await statusOf(String(thief.access_token))).toBe(401);
  });

  test("a refresh token that was replaced cannot be used for longer by using it repeatedly", async () => {
    const { refresh_token } = await signIn(worker.origin, KNOWN);
    await refresh(refresh_token);
    await worker.advance(4 * 60_000);
    expect((await refresh(refresh_token)).status).toBe(200);
    await worker.advance(2 * 60_000);
    expect(await refresh(refresh_token)).toMatchObject(refused(400, "invalid_grant"));
  });

  test("a refresh token that is used a minute after its successor ends the access, because it may have been copied", async () => {
    const { refresh_token } = await signIn(worker.origin, KNOWN);
    const first = (await refresh(refresh_token)).body;
    const second = (await refresh(String(first.refresh_token))).body;
    await worker.advance(61_000);
    expect(await refresh(refresh_token)).toMatchObject(refused(400, "invalid_grant"));
    expect(await refresh(String(second.refresh_token))).toMatchObject(refused(400, "invalid_grant"));
    expect(await statusOf(String(second.access_token))).toBe(401);
  });

  test("a refresh token that two clients use with different parameters ends the access of both, because a thief could choose other parameters", async () => {
    const { refresh_token } = await signIn(worker.origin, { ...KNOWN, scope: "read write" });
    const thief = (await refresh(refresh_token, { scope: "read" })).body;
    expect(await refresh(refresh_token)).toMatchObject(refused(400, "invalid_grant"));
    expect(await refresh(String(thief.refresh_token), { scope: "read" })).toMatchObject(refused(400, "invalid_grant"));
    expect(await statusOf(String(thief.access_token))).toBe(401);
  });

  test("a refresh token works after the alarm of an object that is not in memory, which then has no name", async () => {
    const { refresh_token } = await signIn(worker.origin, KNOWN, { user: "sleeper" });
    await worker.evict("MCP");
    await worker.advance(2 * 24 * 60 * 60_000);
    const { body } = await refresh(refresh_token);
    expect(await statusOf(String(body.access_token))).toBe(200);
    expect((await refresh(String(body.refresh_token))).status).toBe(200);
  });

  test("a refresh token expires thirty days after it was issued, and leaves no rows", async () => {
    const user = "expiring";
    const { refresh_token } = await signIn(worker.origin, KNOWN, { user });
    await worker.advance(29 * 24 * 60 * 60_000);
    const { body } = await refresh(refresh_token);
    await worker.advance(29 * 24 * 60 * 60_000);
    const next = await refresh(String(body.refresh_token));
    expect(next.status).toBe(200);
    const { subject } = await principalOf(String(next.body.access_token));
    expect(Object.keys((await worker.storage("MCP", `user:${subject}`)).keys)).toHaveLength(2);
    await worker.advance(31 * 24 * 60 * 60_000);
    expect(await refresh(String(next.body.refresh_token))).toMatchObject(refused(400, "invalid_grant"));
    expect(Object.keys((await worker.storage("MCP", `user:${subject}`)).keys)).toEqual([]);
  });
});

describe("the storage of the authorization server", () => {
  test("contains no token, and no code", { tags: "long" }, async () => {
    const form = await codeFor(KNOWN, "stored");
    const { body } = await redeem(form);
    const next = (await refresh(String(body.refresh_token))).body;
    const { subject } = await principalOf(String(next.access_token));
    const stored = JSON.stringify(await worker.storage("MCP", `user:${subject}`));
    for (const secret of [form.code, form.code_verifier, ...Object.values(body), ...Object.values(next)]) {
      if (typeof secret === "string" && secret.length > 20) expect(stored).not.toContain(secret);
    }
    expect(stored).toContain("stored@example.com");
  });
});

describe("a client with a secret", () => {
  test.each<[string, Record<string, string | undefined>, Record<string, string>, number]>([
    ["sends it in the header", { client_id: undefined }, basic("secretive", encodeURIComponent(SECRET)), 200],
    ["sends it in the form", { client_secret: SECRET }, {}, 200],
    ["sends none", {}, {}, 401],
    ["sends a wrong one", { client_secret: "a secret of another client, which is wrong" }, {}, 401],
    ["sends a wrong one in the header", {}, basic("secretive", "wrong"), 401],
    ["sends two", { client_secret: SECRET }, basic("secretive", encodeURIComponent(SECRET)), 400],
    ["sends the id of another client", { client_id: "known" }, basic("secretive", encodeURIComponent(SECRET)), 400],
    ["sends a header of the wrong form", {}, { Authorization: "Basic %%" }, 401],
  ])("gets the expected status if it %s", async (_, changes, headers, status) => {
    const form = await codeFor(SECRETIVE);
    const answered = await redeem({ ...form, ...changes }, headers);
    expect(answered.status).toBe(status);
    const challenge = answered.headers.get("WWW-Authenticate");
    expect(challenge).toBe(status === 401 && "Authorization" in headers ? 'Basic realm="token"' : null);
  });

  test("also needs its secret if it has registered itself", async () => {
    const registered = await register(worker.origin, { token_endpoint_auth_method: "client_secret_post" });
    const client_id = String(registered.client_id);
    const form = await codeFor({ client_id, redirect_uri: "http://127.0.0.1:1/callback" });
    expect(await redeem(form)).toMatchObject(refused(401, "invalid_client"));
    expect((await redeem({ ...form, client_secret: String(registered.client_secret) })).status).toBe(200);
  });
});

describe("a revocation", () => {
  const revoke = (token: string, client_id = "known") => postForm(url("/revoke"), { token, client_id });

  test.each(["refresh_token", "access_token"] as const)("ends the access: %s", async (kind) => {
    const tokens = await signIn(worker.origin, KNOWN);
    expect(await revoke(tokens[kind])).toMatchObject({ status: 200, body: {} });
    expect(await statusOf(tokens.access_token)).toBe(401);
    expect(await refresh(tokens.refresh_token)).toMatchObject(refused(400, "invalid_grant"));
  });

  test("has no effect and reveals nothing if it is for another client, or for another value", async () => {
    const tokens = await signIn(worker.origin, KNOWN);
    const other = String((await register(worker.origin)).client_id);
    expect(await revoke(tokens.refresh_token, other)).toMatchObject({ status: 200, body: {} });
    expect(await revoke("token")).toMatchObject({ status: 200, body: {} });
    expect(await statusOf(tokens.access_token)).toBe(200);
  });

  test("requires the client and a token", async () => {
    expect(await postForm(url("/revoke"), { token: "token" })).toMatchObject(refused(400, "invalid_request"));
    expect(await postForm(url("/revoke"), { client_id: "known" })).toMatchObject(refused(400, "invalid_request"));
    expect(await revoke("token", "unknown")).toMatchObject(refused(401, "invalid_client"));
  });
});

describe("an access token", () => {
  test("is refused when it has expired", async () => {
    const { access_token } = await signIn(worker.origin, KNOWN);
    await worker.advance(60 * 60_000 + 1_000);
    expect(await statusOf(access_token)).toBe(401);
  });

  test("is refused at another host of the same Worker, and with another scheme", async () => {
    const { access_token } = await signIn(worker.origin, KNOWN);
    const elsewhere = url().replace("127.0.0.1", "localhost");
    const answered = await fetch(elsewhere, { method: "POST", headers: bearer(access_token) });
    expect(answered.status).toBe(401);
    expect(await statusOf(`${access_token}A`)).toBe(401);
    expect(await statusOf(access_token.slice(1))).toBe(401);
  });

  test("causes 403 with all required scopes if it lacks a scope that a tool needs", async () => {
    const { access_token } = await signIn(worker.origin, KNOWN);
    expect([await statusOf(access_token), await statusOf(access_token, "write")]).toEqual([200, 403]);
  });
});

describe("DPoP at the authorization server", () => {
  let own: SigningKey;
  let foreign: SigningKey;
  beforeAll(async () => {
    [own, foreign] = await Promise.all([newKey("ES256", undefined), newKey("ES256", undefined)]);
    // The tests before have moved the clock of the Worker. By how much follows from the time at which a token expires.
    const { expiresAtMs } = await principalOf((await signIn(worker.origin, KNOWN)).access_token);
    later = Math.round((Number(expiresAtMs) - 3_600_000 - Date.now()) / 1000);
  });

  let later = 0;
  const now = () => Math.floor(Date.now() / 1000) + later;
  const atToken = async (key: SigningKey, claims = {}) => ({
    DPoP: await proofOf(key, "", url("/token"), {
      ath: undefined,
      iat: now(),
      ...claims,
    }),
  });
  const atResource = async (key: SigningKey, token: string) => ({
    authorization: `DPoP ${token}`,
    dpop: await proofOf(key, token, url(), { iat: now() }),
  });

  test("binds a token that was requested with a proof to its key, so that it is useless without the key", async () => {
    const { body } = await redeem(await codeFor(), await atToken(own));
    expect(body).toMatchObject({ token_type: "DPoP" });
    const token = String(body.access_token);
    expect(await statusOf(token, "who", await atResource(own, token))).toBe(200);
    expect(await statusOf(token)).toBe(401);
    expect(await statusOf(token, "who", await atResource(foreign, token))).toBe(401);
  });

  test("binds the refresh token of a public client, too", async () => {
    const { body } = await redeem(await codeFor(), await atToken(own));
    const token = String(body.refresh_token);
    expect(await refresh(token)).toMatchObject(refused(400, "invalid_grant"));
    expect(await refresh(token, {}, await atToken(foreign))).toMatchObject(refused(400, "invalid_grant"));
    const ten = await Promise.all(Array.from({ length: 10 }, async () => refresh(token, {}, await atToken(own))));
    expect(ten.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(new Set(ten.map((each) => each.body.refresh_token)).size).toBe(1);
    const access = String(ten[0]?.body.access_token);
    expect(await statusOf(access, "who", await atResource(own, access))).toBe(200);
  });

  test("allows a client with a secret to change its key", async () => {
    const secret = { client_secret: SECRET };
    const { body } = await redeem({ ...(await codeFor(SECRETIVE)), ...secret }, await atToken(own));
    const next = await refresh(
      String(body.refresh_token),
      { client_id: "secretive", ...secret },
      await atToken(foreign),
    );
    const access = String(next.body.access_token);
    expect(await statusOf(access, "who", await atResource(foreign, access))).toBe(200);
  });

  test("requires the proof for a code that is bound to a key", async () => {
    const dpop_jkt = await thumbprint(own);
    const form = await codeFor({ ...KNOWN, dpop_jkt });
    expect(await redeem(form)).toMatchObject(refused(400, "invalid_grant"));
    expect(await redeem(form, await atToken(foreign))).toMatchObject(refused(400, "invalid_grant"));
    expect((await redeem(form, await atToken(own))).status).toBe(200);
  });

  test.each<[string, Record<string, unknown>]>([
    ["for another URL", { htu: "https://other.example/token" }],
    ["for another method", { htm: "GET" }],
    ["that is too old", { iat: 1 }],
    ["without an id", { jti: undefined }],
  ])("refuses a proof %s", async (_, claims) => {
    expect(await redeem(await codeFor(), await atToken(own, claims))).toMatchObject(refused(400, "invalid_dpop_proof"));
  });

  test("creates no object for the key of a proof with a code or refresh token that was made up, or has expired", async () => {
    const form = await codeFor();
    const proofs = await Promise.all(
      Array.from({ length: 4 }, async () => atToken(await newKey("ES256", undefined), { iat: now() + 121 })),
    );
    await worker.advance(121_000);
    later += 121;
    const before = await worker.objects("MCP");
    expect(await redeem(form, proofs[0])).toMatchObject(refused(400, "invalid_grant"));
    expect(await redeem({ ...form, code: "code" }, proofs[1])).toMatchObject(refused(400, "invalid_grant"));
    expect(await refresh("token", {}, proofs[2])).toMatchObject(refused(400, "invalid_grant"));
    expect(await redeem({ grant_type: "password", client_id: "known" }, proofs[3])).toMatchObject({ status: 400 });
    expect(await worker.objects("MCP")).toEqual(before);
  });

  test("leaves no database for a key when its proofs have expired", async () => {
    const before = new Set(await worker.objects("MCP", "proof"));
    expect((await redeem(await codeFor(), await atToken(await newKey("ES256", undefined)))).status).toBe(200);
    const [own] = (await worker.objects("MCP", "proof")).filter((id) => !before.has(id));
    await worker.advance(15 * 60_000);
    later += 15 * 60;
    expect(own).toBeDefined();
    expect(await worker.objects("MCP", "proof")).not.toContain(own);
  });

  test("accepts a proof only once", async () => {
    const proof = await atToken(own);
    expect((await redeem(await codeFor(), proof)).status).toBe(200);
    expect(await redeem(await codeFor(), proof)).toMatchObject(refused(400, "invalid_dpop_proof"));
  });
});
