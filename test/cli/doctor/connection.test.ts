/** `mcp-edge doctor` finds each planted fault of the connection, and nothing else. */
import { describe, expect, test } from "vitest";
import { explainFailure } from "../../../src/cli/commands/doctor/address.ts";
import { doctor, type Fault, idsOf, plant, type Received, type Reply, recognized, TOOL } from "./planted.ts";
import { error, expectFound, isMethod, type Row } from "./rows.ts";

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
    name: "a changed host that only GET refuses",
    fault: {
      reply: ({ method }) => (method === "GET" ? error(403, 'Host "internal.example" is not allowed.') : undefined),
    },
    found: ["host-refused degrades"],
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
    name: "a session id removed from requests",
    fault: {
      reply: (request) => (isMethod(request, "initialize") ? undefined : error(400, "Mcp-Session-Id is missing.")),
    },
    found: ["session-removed breaks"],
    by: "network",
    fix: /forward the header Mcp-Session-Id/,
  },
  {
    name: "a session id removed from responses",
    fault: {
      reply: (request, correct) => {
        if (isMethod(request, "initialize")) return { ...correct(), headers: {} };
        return error(400, "Bad Request: Mcp-Session-Id header is required");
      },
    },
    found: ["session-removed breaks"],
    by: "network",
    fix: /forward the header Mcp-Session-Id/,
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
    name: "a proxy that changes Accept",
    fault: {
      reply: (request, correct) =>
        request.method === "GET" ? error(406, "Not acceptable.") : recognized("not-jsonrpc")(request, correct),
    },
    found: ["stream-refused degrades"],
    by: "network",
    fix: /forward the header Accept unchanged/,
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

/** Faults of streams and of the version without a handshake. */
const MORE: readonly Row[] = [
  {
    name: "a stream that cannot be resumed, although its events have ids",
    fault: {
      reply: ({ method, message, headers }) => {
        const stream = { "content-type": "text/event-stream" };
        if (headers["last-event-id"]) return error(400, "Unknown event");
        if (method === "GET") return { status: 200, headers: stream, body: ": open\n\n" };
        if (message.method !== "ping") return undefined;
        const data = JSON.stringify({ jsonrpc: "2.0", id: message.id, result: {} });
        return { status: 200, headers: stream, body: `id: 7\ndata: ${data}\n\n` };
      },
    },
    found: ["resume-refused degrades"],
    by: "server",
    fix: /Last-Event-ID/,
  },
  {
    name: "a version without a handshake that is announced, but not served",
    fault: { reply: discovering((request) => (isMethod(request, "server/discover") ? undefined : false)) },
    found: ["modern-broken breaks"],
    by: "server",
    fix: /Serve tools\/list/,
  },
  {
    name: "a server without a handshake",
    fault: {
      reply: discovering((request) => (isMethod(request, "initialize") ? error(400, "Use 2026-07-28") : undefined)),
    },
    found: ["modern-only note"],
    by: "host",
    fix: /with a handshake/,
  },
];

/**
 * Serves 2026-07-28 in addition. @param refuse Returns a refusal; false refuses a modern request because of its headers.
 */
function discovering(refuse: (request: Received) => Reply | false | undefined): NonNullable<Fault["reply"]> {
  return (request) => {
    const { message, headers } = request;
    const isModern = headers["mcp-method"] !== undefined;
    const refused = refuse(request);
    if (refused === false) return isModern ? error(400, "Missing session") : undefined;
    if (refused || !isModern) return refused;
    const results: Record<string, object> = {
      "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, resultType: "complete" },
      "tools/list": { tools: [TOOL], resultType: "complete" },
    };
    return { status: 200, body: { jsonrpc: "2.0", id: message.id, result: results[String(message.method)] } };
  };
}

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
  test.each([...CONNECTION, ...MORE])("finds $name", (row) => expectFound(row));

  test.each([
    ["CERT_HAS_EXPIRED", "tls-invalid"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "tls-invalid"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "tls-invalid"],
    ["ENOTFOUND", "dns-unknown"],
    ["EHOSTUNREACH", "connection-refused"],
    ["UND_ERR_SOCKET", "connection-broken"],
    ["too-large", "connection-broken"],
  ])("explains %s as %s", (failure, id) => {
    const url = new URL("https://example.com/mcp");
    expect(explainFailure(url, { failure, message: "why" })).toMatchObject({
      id,
      what: expect.stringContaining(failure),
    });
  });

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
