/** Rows about HTTP itself: content type, accept, method, origin, host, authorization. */

import { both, type Expected, type Row, row } from "./ladder-row.ts";
import { CONTENT, type Era, type Headers, initialize, NEWEST_LEGACY, post } from "./messages.ts";
import type { Ask } from "./wire.ts";

const ROW = "RFC 9110, Content-Type, Accept and methods";
const ACCEPT = "transports, Sending Messages: JSON or SSE, as Accept allows";
const ORIGIN = "streamable-http, Security: an invalid Origin is 403";
const HOST = "http/origin: a Host that is not allowed is 403";
const SERVED: Expected = { status: 200, id: 7 };
const JSON_ANSWER: Expected = { ...SERVED, contentType: "application/json" };
const SSE_ANSWER: Expected = { ...SERVED, contentType: "text/event-stream" };

const CONTENT_TYPES: readonly Row[] = [
  ...[
    undefined,
    "",
    "text/plain",
    "text/json",
    "application/json-patch+json",
    "application/jsonp",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain; application/json",
    "garbage",
  ].flatMap((type) =>
    both(
      `content-type ${type ?? "missing"}`,
      (era) => post(era, { headers: { "content-type": type } }),
      { status: 415, code: -32600, names: /content-type/i },
      ROW,
    ),
  ),
  ...[
    "application/json;charset=utf-8",
    "application/json; charset=UTF-8",
    "Application/JSON",
    "application/json ; a=b",
  ].flatMap((type) =>
    both(
      `content-type ${type}`,
      (era) => post(era, { headers: { "content-type": type } }),
      JSON_ANSWER,
      "RFC 9110, 8.3.1: types are case-insensitive and may carry parameters",
    ),
  ),
];

const ACCEPTS: readonly Row[] = [
  ...[
    { accept: undefined, expected: JSON_ANSWER },
    { accept: "*/*", expected: JSON_ANSWER },
    { accept: "application/json", expected: JSON_ANSWER },
    { accept: "application/*", expected: JSON_ANSWER },
    { accept: "APPLICATION/JSON, Text/Event-Stream", expected: JSON_ANSWER },
    { accept: "application/json;q=0.5,text/event-stream;q=0.9", expected: JSON_ANSWER },
    { accept: "application/json; charset=utf-8, text/event-stream", expected: JSON_ANSWER },
    { accept: "text/html, */*;q=0.1", expected: JSON_ANSWER },
    { accept: "text/event-stream;q=0, application/json", expected: JSON_ANSWER },
    { accept: "text/event-stream", expected: SSE_ANSWER },
    { accept: "text/*", expected: SSE_ANSWER },
    { accept: "application/json;q=0, text/event-stream", expected: SSE_ANSWER },
    { accept: "application/json;q=0.000, */*", expected: SSE_ANSWER },
  ].flatMap(({ accept, expected }) =>
    both(`accept ${accept ?? "missing"}`, (era) => post(era, { headers: { accept } }), expected, ACCEPT),
  ),
  ...[
    "text/html",
    "application/xml, image/*",
    "application/json;q=0, text/event-stream;q=0",
    "application/json; q=0.0",
    "*/*;q=0",
    "application/jsonp",
  ].flatMap((accept) =>
    both(
      `accept ${accept}`,
      (era) => post(era, { headers: { accept } }),
      { status: 406, code: -32600, names: /accept/i },
      ROW,
    ),
  ),
];

function withMethod(era: Era, method: string): Ask {
  const { body, ...ask } = post(era);
  return { ...ask, method, ...(method === "GET" || method === "HEAD" ? {} : { body: body ?? "" }) };
}

