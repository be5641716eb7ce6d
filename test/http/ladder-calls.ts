/** Rows about versions, mirrored headers, sessions, methods and tools. */

import { both, type Expected, type Row, row } from "./ladder-row.ts";
import {
  base64,
  CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  CONTENT,
  type Headers,
  initialize,
  LEGACY_VERSIONS,
  type Members,
  MODERN_VERSION,
  meta,
  NEWEST_LEGACY,
  PROTOCOL_VERSION_KEY,
  post,
  request,
  requestOf,
} from "./messages.ts";
import type { Ask } from "./wire.ts";

const VERSION = "transports, Protocol Version Header: an invalid or unserved version is 400";
const META = "2026-07-28 basic/index, Per-request protocol fields: 400 -32602; it takes precedence over -32020";
const MISMATCH = "2026-07-28 streamable-http, Server Validation";
const CASE = "2026-07-28 streamable-http, Case Sensitivity";
const ENCODING = "2026-07-28 streamable-http, Value Encoding";
const REMOVED = "2026-07-28 streamable-http, Protocol Version Header: an unknown method is 404 -32601";
const OF_SESSIONS = { isOfSessions: true } as const;
const SESSION = "transports, Session Management: a missing session id is 400; unknown, deleted or foreign ids are 404";
const INVALID_PARAMS: Expected = { status: 400, code: -32602, id: 7 };
const HEADER_MISMATCH: Expected = { status: 400, code: -32020, id: 7 };
const SERVED: Expected = { status: 200, id: 7 };

const LEGACY_VERSION_HEADERS: readonly Row[] = [
  ...["2024-99-99", "1.0", "v999.0.0", "garbage", "2025-11-25 ; x", ""].map((version) =>
    row(
      "legacy",
      `version header ${JSON.stringify(version)}`,
      post("legacy", { headers: { "mcp-protocol-version": version } }),
      { status: 400, code: -32600, names: /MCP-Protocol-Version/i },
      `${VERSION}; 2025-11-25 transports, Protocol Version Header: 400`,
    ),
  ),
  row(
    "legacy",
    "version header twice",
    post("legacy", { headers: { "mcp-protocol-version": [NEWEST_LEGACY, NEWEST_LEGACY] } }),
    { status: 400, code: -32600 },
    "RFC 9110, 5.3: several lines are one value, and that names no version",
  ),
  row(
    "legacy",
    "version header absent in a session",
    post("legacy", { headers: { "mcp-protocol-version": undefined } }),
    SERVED,
    `${VERSION}: absent means the sealed one`,
  ),
  row(
    "legacy",
    "version header absent where there are no sessions",
    { method: "POST", headers: CONTENT, body: JSON.stringify(request("tools/list")) },
    SERVED,
    `${VERSION}: absent and nothing sealed means 2025-03-26`,
    { at: "plain" },
  ),
  row(
    "legacy",
    "initialize with an invalid version header",
    { method: "POST", headers: { ...CONTENT, "mcp-protocol-version": "garbage" }, body: JSON.stringify(initialize()) },
    { status: 400, code: -32600, headers: { "mcp-session-id": null } },
    "2025-11-25 transports, Protocol Version Header: an invalid version is 400",
  ),
  ...LEGACY_VERSIONS.map((version) =>
    row(
      "legacy",
      `initialize with version header ${version}`,
      {
        method: "POST",
        headers: { ...CONTENT, "mcp-protocol-version": version },
        body: JSON.stringify(initialize(version)),
      },
      { status: 200, result: { protocolVersion: version } },
      "lifecycle, Version Negotiation: a client may send the version that it requests",
    ),
  ),
];

/** A modern POST with changes to its `_meta` and headers. */
function modern(change: Members, headers: Headers = {}, params: Members = {}): Ask {
  return post("modern", { message: request("tools/list", { ...params, _meta: meta(change) }), headers });
}

function unserved(version: string): Expected {
  return { status: 400, code: -32022, id: 7, data: { requested: version } };
}

