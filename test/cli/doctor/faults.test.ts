/** `mcp-edge doctor` finds each planted fault, and nothing else. */
import { describe, expect, test } from "vitest";
import { challenge, doctor, type Fault, idsOf, plant, type Received, type Reply, TOOL, tokenOf } from "./planted.ts";

const isMethod = ({ message }: Received, ...names: readonly string[]) => names.includes(String(message.method));
const error = (status: number, message: string): Reply => ({
  status,
  body: { jsonrpc: "2.0", id: null, error: { code: -32000, message } },
});
const nowS = Math.floor(Date.now() / 1_000);

interface Row {
  readonly name: string;
  readonly fault: Fault;
  readonly args?: readonly string[];
  /** The ids and severities of all findings. */
  readonly found: readonly string[];
  readonly by: string;
  /** A part of what to change. */
  readonly fix: RegExp;
}

/** Faults of the endpoint, the handshake, the session and the stream. */
const CONNECTION: readonly Row[] = [
  {
    name: "a redirect to another address",
    fault: {
      reply: ({ path, origin }) =>
        path === "/mcp" ? { status: 307, headers: { location: `${origin}/mcp/` } } : undefined,
    },
    found: ["redirects breaks", "redirects degrades"],
    by: "configuration",
    fix: /Enter the final address in the host: http:\/\/127\.0\.0\.1:\d+\/mcp\/$/,
  },
  {
    name: "a web page in place of the endpoint",
    fault: { reply: ({ method }) => (method === "GET" ? undefined : { status: 200, body: "<h1>Welcome</h1>" }) },
    found: ["not-an-endpoint breaks"],
    by: "configuration",
    fix: /with its path/,
  },
  {
    name: "bot protection in front of the server",
    fault: { reply: () => ({ status: 403, headers: { "cf-mitigated": "challenge" }, body: "<h1>Just a moment</h1>" }) },
    found: ["blocked breaks"],
    by: "network",
    fix: /Exclude the path/,
  },
  {
    name: "a proxy that changes the host",
    fault: { reply: () => error(403, "Invalid Host: internal.example") },
    found: ["host-refused breaks"],
    by: "configuration",
    fix: /Let the server accept 127\.0\.0\.1/,
  },
  {
    name: "an exception on initialize",
    fault: { reply: (request) => (isMethod(request, "initialize") ? { status: 500, body: {} } : undefined) },
    found: ["server-error breaks"],
    by: "server",
    fix: /exception/,
  },
  {
    name: "a limit on requests",
    fault: { reply: () => ({ status: 429, headers: { "retry-after": "9" } }) },
    found: ["rate-limited breaks"],
    by: "configuration",
    fix: /Raise the limit/,
  },
  {
    name: "a refusal of the protocol version",
    fault: { reply: (request) => (isMethod(request, "initialize") ? error(400, "Unsupported version") : undefined) },
    found: ["handshake-refused breaks"],
    by: "server",
    fix: /every protocol version/,
  },
  {
    name: "a protocol version that does not exist",
    fault: { initialized: { protocolVersion: "2027-01-01" } },
    found: ["version-unknown breaks"],
    by: "server",
    fix: /that the client offers/,
  },
  {
    name: "an Accept header in only one order",
    fault: {
      reply: ({ headers }) =>
        headers.accept?.startsWith("text/event-stream, ") ? error(406, "Not acceptable") : undefined,
    },
    found: ["accept-order breaks"],
    by: "server",
    fix: /in any order/,
  },
  {
    name: "a refusal of notifications/initialized",
    fault: { reply: (request) => (isMethod(request, "notifications/initialized") ? error(400, "No id") : undefined) },
    found: ["initialized-refused breaks"],
    by: "server",
    fix: /202/,
  },
  {
    name: "a refusal of the negotiated version in its header",
    fault: {
      reply: ({ headers }) => (headers["mcp-protocol-version"] ? error(400, "Unsupported version header") : undefined),
    },
    found: ["version-header-refused breaks"],
    by: "server",
    fix: /negotiated version/,
  },
  {
    name: "a session that is lost on another instance",
    fault: { reply: alternating((request) => isMethod(request, "ping") && error(404, "Session not found")) },
    found: ["session-lost breaks"],
    by: "server",
    fix: /a store that all instances share/,
  },
  {
    name: "only one session at a time",
    fault: { reply: onlyFirst("initialize", error(400, "Server already initialized")) },
    found: ["second-session breaks"],
    by: "server",
    fix: /for each session/,
  },
  {
    name: "400 in place of 404 for an unknown session",
    fault: { reply: (_, correct) => (correct().status === 404 ? error(400, "No valid session ID") : undefined) },
    found: ["session-404 degrades"],
    by: "server",
    fix: /Respond with 404/,
  },
  {
    name: "401 in place of 404 for an unknown session",
    fault: {
      reply: ({ path }, correct) =>
        path === "/mcp" && correct().status === 404 ? error(401, "unknown session") : undefined,
    },
    found: ["session-404 breaks"],
    by: "server",
    fix: /Respond with 404/,
  },
  {
    name: "400 in place of 405 for GET",
    fault: { reply: ({ method }) => (method === "GET" ? error(400, "No sessionId") : undefined) },
    found: ["stream-refused degrades"],
    by: "server",
    fix: /405/,
  },
  {
    name: "a proxy that holds the stream back",
    fault: { reply: ({ method }) => (method === "GET" ? { status: 200, never: true } : undefined) },
    args: ["--timeout", "400ms"],
    found: ["stream-buffered degrades"],
    by: "network",
    fix: /buffering/,
  },
];