/** GETs of legacy clients that are refused. Served GETs are tested in test/worker. */
const GETS: readonly Row[] = (
  [
    [
      "without a session, with a cursor",
      { "mcp-session-id": undefined, "last-event-id": "zzzzzz-mwq5c4he-1" },
      { status: 400, code: -32600 },
    ],
    ["of an unknown session", { "mcp-session-id": "garbage" }, { status: 404, code: -32600 }],
    ["that accepts JSON only", { accept: "application/json" }, { status: 406, code: -32600 }],
    ["with a version that is not served", { "mcp-protocol-version": "1999-01-01" }, { status: 400, code: -32600 }],
    ["with an invalid cursor", { "last-event-id": "garbage" }, { status: 400, code: -32600 }],
    ["with a cursor of another session", { "last-event-id": "zzzzzz-mwq5c4he-1" }, { status: 400, code: -32600 }],
  ] as const
).map(([cell, headers, expected]) =>
  row(
    "legacy",
    `GET ${cell}`,
    { method: "GET", headers: { accept: "text/event-stream", "mcp-session-id": "<session>", ...headers } },
    expected,
    "http: a GET is refused as a POST is; an invalid or foreign cursor is 400",
    { isOfSessions: true },
  ),
);

const METHODS: readonly Row[] = [
  ...["PUT", "PATCH", "HEAD"].flatMap((method) =>
    both(
      method,
      (era) => withMethod(era, method),
      {
        status: 405,
        headers: { allow: /\bPOST\b/ },
        ...(method === "HEAD" ? { body: "empty" as const } : { code: -32600 }),
      },
      "RFC 9110, 15.5.6: 405 with Allow",
    ),
  ),
  row(
    "modern",
    "GET",
    withMethod("modern", "GET"),
    { status: 405, headers: { allow: /\bPOST\b/ }, code: -32600 },
    "2026-07-28 streamable-http, Earlier Streamable HTTP Revisions: GET is 405",
  ),
  ...GETS,
  row(
    "legacy",
    "GET without a session, version or cursor, where HTTP+SSE is not served",
    { method: "GET", headers: { accept: "text/event-stream" } },
    { status: 400, code: -32600, names: /Mcp-Session-Id/ },
    "2025-11-25 transports, Session Management: a request without the id of its session is 400",
    { at: "lab", isOfSessions: true },
  ),
  ...["GET", "DELETE"].flatMap((method) =>
    both(
      `${method} where there are no sessions`,
      (era) => ({ ...withMethod(era, method), headers: { ...post(era).headers, "mcp-session-id": undefined } }),
      { status: 405, headers: { allow: /^(?!.*(GET|DELETE)).*POST/ } },
      "http: GET and DELETE are 405 without sessions; RFC 9110, 10.2.1: Allow lists what is supported",
      { at: "plain" },
    ),
  ),
  row(
    "modern",
    "DELETE",
    { method: "DELETE", headers: { "mcp-protocol-version": "2026-07-28" } },
    { status: 405, headers: { allow: /\bPOST\b/ } },
    "2026-07-28 streamable-http, Earlier Streamable HTTP Revisions: DELETE is 405",
  ),
  ...["GET", "DELETE", "PUT", "PATCH", "HEAD"].map((method) =>
    row(
      "modern",
      `A21: the Allow header for ${method} lists POST only`,
      { method, headers: { "mcp-protocol-version": "2026-07-28", accept: "text/event-stream" } },
      { status: 405, headers: { allow: /^POST$/ } },
      "2026-07-28 streamable-http, Earlier Streamable HTTP Revisions; RFC 9110, 10.2.1: Allow lists what is supported",
    ),
  ),
  row(
    "modern",
    "DELETE with a legacy session's id",
    { method: "DELETE", headers: { "mcp-protocol-version": "2026-07-28", "mcp-session-id": "<session>" } },
    { status: 405 },
    "2026-07-28 streamable-http, Earlier Streamable HTTP Revisions: DELETE is 405",
  ),
];

const REFUSED_ORIGINS = [
  "https://evil.example.com",
  "http://evil.example.com",
  "null",
  "garbage",
  "http://localhost.evil.example",
  "http://127.0.0.1.evil.example",
  "http://evil.example/localhost",
  "http://localhost@evil.example",
  "http://evil-localhost",
  "file://",
];

const LOOPBACK_ORIGINS = [
  "http://localhost:3000",
  "http://localhost",
  "https://localhost:8443",
  "http://127.0.0.1:6274",
  "http://[::1]:6274",
  "HTTP://LOCALHOST:3000",
  "<origin>",
];