const MODERN_VERSION_HEADERS: readonly Row[] = [
  ...["v999.0.0", "2099-01-01", "1900-01-01", "2025-11-25", "2024-11-05"].map((version) =>
    row(
      "modern",
      `header and body name ${version}`,
      modern({ [PROTOCOL_VERSION_KEY]: version }, { "mcp-protocol-version": version }),
      unserved(version),
      "2026-07-28 versioning, Protocol Version Negotiation: -32022 with supported and requested",
    ),
  ),
  row(
    "modern",
    "header 2026-07-28, body v999.0.0",
    modern({ [PROTOCOL_VERSION_KEY]: "v999.0.0" }),
    HEADER_MISMATCH,
    "2026-07-28 versioning, Protocol Version Negotiation",
  ),
  row(
    "modern",
    "header v999.0.0, body 2026-07-28",
    modern({}, { "mcp-protocol-version": "v999.0.0" }),
    HEADER_MISMATCH,
    MISMATCH,
  ),
  row(
    "modern",
    "header 2025-11-25, body 2026-07-28",
    modern({}, { "mcp-protocol-version": NEWEST_LEGACY }),
    HEADER_MISMATCH,
    MISMATCH,
  ),
  row("modern", "version header missing", modern({}, { "mcp-protocol-version": undefined }), HEADER_MISMATCH, MISMATCH),
  row("modern", "version header empty", modern({}, { "mcp-protocol-version": "" }), HEADER_MISMATCH, MISMATCH),
  row(
    "modern",
    "version header twice",
    modern({}, { "mcp-protocol-version": [MODERN_VERSION, MODERN_VERSION] }),
    HEADER_MISMATCH,
    "RFC 9110, 5.3: several lines are one value, and that is not the body's",
  ),
  row(
    "modern",
    "modern request within a legacy session",
    modern({}, { "mcp-session-id": "<session>" }),
    { ...SERVED, headers: { "mcp-session-id": null } },
    "2026-07-28 versioning: a request carrying modern _meta is served statelessly",
  ),
  row(
    "modern",
    "version header 2026-07-28 on a session's request without _meta",
    post("legacy", { headers: { "mcp-protocol-version": MODERN_VERSION, "mcp-method": "tools/list" } }),
    INVALID_PARAMS,
    META,
  ),
];