/** Faults of the lists, and limits of hosts. */
const LISTS: readonly Row[] = [
  {
    name: "a list that fails",
    fault: { reply: (request) => (isMethod(request, "tools/list") ? error(200, "boom") : undefined) },
    found: ["tools-failed breaks"],
    by: "server",
    fix: /tools/,
  },
  {
    name: "a list without end",
    fault: {
      reply: ({ message }) =>
        message.method === "tools/list"
          ? { status: 200, body: { jsonrpc: "2.0", id: message.id, result: { tools: [], nextCursor: "again" } } }
          : undefined,
    },
    found: ["list-endless breaks"],
    by: "server",
    fix: /nextCursor/,
  },
  {
    name: "tools that are not declared",
    fault: { initialized: { capabilities: {} } },
    found: ["tools-undeclared breaks"],
    by: "server",
    fix: /Declare/,
  },
  {
    name: "a tool without a schema",
    fault: { tools: [TOOL, { name: "bare", description: "x" }] },
    found: ["tool-invalid breaks"],
    by: "server",
    fix: /"type": "object"/,
  },
  {
    name: "two tools with one name",
    fault: { tools: [TOOL, TOOL] },
    found: ["name-duplicate breaks"],
    by: "server",
    fix: /Rename/,
  },
  {
    name: "a schema that hosts drop",
    fault: { tools: [{ ...TOOL, inputSchema: { type: "object", description: "x".repeat(16_400) } }] },
    found: ["schema-too-large degrades"],
    by: "host",
    fix: /Shorten the descriptions/,
  },
  {
    name: "a schema that a model's provider would refuse",
    fault: { tools: [{ ...TOOL, inputSchema: { type: "object", anyOf: [{ required: ["a"] }] } }] },
    found: ["schema-combined degrades"],
    by: "host",
    fix: /one object/,
  },
  {
    name: "a name with a dot",
    fault: { tools: [{ ...TOOL, name: "files.read" }] },
    found: ["name-characters breaks"],
    by: "host",
    fix: /_ in place of a dot/,
  },
  {
    name: "a name that is too long with the name of the server",
    fault: { tools: [{ ...TOOL, name: "a".repeat(54) }] },
    found: ["name-too-long degrades"],
    by: "host",
    fix: /shorter name/,
  },
  {
    name: "a description that is cut",
    fault: { tools: [{ ...TOOL, description: "x".repeat(2_049) }] },
    found: ["description-cut degrades"],
    by: "host",
    fix: /what matters first/,
  },
  {
    name: "too many tools",
    fault: { tools: Array.from({ length: 129 }, (_, index) => ({ ...TOOL, name: `tool${index}` })) },
    found: ["too-many-tools breaks"],
    by: "host",
    fix: /Combine tools/,
  },
];

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
    args: ["--host", "claude-code", "claude"],
    found: ["resource-path breaks"],
    by: "configuration",
    fix: /"resource": "http:\/\/127\.0\.0\.1:\d+\/mcp"/,
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
    name: "a scope that is never issued",
    fault: {
      isProtected: true,
      reply: ({ path, origin }) => (path === "/mcp" ? challenge(origin, ', scope="admin"') : undefined),
    },
    found: ["scope-unknown breaks"],
    by: "configuration",
    fix: /Create these scopes/,
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

/** Faults that concern pages. */
const PAGES: readonly Row[] = [
  {
    name: "no response to a preflight",
    fault: { reply: ({ method }) => (method === "OPTIONS" ? { status: 404 } : undefined) },
    found: ["cors-preflight breaks"],
    by: "configuration",
    fix: /Access-Control-Allow-Origin/,
  },
  {
    name: "a preflight that does not admit Authorization",
    fault: {
      reply: ({ method }, correct) => {
        const headers = { "access-control-allow-origin": "*", "access-control-expose-headers": "Mcp-Session-Id" };
        if (method === "OPTIONS") return { status: 204, headers: { ...headers, "access-control-allow-headers": "*" } };
        const { headers: own, ...rest } = correct();
        return { ...rest, headers: { ...own, ...headers } };
      },
    },
    found: ["cors-headers breaks"],
    by: "configuration",
    fix: /Access-Control-Allow-Headers/,
  },
  {
    name: "a session id that a page cannot read",
    fault: {
      reply: ({ method }, correct) => {
        const headers = { "access-control-allow-origin": "*", "access-control-allow-headers": "authorization, *" };
        if (method === "OPTIONS") return { status: 204, headers };
        const { headers: own, ...rest } = correct();
        return { ...rest, headers: { ...own, ...headers } };
      },
    },
    found: ["cors-exposed breaks"],
    by: "configuration",
    fix: /Access-Control-Expose-Headers/,
  },
];