const ORIGINS: readonly Row[] = [
  ...REFUSED_ORIGINS.flatMap((origin) =>
    both(
      `origin ${origin}`,
      (era) => post(era, { headers: { origin } }),
      { status: 403, code: -32600, id: null, names: /origin/i, headers: { "access-control-allow-origin": null } },
      ORIGIN,
    ),
  ),
  ...LOOPBACK_ORIGINS.flatMap((origin) =>
    both(
      `origin ${origin}`,
      (era) => post(era, { headers: { origin } }),
      { ...SERVED, headers: { "access-control-allow-origin": /./ } },
      "http/origin: loopback pages on a loopback server and the server's own origin are always served",
    ),
  ),
  ...["GET", "DELETE", "OPTIONS", "PUT"].map((method) =>
    row(
      "legacy",
      `${method} from an evil origin`,
      { method, headers: { origin: "https://evil.example.com", "mcp-session-id": "<session>" } },
      { status: 403 },
      "streamable-http, Security 1: Origin is validated on all incoming connections",
    ),
  ),
  ...both(
    "two origins",
    (era) => post(era, { headers: { origin: ["<origin>", "https://evil.example.com"] } }),
    { status: 403 },
    ORIGIN,
  ),
];

function listed(era: Era, headers: Headers): Ask {
  return post(era, { headers: { "mcp-session-id": undefined, ...headers } });
}

const LISTED_ORIGINS: readonly Row[] = [
  ...["https://app.example.com", "HTTPS://APP.EXAMPLE.COM"].flatMap((origin) =>
    both(`listed origin ${origin}`, (era) => listed(era, { origin }), SERVED, "http/origin, allowedOrigins", {
      at: "listed",
    }),
  ),
  ...[
    "http://app.example.com",
    "https://app.example.com:8443",
    "https://sub.app.example.com",
    "https://app.example.com.evil.example",
    "https://example.com",
    "null",
  ].flatMap((origin) =>
    both(
      `unlisted origin ${origin}`,
      (era) => listed(era, { origin }),
      { status: 403 },
      "http/origin: scheme, host and port must all match",
      { at: "listed" },
    ),
  ),
  ...both(
    "any origin if all are allowed",
    (era) => listed(era, { origin: "https://any.example" }),
    SERVED,
    'http/origin: "*" admits all',
    { at: "open" },
  ),
  ...both(
    "a loopback page calling a public host",
    (era) => listed(era, { host: "mcp.example.com", origin: "http://localhost:3000" }),
    { status: 403 },
    "http/origin: loopback pages are served on a loopback server",
    { at: "listed" },
  ),
  ...both(
    "own origin on a listed host",
    (era) => listed(era, { host: "mcp.example.com", origin: "http://mcp.example.com" }),
    SERVED,
    "http/origin: the server's own origin is always served",
    { at: "listed" },
  ),
];

const HOSTS: readonly Row[] = [
  ...[
    "evil.example.com",
    "evil.example.com:<port>",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "mcp.example.com",
    "10.0.0.1",
    "[2001:db8::1]",
  ].flatMap((host) => [
    ...both(
      `host ${host} and the Origin of that host`,
      (era) => post(era, { headers: { host, origin: `http://${host}` } }),
      { status: 403, code: -32600, id: null, names: /host/i },
      HOST,
    ),
    ...both(
      `POST without Origin, to the host ${host}`,
      (era) => post(era, { headers: { host } }),
      SERVED,
      "Fetch, Origin header: browsers send it with every POST",
    ),
    row(
      "legacy",
      `GET to the host ${host}`,
      { method: "GET", headers: { host, accept: "text/event-stream", "mcp-session-id": "<session>" } },
      { status: 403, code: -32600, names: /allowedHosts.*--local-upstream localhost/ },
      HOST,
    ),
  ]),
  ...["localhost:<port>", "LocalHost:<port>", "127.0.0.1:<port>", "127.0.0.1", "[::1]:<port>", "localhost"].flatMap(
    (host) =>
      both(`host ${host}`, (era) => post(era, { headers: { host } }), SERVED, "http/origin: loopback names are served"),
  ),
  ...["mcp.example.com", "mcp.example.com:8080", "MCP.example.com"].flatMap((host) =>
    both(
      `listed host ${host}`,
      (era) => listed(era, { host }),
      SERVED,
      "http/origin, allowedHosts: names without port",
      { at: "listed" },
    ),
  ),
  ...["evil.example.com", "sub.mcp.example.com", "example.com", "mcp.example.com.evil.example"].flatMap((host) =>
    both(
      `unlisted host ${host}`,
      (era) => listed(era, { host, origin: "https://app.example.com" }),
      { status: 403 },
      HOST,
      { at: "listed" },
    ),
  ),
  row(
    "legacy",
    "DELETE without Origin, to an evil host",
    { method: "DELETE", headers: { host: "evil.example.com" } },
    { status: 400 },
    "Fetch, Origin header: browsers send it with every DELETE",
    { isOfSessions: true },
  ),
  ...["GET", "HEAD", "OPTIONS", "PUT"].map((method) =>
    row(
      "legacy",
      `${method} to an evil host`,
      { method, headers: { host: "evil.example.com" } },
      { status: 403 },
      HOST,
    ),
  ),
];