const META_FIELDS: readonly Row[] = [
  row(
    "modern",
    "params missing",
    post("modern", { message: request("tools/list") }),
    { ...INVALID_PARAMS, names: /_meta/ },
    META,
  ),
  row(
    "modern",
    "_meta missing",
    post("modern", { message: request("tools/list", {}) }),
    { ...INVALID_PARAMS, names: /_meta/ },
    META,
  ),
  row(
    "modern",
    "_meta null",
    post("modern", { message: request("tools/list", { _meta: null }) }),
    INVALID_PARAMS,
    META,
  ),
  row(
    "modern",
    "_meta an array",
    post("modern", { message: request("tools/list", { _meta: [] }) }),
    INVALID_PARAMS,
    META,
  ),
  row(
    "modern",
    "protocolVersion missing",
    modern({ [PROTOCOL_VERSION_KEY]: undefined }),
    { ...INVALID_PARAMS, names: /protocolVersion/ },
    META,
  ),
  row(
    "modern",
    "protocolVersion a number",
    modern({ [PROTOCOL_VERSION_KEY]: 2026 }),
    { ...INVALID_PARAMS, names: /protocolVersion/ },
    META,
  ),
  row(
    "modern",
    "clientCapabilities missing",
    modern({ [CAPABILITIES_KEY]: undefined }),
    { ...INVALID_PARAMS, names: /clientCapabilities/ },
    META,
  ),
  ...[null, [], "x"].map((value) =>
    row(
      "modern",
      `clientCapabilities ${JSON.stringify(value)}`,
      modern({ [CAPABILITIES_KEY]: value }),
      { ...INVALID_PARAMS, names: /clientCapabilities/ },
      META,
    ),
  ),
  ...[
    { cell: "_meta missing", message: request("tools/list", {}) },
    {
      cell: "protocolVersion missing",
      message: request("tools/list", { _meta: meta({ [PROTOCOL_VERSION_KEY]: undefined }) }),
    },
    {
      cell: "clientCapabilities missing",
      message: request("tools/list", { _meta: meta({ [CAPABILITIES_KEY]: undefined }) }),
    },
  ].map(({ cell, message }) =>
    row(
      "modern",
      `${cell} and Mcp-Method wrong`,
      post("modern", { message, headers: { "mcp-method": "tools/call" } }),
      INVALID_PARAMS,
      META,
    ),
  ),
  row(
    "modern",
    "clientInfo missing",
    modern({ [CLIENT_INFO_KEY]: undefined }),
    SERVED,
    "2026-07-28 basic/index: clientInfo is not required",
  ),
  row(
    "modern",
    "unknown fields of _meta",
    modern({ "com.example/trace": { a: [1] }, traceparent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01" }),
    SERVED,
    "2026-07-28 basic/index, _meta",
  ),
];

const SIMPLE = "test_simple_text";

/** A modern call of a tool with changed headers. */
function called(headers: Headers, name: string = SIMPLE): Ask {
  return post("modern", { message: requestOf("modern", "tools/call", { name }), headers });
}

const METHOD_HEADER: readonly Row[] = [
  ...[
    { cell: "missing", value: undefined },
    { cell: "empty", value: "" },
    { cell: "wrong", value: "tools/call" },
    { cell: "in another case", value: "TOOLS/LIST" },
    { cell: "with an inner space", value: "tools /list" },
    { cell: "twice", value: ["tools/list", "tools/list"] },
    { cell: "in base64, which is for names", value: base64("tools/list") },
  ].map(({ cell, value }) =>
    row(
      "modern",
      `Mcp-Method ${cell}`,
      modern({}, { "mcp-method": value }),
      { ...HEADER_MISMATCH, names: /Mcp-Method/i },
      MISMATCH,
    ),
  ),
  ...["MCP-METHOD", "Mcp-Method", "mCp-mEtHoD"].map((name) =>
    row(
      "modern",
      `the header named ${name}`,
      modern({}, { "mcp-method": undefined, [name]: "tools/list" }),
      SERVED,
      CASE,
    ),
  ),
  row(
    "modern",
    "Mcp-Method padded",
    modern({}, { "mcp-method": " \t tools/list  " }),
    SERVED,
    "RFC 9110, 5.5: white space around a value is not part of it",
  ),
];

const NAME_HEADER: readonly Row[] = [
  ...[
    { cell: "missing", value: undefined },
    { cell: "empty", value: "" },
    { cell: "wrong", value: "add" },
    { cell: "in another case", value: SIMPLE.toUpperCase() },
    { cell: "twice", value: [SIMPLE, SIMPLE] },
    { cell: "in base64 of another name", value: base64("add") },
    { cell: "in base64 with a letter outside its alphabet", value: "=?base64?dGVzdF9zaW1wbGVfdGV4d*==?=" },
    { cell: "in base64 with bad padding", value: "=?base64?dGVzdF9zaW1wbGVfdGV4dA=?=" },
    { cell: "in base64 that is not UTF-8", value: "=?base64?/w==?=" },
    { cell: "in empty base64", value: "=?base64??=" },
    { cell: "in base64 with a capital marker", value: base64(SIMPLE).replace("base64", "BASE64") },
    { cell: "in base64 without the suffix", value: base64(SIMPLE).slice(0, -2) },
    { cell: "in base64 without the prefix", value: base64(SIMPLE).replace("=?base64?", "") },
  ].map(({ cell, value }) =>
    row(
      "modern",
      `Mcp-Name ${cell}`,
      called({ "mcp-name": value }),
      { ...HEADER_MISMATCH, names: /Mcp-Name/i },
      MISMATCH,
    ),
  ),
  row("modern", "Mcp-Name in base64", called({ "mcp-name": base64(SIMPLE) }), SERVED, ENCODING),
  row(
    "modern",
    "Mcp-Name padded",
    called({ "mcp-name": `  ${SIMPLE}\t` }),
    SERVED,
    "RFC 9110, 5.5: white space around a value is not part of it",
  ),
  row("modern", "the header named MCP-NAME", called({ "mcp-name": undefined, "MCP-NAME": SIMPLE }), SERVED, CASE),
  row(
    "modern",
    "a name that looks encoded, encoded once more",
    called({ "mcp-name": base64("=?base64?literal?=") }, "=?base64?literal?="),
    { status: [200, 400], code: -32602, id: 7 },
    `${ENCODING}: the header passes, the tool is unknown`,
  ),
  row(
    "modern",
    "a name that looks encoded, sent as it is",
    called({ "mcp-name": "=?base64?literal?=" }, "=?base64?literal?="),
    HEADER_MISMATCH,
    ENCODING,
  ),
  row(
    "modern",
    "a name beyond ASCII in base64",
    called({ "mcp-name": base64("größe ☃") }, "größe ☃"),
    { status: [200, 400], code: -32602, id: 7 },
    `${ENCODING}: the header passes, the tool is unknown`,
  ),
  row(
    "modern",
    "a name beyond ASCII as raw bytes",
    called({ "mcp-name": Buffer.from("größe").toString("latin1") }, "größe"),
    HEADER_MISMATCH,
    `${MISMATCH}: a header value contains invalid characters`,
  ),
];

const METHODS: readonly Row[] = [
  ...[
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "unknown/method",
    "toString",
    "__proto__",
  ].map((method) =>
    row(
      "modern",
      `method ${JSON.stringify(method)}`,
      post("modern", { message: requestOf("modern", method) }),
      {
        status: 404,
        code: -32601,
        id: 7,
      },
      REMOVED,
    ),
  ),
  ...["unknown/method", "server/discover", "subscriptions/listen", "constructor", "__proto__"].map((method) =>
    row(
      "legacy",
      `method ${JSON.stringify(method)}`,
      post("legacy", { message: request(method, {}) }),
      { status: 200, code: -32601, id: 7 },
      "JSON-RPC 2.0, Error object: an unknown method is -32601; legacy status 200",
    ),
  ),
  ...["resources/list", "prompts/list"].flatMap((method) => [
    row(
      "modern",
      `method ${method} of a server without any`,
      post("modern", { message: requestOf("modern", method) }),
      { status: 404, code: -32601, id: 7 },
      REMOVED,
      { at: "plain" },
    ),
    row(
      "legacy",
      `method ${method} of a server without any`,
      post("legacy", { message: request(method, {}), headers: { "mcp-session-id": undefined } }),
      { status: 200, code: -32601, id: 7 },
      "JSON-RPC 2.0, Error object: an unknown method is -32601; legacy status 200",
      { at: "plain" },
    ),
  ]),
];

const UNKNOWN_TOOL: Expected = { status: [200, 400], code: -32602, id: 7 };

const TOOLS: readonly Row[] = [
  ...["no_such_tool", "toString", "__proto__"].flatMap((name) =>
    both(
      `unknown tool ${JSON.stringify(name)}`,
      (era) => post(era, { message: requestOf(era, "tools/call", { name }) }),
      { ...UNKNOWN_TOOL, names: new RegExp(name) },
      "tools, Error Handling: an unknown tool is -32602 naming the tool, never isError",
    ),
  ),
  ...[
    { cell: "arguments an array", params: { name: "add", arguments: [] } },
    { cell: "arguments a string", params: { name: "add", arguments: "a" } },
    { cell: "arguments null", params: { name: "add", arguments: null } },
  ].flatMap(({ cell, params }) =>
    both(
      cell,
      (era) => post(era, { message: requestOf(era, "tools/call", params) }),
      { ...UNKNOWN_TOOL, names: /arguments/ },
      "JSON-RPC 2.0, Error object: malformed params are -32602",
    ),
  ),
  ...both(
    "tool name a number",
    (era) => post(era, { message: requestOf(era, "tools/call", { name: 5 }) }),
    // In the modern era the missing header may be checked first.
    { status: [200, 400], code: [-32602, -32020], id: 7 },
    "JSON-RPC 2.0, Error object: malformed params are -32602",
  ),
  ...both(
    "an invalid argument",
    (era) => post(era, { message: requestOf(era, "tools/call", { name: "add", arguments: { a: 1 } }) }),
    { ...SERVED, result: { isError: true } },
    "decision 003: invalid arguments are a result with isError",
  ),
  ...both(
    "arguments omitted",
    (era) => post(era, { message: requestOf(era, "tools/call", { name: SIMPLE }) }),
    { ...SERVED, result: { content: [{ type: "text", text: "This is a simple text response for testing." }] } },
    "core: omitted arguments mean {}",
  ),
  ...both(
    "the author's own error",
    (era) =>
      post(era, {
        message: requestOf(era, "tools/call", { name: "fail_by_protocol" }),
        headers: { "mcp-session-id": undefined },
      }),
    { status: [200, 400], code: 4711, id: 7, names: /^Out of tea\.$/, data: { pot: "empty" } },
    "core: an McpError is sent unchanged",
    { at: "plain" },
  ),
  ...both(
    "an error for the model",
    (era) =>
      post(era, {
        message: requestOf(era, "tools/call", { name: "fail_for_model" }),
        headers: { "mcp-session-id": undefined },
      }),
    { ...SERVED, result: { isError: true, content: [{ type: "text", text: "The city is unknown." }] } },
    "core: the text of a ToolError reaches the model",
    { at: "plain" },
  ),
  row(
    "modern",
    "missing capability",
    post("modern", { message: requestOf("modern", "tools/call", { name: "test_missing_capability" }) }),
    { status: 400, code: -32021, id: 7, data: { requiredCapabilities: { sampling: {} } } },
    "2026-07-28 basic/index: 400 -32021, data.requiredCapabilities lists what is missing",
  ),
  row(
    "modern",
    "declared capability",
    post("modern", {
      message: request("tools/call", {
        name: "test_missing_capability",
        _meta: meta({ [CAPABILITIES_KEY]: { sampling: {} } }),
      }),
    }),
    { ...SERVED, result: { content: [{ type: "text", text: "Sampling is declared." }] } },
    "2026-07-28 basic/index: capabilities are those of the request",
  ),
];

const UNSEALED = [
  "garbage",
  "0",
  "x".repeat(128),
  "x".repeat(4000),
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "../../etc",
  "a b",
];

const SESSIONS: readonly Row[] = [
  row(
    "legacy",
    "a request within a session whose Mcp-Method and Mcp-Name differ from its body",
    post("legacy", { headers: { "mcp-method": "tools/call", "mcp-name": "add" } }),
    SERVED,
    "2025-11-25 transports: the version has no such headers, and its header says so",
  ),
  row(
    "legacy",
    "session id twice",
    post("legacy", { headers: { "mcp-session-id": ["<session>", "<session>"] } }),
    { status: 404 },
    "RFC 9110, 5.3: several lines are one value, and no key has sealed it",
    OF_SESSIONS,
  ),
  row(
    "legacy",
    "initialize where only a stream is accepted",
    { method: "POST", headers: { ...CONTENT, accept: "text/event-stream" }, body: JSON.stringify(initialize()) },
    { status: 200, contentType: "text/event-stream", headers: { "mcp-session-id": /^[\x21-\x7e]{1,256}$/ } },
    "transports, Sending Messages: if only text/event-stream is accepted, the answer is a stream from the start",
    OF_SESSIONS,
  ),
  row(
    "legacy",
    "session id missing",
    post("legacy", { headers: { "mcp-session-id": undefined } }),
    { status: 400, code: -32600, names: /Mcp-Session-Id/i },
    SESSION,
    OF_SESSIONS,
  ),
  row(
    "legacy",
    "session id and version header missing",
    { method: "POST", headers: CONTENT, body: JSON.stringify(request("tools/list")) },
    { status: 400, code: -32600, names: /Mcp-Session-Id/i },
    SESSION,
    OF_SESSIONS,
  ),
  row(
    "legacy",
    "DELETE without session id",
    { method: "DELETE", headers: {} },
    { status: 400, code: -32600, names: /Mcp-Session-Id/i },
    SESSION,
    OF_SESSIONS,
  ),
  ...UNSEALED.flatMap((id) => [
    row(
      "legacy",
      `session id ${id.slice(0, 20)} (${id.length})`,
      post("legacy", { headers: { "mcp-session-id": id } }),
      { status: 404, code: -32600 },
      SESSION,
      OF_SESSIONS,
    ),
    row(
      "legacy",
      `DELETE of session id ${id.slice(0, 20)} (${id.length})`,
      { method: "DELETE", headers: { "mcp-session-id": id } },
      { status: 404 },
      SESSION,
      OF_SESSIONS,
    ),
  ]),
  row(
    "legacy",
    "notification in an unknown session",
    post("legacy", {
      message: { jsonrpc: "2.0", method: "notifications/initialized" },
      headers: { "mcp-session-id": "garbage" },
    }),
    { status: 404 },
    SESSION,
    OF_SESSIONS,
  ),
  row(
    "legacy",
    "batch in an unknown session",
    post("legacy", {
      message: [request("ping")],
      headers: { "mcp-session-id": "garbage", "mcp-protocol-version": "2025-03-26" },
    }),
    { status: 404 },
    SESSION,
    OF_SESSIONS,
  ),
  row(
    "legacy",
    "initialize within a session",
    post("legacy", { message: initialize() }),
    { status: 400, code: -32600, headers: { "mcp-session-id": null } },
    "lifecycle, Initialization: a second initialize in a session is refused",
    OF_SESSIONS,
  ),
  row(
    "legacy",
    "initialize without a protocolVersion",
    { method: "POST", headers: CONTENT, body: JSON.stringify(request("initialize", { capabilities: {} })) },
    { status: [200, 400], code: -32602, id: 7, names: /protocolVersion/, headers: { "mcp-session-id": null } },
    "JSON-RPC 2.0, Error object: malformed params are -32602",
  ),
  row(
    "legacy",
    "session id where there are no sessions",
    post("legacy", { headers: { "mcp-session-id": "garbage" } }),
    SERVED,
    "http: without sessions no session id is required",
    {
      at: "plain",
    },
  ),
  ...["garbage", "<session>"].map((id) =>
    row(
      "modern",
      `session id ${id}`,
      modern({}, { "mcp-session-id": id }),
      { ...SERVED, headers: { "mcp-session-id": null } },
      "2026-07-28 streamable-http, Earlier Streamable HTTP Revisions: ignore it, do not mint or echo",
    ),
  ),
  ...["garbage", "0", ""].map((id) =>
    row(
      "modern",
      `Last-Event-ID ${JSON.stringify(id)}`,
      modern({}, { "last-event-id": id }),
      { ...SERVED, contentType: "application/json" },
      "2026-07-28 streamable-http, Earlier Streamable HTTP Revisions: Last-Event-ID is ignored",
    ),
  ),
];

export const CALL_ROWS: readonly Row[] = [
  ...LEGACY_VERSION_HEADERS,
  ...MODERN_VERSION_HEADERS,
  ...META_FIELDS,
  ...METHOD_HEADER,
  ...NAME_HEADER,
  ...METHODS,
  ...TOOLS,
  ...SESSIONS,
];
