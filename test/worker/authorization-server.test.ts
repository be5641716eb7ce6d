/** The authorization server on workerd: signing in, tokens, and refreshes at the same time. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import {
  type Asked,
  authorizeUrl,
  Browser,
  newVerifier,
  postForm,
  signIn,
  type Tokens,
  visit,
} from "./authorization.ts";
import { LegacyClient, ModernClient, readAnswer } from "./client.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/authorization-server.ts",
    objects: { MCP: "McpObject" },
    bindings: { UPSTREAM: "http://127.0.0.1:1" },
    twin: true,
  });
});
afterAll(() => worker?.stop());

const KNOWN: Asked = { client_id: "known", redirect_uri: "https://known.example/callback" };
const url = (path = "/mcp") => worker.url(path);
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function statusOf(token: string): Promise<number> {
  const response = await new ModernClient(url()).call("who", {}, { headers: bearer(token) });
  await response.body?.cancel();
  return response.status;
}

function refresh(token: string, more: Record<string, string> = {}, headers: Record<string, string> = {}) {
  return postForm(
    url("/token"),
    { grant_type: "refresh_token", refresh_token: token, client_id: "known", ...more },
    headers,
  );
}

test("the metadata names the endpoints, only S256, and the support of iss", async () => {
  expect(await (await fetch(url("/.well-known/oauth-authorization-server"))).json()).toEqual({
    issuer: worker.origin,
    authorization_endpoint: url("/authorize"),
    token_endpoint: url("/token"),
    revocation_endpoint: url("/revoke"),
    registration_endpoint: url("/register"),
    scopes_supported: ["read", "write", "admin"],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    revocation_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    dpop_signing_alg_values_supported: ["ES256", "EdDSA", "Ed25519", "PS256", "RS256"],
  });
});

test("the metadata of the resource names the authorization server", async () => {
  for (const path of ["", "/mcp"]) {
    const metadata = await (await fetch(url(`/.well-known/oauth-protected-resource${path}`))).json();
    expect(metadata).toMatchObject({ resource: url(), authorization_servers: [worker.origin] });
  }
});

test("a user signs in and allows a client, whose calls then act for the user in both eras", async () => {
  const tokens = await signIn(worker.origin, { ...KNOWN, scope: "read write", resource: url() });
  expect(tokens).toEqual({
    access_token: expect.any(String),
    refresh_token: expect.any(String),
    token_type: "Bearer",
    expires_in: 3600,
    scope: "read write",
  });
  const modern = await readAnswer(new ModernClient(url()).call("who", {}, { headers: bearer(tokens.access_token) }));
  const session = await LegacyClient.open(url(), { token: tokens.access_token });
  const legacy = await readAnswer(session.call("who"));
  for (const { status, text = "{}" } of [modern, legacy]) {
    expect([status, JSON.parse(text)]).toEqual([
      200,
      {
        issuer: worker.origin,
        subject: expect.stringMatching(/^[\w-]{22}$/),
        scopes: ["read", "write"],
        clientId: "known",
        expiresAtMs: expect.any(Number),
        claims: {
          name: "ada",
          email: "ada@example.com",
          identity: { issuer: "https://people.example", subject: "ada" },
          grant: expect.any(String),
        },
      },
    ]);
  }
});

describe("ten refreshes of one token at the same time", () => {
  async function refreshTen(token: string): Promise<Tokens[]> {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, place) => refresh(token, {}, { "X-Twin": place % 2 === 0 ? "yes" : "no" })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    return answers.map(({ body }) => body as unknown as Tokens);
  }

  test("make one rotation, over two isolates, and leave ten working clients, even after an eviction", {
    tags: "long",
  }, async () => {
    const { refresh_token } = await signIn(worker.origin, KNOWN);
    const first = await refreshTen(refresh_token);
    expect(new Set(first.map((tokens) => JSON.stringify(tokens))).size).toBe(1);
    await worker.evict("McpObject");
    const again = await refreshTen(refresh_token);
    expect(again[0]).toEqual(first[0]);
    expect(again[0]?.refresh_token).not.toBe(refresh_token);
    expect(await statusOf(first[0]?.access_token ?? "")).toBe(200);
    // Each of the ten clients uses what it got.
    await worker.evict("McpObject");
    const next = await refreshTen(first[0]?.refresh_token ?? "");
    expect(new Set(next.map((tokens) => tokens.refresh_token)).size).toBe(1);
    expect(await statusOf(next[0]?.access_token ?? "")).toBe(200);
  });
});

test("a client without its own redirect URI gets no redirect", async () => {
  const shown = await visit(
    new Browser(),
    authorizeUrl(worker.origin, newVerifier(), { ...KNOWN, redirect_uri: "https://evil.example/" }),
    "ada",
  );
  expect(shown.status).toBe(400);
});
