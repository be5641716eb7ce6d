/** `workersOAuthProvider()` on workerd, with the real provider in the same Worker. */
import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { workersOAuthProvider } from "../../src/worker/access/auth/index.ts";
import { expectLogs } from "../harness/logs.ts";
import type { Members } from "../http/messages.ts";
import { LegacyClient, ModernClient, readAnswer } from "./client.ts";

expectLogs(
  /^CIMD \(Client ID Metadata Document\) is disabled/,
  /^mcp-edge: \[flag-missing\] ctx\.signal aborts late/,
  /^OAuth error response: 401 invalid_token/,
  /^mcp-edge: "\(auth\)" failed .* workersOAuthProvider\(\)/,
);

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ wrangler: "test/worker/fixtures/oauth-provider/wrangler.toml" });
});
afterAll(() => worker?.stop());

const url = (path = "/mcp") => worker.url(path);
const REDIRECT = "http://127.0.0.1:1/callback";

async function post(path: string, body: URLSearchParams | string): Promise<Members> {
  const headers = typeof body === "string" ? { "Content-Type": "application/json" } : {};
  const response = await fetch(url(path), { method: "POST", body, headers });
  return (await response.json()) as Members;
}

/** Signs in as a client does: registration, authorization with PKCE, and the exchange of the code. */
async function signIn(scope: string): Promise<{ readonly token: string; readonly clientId: string }> {
  const registration = { redirect_uris: [REDIRECT], token_endpoint_auth_method: "none", client_name: "test" };
  const { client_id } = await post("/register", JSON.stringify(registration));
  const verifier = randomBytes(32).toString("base64url");
  const asked = {
    response_type: "code",
    client_id: String(client_id),
    redirect_uri: REDIRECT,
    scope,
    state: "state",
    resource: "https://mcp.example.com/mcp",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  };
  const approved = await fetch(url(`/authorize?${new URLSearchParams(asked)}`), { redirect: "manual" });
  const code = new URL(approved.headers.get("Location") ?? "").searchParams.get("code") ?? "";
  const { client_id: clientId, redirect_uri, resource } = asked;
  const grant = { grant_type: "authorization_code", code, client_id: clientId, redirect_uri, resource };
  const issued = await post("/token", new URLSearchParams({ ...grant, code_verifier: verifier }));
  return { token: String(issued.access_token), clientId };
}

test("a token of the provider acts for its user, with its scopes, its client and the chosen claims, in both eras", async () => {
  const { token, clientId } = await signIn("read");
  const headers = { authorization: `Bearer ${token}` };
  const modern = await readAnswer(new ModernClient(url()).call("who", {}, { headers }));
  const session = await LegacyClient.open(url(), { token });
  const legacy = await readAnswer(session.call("who"));
  for (const { status, text = "{}" } of [modern, legacy]) {
    const auth = JSON.parse(text) as Members;
    expect([status, auth]).toEqual([
      200,
      {
        issuer: "https://mcp.example.com",
        subject: "ada",
        scopes: ["read"],
        claims: { email: "ada@example.com" },
        clientId,
        expiresAtMs: expect.any(Number),
      },
    ]);
    expect(Math.abs(Number(auth.expiresAtMs) - Date.now() - 600_000)).toBeLessThan(60_000);
  }
});

test("a token of the provider needs the scopes that a definition requires", async () => {
  const call = async (scope: string) => {
    const headers = { authorization: `Bearer ${(await signIn(scope)).token}` };
    const response = await new ModernClient(url()).call("write", {}, { headers });
    await response.body?.cancel();
    return [response.status, response.headers.get("WWW-Authenticate")];
  };
  expect(await call("read")).toEqual([403, expect.stringContaining('error="insufficient_scope"')]);
  expect((await call("read write"))[0]).toBe(200);
});

test("the provider refuses a request without a token and a request with an invalid token", async () => {
  for (const headers of [{}, { authorization: "Bearer ada:grant:secret" }]) {
    const response = await new ModernClient(url()).call("who", {}, { headers });
    await response.body?.cancel();
    expect([response.status, response.headers.get("WWW-Authenticate")]).toEqual([
      401,
      expect.stringMatching(/^Bearer/),
    ]);
  }
});

test("a request that did not pass through the provider is refused with 500, even with a valid token", async () => {
  const { token } = await signIn("read");
  const headers = { authorization: `Bearer ${token}`, "X-Direct": "yes" };
  const { status, raw } = await readAnswer(new ModernClient(url()).call("who", {}, { headers }));
  expect(status).toBe(500);
  expect(JSON.parse(raw)).toMatchObject({ error: { code: -32603, data: { reason: "internal" } } });
  expect(raw).not.toContain('"ada"');
});

test("a token without a user is refused, unless the author names its subject", async () => {
  const auth = { token: "external", scope: ["read"] };
  const execution = { auth, props: { account: "acme" }, waitUntil: () => undefined };
  const given = { request: new Request(url()), env: {}, resource: url(), execution };
  expect(await workersOAuthProvider()("external", given)).toBeNull();
  const subject = ({ account }: { account: string }) => account;
  expect(await workersOAuthProvider({ subject })("external", given)).toEqual({ subject: "acme", scopes: ["read"] });
});

test.each([
  ["claims", { claims: "email" }],
  ["subject", { subject: 7 }],
  ["unknown", { unknown: 1 }],
])("an invalid option %s is refused", (name, options) => {
  expect(() => workersOAuthProvider(options as never)).toThrow(name);
});
