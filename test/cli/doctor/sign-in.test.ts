/** `mcp-edge doctor` finds each planted fault of the sign-in, and nothing else. */
import { describe, test } from "vitest";
import { challenge, type Fault, plant, tokenOf } from "./planted.ts";
import { expectFound, isMethod, type Row } from "./rows.ts";

const nowS = Math.floor(Date.now() / 1_000);

/** Faults of the sign-in. */
const SIGN_IN: readonly Row[] = [
  {
    name: "a 401 without a challenge",
    fault: {
      isProtected: true,
      reply: ({ path, headers }) => (path === "/mcp" && !headers.authorization ? { status: 401 } : undefined),
    },
    found: ["challenge-missing degrades"],
    by: "server",
    fix: /WWW-Authenticate/,
  },
  {
    name: "403 in place of 401",
    fault: { reply: () => ({ status: 403, body: { error: "token missing" } }) },
    found: ["refused-403 breaks"],
    by: "server",
    fix: /401/,
  },
  {
    name: "no protected resource metadata",
    fault: { reply: ({ path, origin }) => (path === "/mcp" ? challenge(origin) : { status: 404 }) },
    found: ["metadata-unreachable breaks"],
    by: "server",
    fix: /Serve the protected resource metadata/,
  },
  {
    name: "metadata at an internal host",
    fault: {
      isProtected: true,
      reply: ({ path }) => (path === "/mcp" ? challenge("http://internal.example:8080") : undefined),
    },
    found: ["metadata-host breaks"],
    by: "configuration",
    fix: /forward Host/,
  },
  {
    name: "metadata about an internal host",
    fault: { isProtected: true, resource: () => ({ resource: "http://internal.example:8080/mcp" }) },
    found: ["resource-host breaks"],
    by: "configuration",
    fix: /forward Host/,
  },
  {
    name: "metadata about http: where TLS ends before the server",
    fault: { isProtected: true, resource: (origin) => ({ resource: `${origin.replace("http:", "https:")}/mcp` }) },
    found: ["resource-scheme breaks"],
    by: "configuration",
    fix: /X-Forwarded-Proto/,
  },
  {
    name: "metadata about the origin in place of the URL",
    fault: { isProtected: true, resource: (origin) => ({ resource: origin }) },
    args: ["--host", "claude-code", "--host", "claude"],
    found: ["resource-path breaks"],
    by: "configuration",
    fix: /"resource": "http:\/\/127\.0\.0\.1:\d+\/mcp"/,
  },
  {
    name: "metadata without a resource",
    fault: { isProtected: true, resource: () => ({ resource: undefined }) },
    found: ["resource-missing breaks"],
    by: "configuration",
    fix: /Write "resource"/,
  },
  {
    name: "no metadata at all",
    fault: {
      reply: ({ path }) =>
        path === "/mcp" ? { status: 401, headers: { "www-authenticate": "Bearer" } } : { status: 404 },
    },
    found: ["metadata-missing breaks"],
    by: "server",
    fix: /authorization_servers/,
  },
  {
    name: "metadata that a host does not find",
    fault: {
      isProtected: true,
      reply: ({ path, headers }) => {
        if (path === "/.well-known/oauth-protected-resource") return { status: 404 };
        return path === "/mcp" && !headers.authorization
          ? { status: 401, headers: { "www-authenticate": "Bearer" } }
          : undefined;
      },
    },
    found: ["metadata-root degrades"],
    by: "server",
    fix: /Announce/,
  },
  {
    name: "a token endpoint without encryption",
    fault: { isProtected: true, issuer: () => ({ token_endpoint: "http://login.example.com/token" }) },
    found: ["endpoint-invalid breaks"],
    by: "configuration",
    fix: /https:/,
  },
  {
    name: "metadata without an authorization server",
    fault: { isProtected: true, resource: () => ({ authorization_servers: [] }) },
    found: ["issuer-missing breaks"],
    by: "server",
    fix: /authorization_servers/,
  },
  {
    name: "an authorization server without metadata",
    fault: { isProtected: true, resource: (origin) => ({ authorization_servers: [`${origin}/nowhere`] }) },
    found: ["issuer-unreachable breaks"],
    by: "configuration",
    fix: /well-known URL/,
  },
  {
    name: "an issuer with another final slash",
    fault: { isProtected: true, issuer: (origin) => ({ issuer: `${origin}/` }) },
    found: ["issuer-mismatch breaks"],
    by: "configuration",
    fix: /final slash/,
  },
  {
    name: "no PKCE",
    fault: { isProtected: true, issuer: () => ({ code_challenge_methods_supported: ["plain"] }) },
    found: ["pkce-missing breaks"],
    by: "configuration",
    fix: /S256/,
  },
  {
    name: "no way to register a client",
    fault: { isProtected: true, issuer: () => ({ registration_endpoint: undefined }) },
    found: ["registration-missing degrades"],
    by: "configuration",
    fix: /client id/,
  },
  {
    name: "a scope that the authorization server does not list",
    fault: {
      isProtected: true,
      reply: ({ path, origin }) => (path === "/mcp" ? challenge(origin, ', scope="admin"') : undefined),
    },
    found: ["scope-unknown note"],
    by: "configuration",
    fix: /Check that the authorization server issues/,
  },
  {
    name: "a clock that is ten minutes behind",
    fault: {
      isProtected: true,
      reply: ({ path, origin }) => {
        if (path !== "/mcp") return undefined;
        const { headers, ...rest } = challenge(origin);
        return { ...rest, headers: { ...headers, date: new Date(Date.now() - 600_000).toUTCString() } };
      },
    },
    found: ["clock-skew degrades"],
    by: "server",
    fix: /Synchronize/,
  },
];