/** Replies to every second request that a function refuses. */
function alternating(refuse: (request: Received) => Reply | false): NonNullable<Fault["reply"]> {
  let count = 0;
  return (request) => {
    const refused = refuse(request);
    if (refused === false) return undefined;
    count += 1;
    return count % 2 === 0 ? refused : undefined;
  };
}

/** Refuses a method after its first request, and the second order of Accept. */
function onlyFirst(method: string, refused: Reply): NonNullable<Fault["reply"]> {
  let count = 0;
  return (request) => {
    if (!isMethod(request, method)) return undefined;
    count += 1;
    return count > 1 ? refused : undefined;
  };
}

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

async function expectFound({ fault, args = [], found, by, fix }: Row, more: readonly string[] = [], url?: string) {
  await using server = await plant(fault);
  const report = await doctor(url ?? server.url, ...args, ...more);
  expect(idsOf(report).sort()).toEqual([...found].sort());
  const main = report.findings.find(({ id, severity }) => `${id} ${severity}` === found[0]);
  expect(main).toMatchObject({ fault: by, fix: expect.stringMatching(fix) });
  expect(report.code).toBe(report.hosts.some(({ outcome }) => outcome === "breaks") ? 3 : 0);
  return { report, server };
}

test("a correct server without a fault has no findings, and works in every host that can reach it", async () => {
  for (const fault of [{}, { isProtected: true }] satisfies Fault[]) {
    await using server = await plant(fault);
    const report = await doctor(server.url);
    expect(idsOf(report)).toEqual([]);
    expect(report.code).toBe(0);
    const outcomes = new Set(report.hosts.map(({ outcome }) => outcome));
    expect(outcomes).toEqual(new Set(["unreachable", "isProtected" in fault ? "signs-in" : "works"]));
  }
});

describe("the connection", () => {
  test.each(CONNECTION)("finds $name", (row) => expectFound(row));

  test("finds a server that is not running", async () => {
    const server = await plant();
    await server[Symbol.asyncDispose]();
    const report = await doctor(server.url);
    expect(report.findings).toMatchObject([{ id: "connection-refused", step: "address", fault: "network" }]);
    expect(report.code).toBe(3);
  });

  test("finds a name that does not exist, without encryption", async () => {
    const report = await doctor("http://no-such-name.invalid/mcp");
    expect(idsOf(report)).toEqual(["plain-http breaks", "dns-unknown breaks", "plain-http degrades"]);
  });

  test("names the address of the endpoint if the path is wrong", async () => {
    await using server = await plant();
    const report = await doctor(server.url.replace("/mcp", "/"));
    expect(report.findings).toMatchObject([
      { id: "not-an-endpoint", fix: `Enter this address in the host: ${server.url}` },
    ]);
  });

  test("finds a server that does not respond", async () => {
    await using server = await plant({ reply: () => ({ status: 200, never: true }) });
    expect(idsOf(await doctor(server.url, "--timeout", "300ms"))).toEqual(["no-response breaks"]);
  });
});

describe("the lists", () => {
  test.each(LISTS)("finds $name", (row) => expectFound(row));
});

describe("the sign-in", () => {
  test.each(SIGN_IN)("finds $name", (row) => expectFound(row));

  test.each(TOKENS)("finds $name", async ({ claims, ...row }) => {
    await using server = await plant(row.fault);
    const token = tokenOf(claims(server.url));
    await expectFound(row, ["--header", `Authorization: Bearer ${token}`], server.url);
  });
});

describe("pages", () => {
  test.each(PAGES)("finds $name", (row) => expectFound(row, ["--origin", "https://app.example.com"]));
});

test("calls no tool unless --call names one, and finds a result that hosts cut", async () => {
  const text = "x".repeat(160_000);
  await using server = await plant({
    reply: ({ message }) =>
      message.method === "tools/call"
        ? { status: 200, body: { jsonrpc: "2.0", id: message.id, result: { content: [{ type: "text", text }] } } }
        : undefined,
  });
  expect(idsOf(await doctor(server.url))).toEqual([]);
  expect(server.received).not.toContain("tools/call");
  expect(idsOf(await doctor(server.url, "--call", "add"))).toEqual(["result-cut degrades"]);
  expect(idsOf(await doctor(server.url, "--call", "ad"))).toEqual(["tool-unknown breaks"]);
});
