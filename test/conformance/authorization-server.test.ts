/**
 * The authorization server: what the official suite declares or leaves out.
 * The details of each check are in test/worker/authorization-*.test.ts, token-endpoint.test.ts and client-documents.test.ts.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { newKey, type SigningKey } from "../harness/issuer.ts";
import { proofOf, thumbprint } from "../harness/proofs.ts";
import type { Members } from "../http/messages.ts";
import { allow, authorizeUrl, Browser, newVerifier, postForm, register, signIn } from "../worker/authorization.ts";
import { bearer, KNOWN, outcomeOf, principalOf, refresh, setUp, statusOf, url, worker } from "../worker/authorizing.ts";
import { ModernClient } from "../worker/client.ts";

setUp();

const METADATA = "/.well-known/oauth-authorization-server";
const metadata = async () => (await (await fetch(url(METADATA))).json()) as Members;

async function codeFor(asked = KNOWN) {
  const code_verifier = newVerifier();
  const returned = await allow(new Browser(), authorizeUrl(worker.origin, code_verifier, asked), "ada");
  const { client_id, redirect_uri } = asked;
  const code = returned.get("code") ?? "";
  return { returned, form: { grant_type: "authorization_code", code, client_id, redirect_uri, code_verifier } };
}

const redeem = (form: Record<string, string | undefined>, headers = {}) => postForm(url("/token"), form, headers);

describe("the authorization server's metadata", () => {
  test("advertises PKCE with S256 only, so that no client refuses", async () => {
    expect(await metadata()).toMatchObject({ code_challenge_methods_supported: ["S256"] });
  });

  test("has the issuer that the resource names, and every endpoint is under its URL", async () => {
    const resource = (await (await fetch(url("/.well-known/oauth-protected-resource/mcp"))).json()) as Members;
    const found = await metadata();
    expect(resource.authorization_servers).toEqual([found.issuer]);
    for (const name of ["authorization_endpoint", "token_endpoint", "revocation_endpoint", "registration_endpoint"]) {
      expect(new URL(String(found[name])).origin).toBe(found.issuer);
    }
  });

  test("announces iss, which is sent with codes and with errors", async () => {
    expect(await metadata()).toMatchObject({ authorization_response_iss_parameter_supported: true });
    const { returned } = await codeFor();
    expect([returned.get("iss"), returned.get("state")]).toEqual([worker.origin, "state"]);
    expect((await outcomeOf({ response_type: "token" })).client).toMatchObject({ iss: worker.origin });
  });
});

describe("an authorization request", () => {
  test("is refused without S256 (PKCE), and a code needs its verifier", async () => {
    for (const code_challenge_method of ["plain", undefined]) {
      expect((await outcomeOf({ code_challenge_method })).client).toMatchObject({ error: "invalid_request" });
    }
    const { form } = await codeFor();
    expect((await redeem({ ...form, code_verifier: newVerifier() })).body).toMatchObject({ error: "invalid_grant" });
  });

  test("needs an exact redirect URI: only loopback ports may differ, and other schemes are refused", async () => {
    expect((await outcomeOf({ redirect_uri: "https://known.example/callback/" })).status).toBe(400);
    const refused = await register(worker.origin, { redirect_uris: ["javascript:alert(1)"] });
    expect(refused).toMatchObject({ error: "invalid_redirect_uri" });
    const { client_id } = await register(worker.origin);
    const asked = { client_id: String(client_id), redirect_uri: "http://127.0.0.1:50123/callback" };
    expect((await outcomeOf(asked)).status).toBe(200);
  });

  test("names the resource that the token is for, and another resource is refused", async () => {
    expect((await outcomeOf({ resource: "https://other.example/mcp" })).client).toMatchObject({
      error: "invalid_target",
    });
    const { access_token } = await signIn(worker.origin, { ...KNOWN, resource: url() });
    expect(await statusOf(access_token)).toBe(200);
  });

  test("shows the host of the redirect URI on the consent page", async () => {
    expect((await outcomeOf({ prompt: "consent" })).page).toContain('<strong class="host">known.example</strong>');
  });
});

describe("tokens of the authorization server", () => {
  test("are returned in responses that caches do not store", async () => {
    const { headers } = await redeem((await codeFor()).form);
    expect([headers.get("Cache-Control"), headers.get("Content-Type")]).toEqual(["no-store", "application/json"]);
  });

  test("are rotated: each refresh returns a new one, and reuse of an old one ends the access", async () => {
    const { refresh_token } = await signIn(worker.origin, KNOWN);
    const { body: second } = await refresh(refresh_token);
    expect(second.refresh_token).not.toBe(refresh_token);
    const { body: third } = await refresh(String(second.refresh_token));
    await worker.advance(61_000);
    expect((await refresh(refresh_token)).body).toMatchObject({ error: "invalid_grant" });
    expect((await refresh(String(third.refresh_token))).body).toMatchObject({ error: "invalid_grant" });
  });

  test("expire: an access token is then refused with 401, and its refresh token gets a new one", async () => {
    const { access_token, refresh_token } = await signIn(worker.origin, KNOWN);
    await worker.advance(3_601_000);
    expect(await statusOf(access_token)).toBe(401);
    expect(await statusOf(String((await refresh(refresh_token)).body.access_token))).toBe(200);
  });

  test("are required: a token of the identity provider, or of another server, is refused (token passthrough)", async () => {
    expect([await statusOf("access-1"), await statusOf("eyJhbGciOiJub25lIn0.e30.")]).toEqual([401, 401]);
  });

  test("cause 403 without enough scopes, with all scopes that the call needs (step-up)", async () => {
    const { access_token } = await signIn(worker.origin, KNOWN);
    const response = await new ModernClient(url()).call("write", {}, { headers: bearer(access_token) });
    await response.body?.cancel();
    expect([response.status, response.headers.get("WWW-Authenticate")]).toEqual([
      403,
      expect.stringMatching(/error="insufficient_scope".*scope="read write"/),
    ]);
  });
});

describe("DPoP", () => {
  let own: SigningKey;
  let foreign: SigningKey;
  let later = 0;
  beforeAll(async () => {
    [own, foreign] = await Promise.all([newKey("ES256", undefined), newKey("ES256", undefined)]);
    // The tests before have moved the clock of the Worker. By how much follows from the time at which a token expires.
    const { expiresAtMs } = await principalOf((await signIn(worker.origin, KNOWN)).access_token);
    later = Math.round((Number(expiresAtMs) - 3_600_000 - Date.now()) / 1000);
  });

  const nowS = () => Math.floor(Date.now() / 1000) + later;
  const atToken = async (key = own, claims = {}) => ({
    DPoP: await proofOf(key, "", url("/token"), { ath: undefined, iat: nowS(), ...claims }),
  });
  const atResource = async (token: string, key = own, claims = {}) => ({
    authorization: `DPoP ${token}`,
    dpop: await proofOf(key, token, url(), { iat: nowS(), ...claims }),
  });
  const boundToken = async () => String((await redeem((await codeFor()).form, await atToken())).body.access_token);

  test("has the same algorithms in the metadata of the authorization server and of the resource", async () => {
    const resource = (await (await fetch(url("/.well-known/oauth-protected-resource/mcp"))).json()) as Members;
    const own = (await metadata()).dpop_signing_alg_values_supported;
    expect(own).toContain("ES256");
    expect(resource.dpop_signing_alg_values_supported).toEqual(own);
  });

  test("binds a token: its type is DPoP, and it is refused as a Bearer token or with another key", async () => {
    const { body } = await redeem((await codeFor()).form, await atToken());
    expect(body).toMatchObject({ token_type: "DPoP" });
    const token = String(body.access_token);
    expect(await statusOf(token, "who", await atResource(token))).toBe(200);
    expect(await statusOf(token)).toBe(401);
    expect(await statusOf(token, "who", await atResource(token, foreign))).toBe(401);
  });

  test.each([-3_600, 3_600])("refuses a proof with an iat %i s away, at both servers", async (away) => {
    const iat = nowS() + away;
    expect((await redeem((await codeFor()).form, await atToken(own, { iat }))).body).toMatchObject({
      error: "invalid_dpop_proof",
    });
    const token = await boundToken();
    expect(await statusOf(token, "who", await atResource(token, own, { iat }))).toBe(401);
  });

  test("accepts a proof only once at each of the two servers (replay)", async () => {
    const proof = await atToken();
    const { status, body } = await redeem((await codeFor()).form, proof);
    expect(status).toBe(200);
    expect((await redeem((await codeFor()).form, proof)).body).toMatchObject({ error: "invalid_dpop_proof" });
    const token = String(body.access_token);
    const headers = await atResource(token);
    expect([await statusOf(token, "who", headers), await statusOf(token, "who", headers)]).toEqual([200, 401]);
  });

  test("refuses a proof for another access token (ath)", async () => {
    const [one, other] = [await boundToken(), await boundToken()];
    const headers = { ...(await atResource(other)), authorization: `DPoP ${one}` };
    expect(await statusOf(one, "who", headers)).toBe(401);
  });

  test("refuses a proof for another method or URL (htm and htu)", async () => {
    for (const claims of [{ htm: "GET" }, { htu: url() }]) {
      expect((await redeem((await codeFor()).form, await atToken(own, claims))).body).toMatchObject({
        error: "invalid_dpop_proof",
      });
    }
  });

  test("requires the proof for a code that is bound to a key", async () => {
    const { form } = await codeFor({ ...KNOWN, dpop_jkt: await thumbprint(own) });
    expect((await redeem(form)).body).toMatchObject({ error: "invalid_grant" });
    expect((await redeem(form, await atToken(foreign))).body).toMatchObject({ error: "invalid_grant" });
    expect((await redeem(form, await atToken())).status).toBe(200);
  });
});