const PROBE_HEADERS = { ...CONTENT, "mcp-method": "initialize", "mcp-protocol-version": NEWEST_LEGACY };

const REBINDING: readonly Row[] = [
  row(
    "legacy",
    "rebinding probe, host and origin evil",
    {
      method: "POST",
      headers: { ...PROBE_HEADERS, host: "evil.example.com", origin: "http://evil.example.com" },
      body: JSON.stringify(initialize()),
    },
    { status: 403 },
    "conformance suite, dns-rebinding-protection",
  ),
  row(
    "legacy",
    "rebinding probe, own host and origin",
    { method: "POST", headers: { ...PROBE_HEADERS, origin: "<origin>" }, body: JSON.stringify(initialize()) },
    { status: 200, result: { protocolVersion: NEWEST_LEGACY }, headers: { "mcp-session-id": /^[\x21-\x7e]{1,256}$/ } },
    "conformance suite: an initialize that carries Mcp-Method and a legacy version header is legacy",
    { isOfSessions: true },
  ),
];

const CHALLENGE = { "www-authenticate": /^Bearer\b/i };

const AUTHORIZATION: readonly Row[] = [
  ...[undefined, "Bearer stolen", "Basic YTpi", "Bearer"].flatMap((authorization) =>
    both(
      `authorization ${authorization ?? "missing"}`,
      (era) => listed(era, { authorization }),
      { status: 401, code: -32600, headers: CHALLENGE },
      "authorization, Token Handling: a missing or invalid token is 401 with WWW-Authenticate",
      { at: "private" },
    ),
  ),
  ...both(
    "valid authorization",
    (era) => listed(era, { authorization: "Bearer alice" }),
    SERVED,
    "worker: the auth hook",
    {
      at: "private",
    },
  ),
  ...["not JSON", "[]"].flatMap((body) =>
    both(
      `no token and the body ${body}`,
      (era) => post(era, { body, headers: { "mcp-session-id": undefined } }),
      { status: 401, headers: CHALLENGE },
      "http: authorization is checked before the body is parsed",
      { at: "private" },
    ),
  ),
  row(
    "legacy",
    "a bad token in a session that does not exist",
    post("legacy", { headers: { authorization: "Bearer stolen", "mcp-session-id": "garbage" } }),
    { status: 401, headers: CHALLENGE },
    "http: 401 and 403 take precedence over the 404 of a foreign session",
    { at: "lab" },
  ),
  ...["DELETE", "GET"].map((method) =>
    row(
      "legacy",
      `${method} with a bad token`,
      { method, headers: { authorization: "Bearer stolen", "mcp-session-id": "garbage" } },
      { status: 401 },
      "http: 401 and 403 take precedence",
      { at: "lab" },
    ),
  ),
];

export const HTTP_ROWS: readonly Row[] = [
  ...CONTENT_TYPES,
  ...ACCEPTS,
  ...METHODS,
  ...ORIGINS,
  ...LISTED_ORIGINS,
  ...HOSTS,
  ...REBINDING,
  ...AUTHORIZATION,
];