/** Faults that only a token shows. */
const TOKENS: readonly (Row & { readonly claims: (url: string) => Record<string, unknown> })[] = [
  {
    name: "an expired token",
    fault: refusing(),
    claims: (url) => ({ aud: url, exp: nowS - 90 }),
    found: ["token-expired breaks"],
    by: "configuration",
    fix: /Sign in again/,
  },
  {
    name: "a token of an issuer whose clock is ahead",
    fault: refusing(),
    claims: (url) => ({ aud: url, nbf: nowS + 600, exp: nowS + 900 }),
    found: ["token-early breaks"],
    by: "configuration",
    fix: /clock of the authorization server/,
  },
  {
    name: "a token for another audience",
    fault: refusing(),
    claims: () => ({ aud: "https://api.example.com", exp: nowS + 900 }),
    found: ["token-audience breaks"],
    by: "configuration",
    fix: /parameter resource/,
  },
  {
    name: "a token of another issuer",
    fault: refusing(),
    claims: (url) => ({ aud: url, iss: "https://other.example.com", exp: nowS + 900 }),
    found: ["token-issuer breaks"],
    by: "configuration",
    fix: /issuer/,
  },
  {
    name: "a token that is refused without a reason",
    fault: refusing(),
    claims: (url) => ({ aud: url, exp: nowS + 900 }),
    found: ["token-refused breaks"],
    by: "server",
    fix: /signature/,
  },
  {
    name: "a token that lacks a scope",
    fault: forbidding(),
    claims: (url) => ({ aud: url, scope: "read", exp: nowS + 900 }),
    found: ["token-scope breaks"],
    by: "configuration",
    fix: /scopes_supported/,
  },
  {
    name: "a scope that does not suffice although the token has it",
    fault: forbidding(),
    claims: (url) => ({ aud: url, scope: "read write", exp: nowS + 900 }),
    found: ["scope-never-enough breaks"],
    by: "server",
    fix: /all scopes/,
  },
  {
    name: "a token that initialize accepts and tools/list refuses",
    fault: {
      isProtected: true,
      reply: (request) => (isMethod(request, "tools/list") ? challenge(request.origin) : undefined),
    },
    claims: () => ({ aud: "https://api.example.com", exp: nowS + 900 }),
    found: ["token-audience breaks", "token-late breaks"],
    by: "configuration",
    fix: /parameter resource/,
  },
  {
    name: "an expired token that is accepted",
    fault: { isProtected: true },
    claims: (url) => ({ aud: url, exp: nowS - 3_600 }),
    found: ["token-expiry-ignored degrades"],
    by: "server",
    fix: /Verify exp/,
  },
];

/** Refuses every token with 401. */
function refusing(): Fault {
  return { isProtected: true, reply: ({ path, origin }) => (path === "/mcp" ? challenge(origin) : undefined) };
}

/** Refuses every token with 403, because it lacks the scope `write`. */
function forbidding(): Fault {
  const reply: Fault["reply"] = ({ path, origin }) =>
    path === "/mcp" ? { ...challenge(origin, ', error="insufficient_scope", scope="write"'), status: 403 } : undefined;
  return { isProtected: true, reply };
}

describe("the sign-in", () => {
  test.each(SIGN_IN)("finds $name", (row) => expectFound(row));

  test.each(TOKENS)("finds $name", async ({ claims, ...row }) => {
    await using server = await plant(row.fault);
    const token = tokenOf(claims(server.url));
    await expectFound(row, ["--header", `Authorization: Bearer ${token}`], server.url);
  });
});
