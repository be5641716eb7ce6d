/** Rows about the body: JSON, JSON-RPC, ids, params, notifications, batches, size. */

import { both, type Row, row } from "./ladder-row.ts";
import {
  CONTENT,
  initialize,
  type Members,
  meta,
  NEWEST_LEGACY,
  nested,
  notification,
  post,
  request,
  requestOf,
  standardHeaders,
} from "./messages.ts";
import type { Ask } from "./wire.ts";

const TABLE = "JSON-RPC 2.0: not JSON is -32700; no valid message, or an id that is null or fractional, is -32600";
const BATCH = "2025-03-26 transports, Sending Messages";
const SIZE = "core/limits: a body that is too large is 413, one nested too deeply 400";
const IDS = "basic/index, Requests: a string or integer id, not null";
const PARSE_ERROR = { status: 400, code: -32700, id: null } as const;
const INVALID = { status: 400, code: -32600 } as const;
const NO_ID = { ...INVALID, id: null } as const;
const ACCEPTED = { status: 202, body: "empty" } as const;

const NOT_JSON: readonly Row[] = [
  ["empty", ""],
  ["white space", " \n"],
  ["cut off", '{"jsonrpc":"2.0","id":7,"method":"tools/list"'],
  ["two values", "{} {}"],
  ["a trailing comma", '{"jsonrpc":"2.0","id":7,"method":"ping",}'],
  ["NaN as id", '{"jsonrpc":"2.0","id":NaN,"method":"ping"}'],
  ["form data", "jsonrpc=2.0&method=ping"],
].flatMap(([cell, body = ""]) => both(`not JSON: ${cell}`, (era) => post(era, { body }), PARSE_ERROR, TABLE));

const NOT_UTF8: readonly Row[] = [
  { cell: "a lone byte in a string", body: Buffer.from('{"jsonrpc":"2.0","id":7,"method":"\xff"}', "latin1") },
  { cell: "UTF-16", body: Buffer.from('{"jsonrpc":"2.0","id":7,"method":"ping"}', "utf16le") },
  { cell: "an encoded surrogate", body: Buffer.from('{"jsonrpc":"2.0","id":7,"method":"\xed\xa0\x80"}', "latin1") },
].flatMap(({ cell, body }) =>
  both(`not UTF-8: ${cell}`, (era) => post(era, { body }), PARSE_ERROR, "transports: JSON-RPC messages MUST be UTF-8"),
);

/** A body in which `text`, as Latin-1 bytes, stands in a string; `mark` is put before the body. */
function bytesWith(text: string, mark = ""): Buffer {
  return Buffer.from(`${mark}{"jsonrpc":"2.0","id":7,"method":"${text}"}`, "latin1");
}

const BYTE_ORDER_MARK = "\xef\xbb\xbf";

const A19_BROKEN: readonly Row[] = [
  { cell: "a byte order mark, then a lone byte", body: bytesWith("\xff", BYTE_ORDER_MARK) },
  { cell: "a byte order mark, then half of a character", body: bytesWith("\xc3", BYTE_ORDER_MARK) },
  {
    cell: "a byte order mark, then a truncated character of four bytes",
    body: bytesWith("\xf0\x9f\x98", BYTE_ORDER_MARK),
  },
  { cell: "a character of two bytes that lacks the last", body: bytesWith("\xc3") },
  { cell: "a character of three bytes that lacks the last", body: bytesWith("\xe2\x82") },
  { cell: "a character of four bytes that lacks the last", body: bytesWith("\xf0\x9f\x98") },
  { cell: "a character of four bytes that lacks two", body: bytesWith("\xf0\x9f") },
  { cell: "a valid U+FFFD, and a truncated character", body: bytesWith("\xef\xbf\xbd\xf0\x9f\x98") },
  { cell: "an overlong form", body: bytesWith("\xc0\xaf") },
  { cell: "an overlong form of three bytes", body: bytesWith("\xe0\x80\xaf") },
  { cell: "a pair of encoded surrogates", body: bytesWith("\xed\xa0\xbd\xed\xb8\x80") },
  { cell: "a character beyond U+10FFFF", body: bytesWith("\xf4\x90\x80\x80") },
  { cell: "a truncated character at the end of the body", body: Buffer.from('"\xf0\x9f\x98', "latin1") },
].flatMap(({ cell, body }) =>
  [false, true].flatMap((chunked) =>
    both(
      `not UTF-8:  ${cell}${chunked ? ", in chunks" : ""}`,
      (era) => post(era, { body, chunked }),
      PARSE_ERROR,
      "RFC 8259, 8.1: JSON text is UTF-8",
    ),
  ),
);

const A19_WHOLE: readonly Row[] = [
  { cell: "a byte order mark before a body that is UTF-8", mark: "\ufeff", id: "é" },
  { cell: "U+FFFD where the client wrote it", mark: "", id: "a\ufffdb" },
  { cell: "both of them, and a character of four bytes", mark: "\ufeff", id: "\ufffd😀" },
].flatMap(({ cell, mark, id }) =>
  both(
    `UTF-8:  ${cell}`,
    (era) => post(era, { body: Buffer.from(mark + JSON.stringify(requestOf(era, "tools/list", {}, id)), "utf8") }),
    { status: 200, id },
    "RFC 8259, 8.1: a parser may ignore a byte order mark; U+FFFD is a character like any other",
  ),
);

const NOT_JSON_RPC: readonly Row[] = [
  ...["null", "true", "5", '"ping"', "{}"].flatMap((body) =>
    both(`not JSON-RPC: ${body}`, (era) => post(era, { body }), NO_ID, TABLE),
  ),
  ...[
    { cell: 'jsonrpc "1.0"', change: { jsonrpc: "1.0" } },
    { cell: "jsonrpc a number", change: { jsonrpc: 2 } },
    { cell: "jsonrpc missing", change: { jsonrpc: undefined } },
    { cell: "method a number", change: { method: 5 } },
    { cell: "method null", change: { method: null } },
    { cell: "method an object", change: { method: {} } },
    { cell: "method missing", change: { method: undefined } },
  ].flatMap(({ cell, change }) =>
    both(
      `not JSON-RPC: ${cell}`,
      (era) => post(era, { message: { ...requestOf(era, "tools/list"), ...change } }),
      INVALID,
      TABLE,
    ),
  ),
  ...[
    { cell: "an array", params: [] },
    { cell: "null", params: null },
    { cell: "a string", params: "x" },
  ].flatMap(({ cell, params }) =>
    both(
      `params ${cell}`,
      (era) => post(era, { message: request("tools/list", params) }),
      // Both codes can be justified: not a request of MCP, or malformed `params`.
      { status: 400, code: [-32600, -32602] },
      "basic/index, Requests: params, if present, is an object: an array is refused",
    ),
  ),
  row(
    "modern",
    "a response from the client",
    post("modern", {
      message: { jsonrpc: "2.0", id: 7, result: {} },
      headers: { "mcp-protocol-version": "2026-07-28" },
    }),
    INVALID,
    "2026-07-28 streamable-http, Sending Messages 4: the client MUST NOT send responses",
  ),
  row(
    "legacy",
    "a response to no open question",
    post("legacy", { message: { jsonrpc: "2.0", id: "nobody", result: {} } }),
    ACCEPTED,
    "2025-11-25 transports, Sending Messages 4: a response is accepted with 202",
  ),
];

const IDS_ROWS: readonly Row[] = [
  ...[null, 1.5, -0.1, true, false, {}, [], [1]].flatMap((id) =>
    both(`id ${JSON.stringify(id)}`, (era) => post(era, { message: requestOf(era, "tools/list", {}, id) }), NO_ID, IDS),
  ),
  ...[0, -1, "", "0", "a b", "é☃", "x".repeat(1000), Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER].flatMap((id) =>
    both(
      `id ${JSON.stringify(id).slice(0, 30)}`,
      (era) => post(era, { message: requestOf(era, "tools/list", {}, id) }),
      { status: 200, id, contentType: "application/json" },
      IDS,
    ),
  ),
  ...["1.0", "1e2"].flatMap((id) =>
    both(
      `id written ${id}`,
      (era) => post(era, { body: JSON.stringify(requestOf(era, "tools/list")).replace('"id":7', `"id":${id}`) }),
      { status: 200, id: Number(id) },
      "JSON has one number type: the value is an integer however it is written",
    ),
  ),
];

const NOTIFICATIONS: readonly Row[] = [
  row(
    "legacy",
    "notifications/initialized",
    post("legacy", { message: notification("notifications/initialized") }),
    ACCEPTED,
    "2025-11-25 transports, Sending Messages 4",
  ),
  ...[
    { cell: "of an unknown method", message: notification("notifications/unknown") },
    { cell: "that is malformed", message: notification("notifications/cancelled", {}) },
    { cell: "that cancels an unknown request", message: notification("notifications/cancelled", { requestId: 99 }) },
    { cell: "named like a request", message: notification("tools/list") },
    { cell: "whose params are an array", message: notification("notifications/cancelled", []) },
    { cell: "whose params are null", message: notification("notifications/unknown", null) },
    { cell: "whose params are text", message: notification("notifications/unknown", "x") },
    { cell: 'that says jsonrpc "1.0"', message: { ...notification("notifications/unknown"), jsonrpc: "1.0" } },
  ].flatMap(({ cell, message }) =>
    both(
      `a notification ${cell}`,
      (era) => post(era, { message }),
      ACCEPTED,
      "JSON-RPC 2.0, Notification: never answered, even if invalid; over HTTP 202 with no body",
    ),
  ),
];

const OLD: Ask["headers"] = {
  ...CONTENT,
  "mcp-session-id": "<session 2025-03-26>",
  "mcp-protocol-version": "2025-03-26",
};

/** A POST of a 2025-03-26 client in its session. */
function old(message: unknown, headers: Ask["headers"] = OLD): Ask {
  return { method: "POST", headers, body: JSON.stringify(message) };
}

const PAIR = [request("ping", undefined, 1), request("nobody/knows", undefined, "two")];
const TWO_ANSWERS = [{ jsonrpc: "2.0", id: 1, result: {} }, errorOf(-32601, "two")];

function errorOf(code: number, id?: unknown): unknown {
  return { jsonrpc: "2.0", ...(id === undefined ? {} : { id }), error: { code } };
}

const BATCHES_SERVED: readonly Row[] = [
  row("legacy", "batch with session and header", old(PAIR), { status: 200, message: TWO_ANSWERS }, BATCH),
  row(
    "legacy",
    "batch with session, without header",
    old(PAIR, { ...OLD, "mcp-protocol-version": undefined }),
    { status: 200, message: TWO_ANSWERS },
    BATCH,
  ),
  row("legacy", "batch without session and header", old(PAIR, CONTENT), { status: 200, message: TWO_ANSWERS }, BATCH),
  row(
    "legacy",
    "batch without session, with header",
    old(PAIR, { ...OLD, "mcp-session-id": undefined }),
    { status: 200, message: TWO_ANSWERS },
    BATCH,
  ),
  row(
    "legacy",
    "batch without sessions on the server",
    old(PAIR, CONTENT),
    { status: 200, message: TWO_ANSWERS },
    BATCH,
    {
      at: "plain",
    },
  ),
  row(
    "legacy",
    "batch of requests and notifications",
    old([notification("notifications/initialized"), request("ping", undefined, 1)]),
    { status: 200, message: [{ jsonrpc: "2.0", id: 1, result: {} }] },
    "JSON-RPC 2.0, Batch: one array of answers, none for notifications",
  ),
  row(
    "legacy",
    "batch of one request",
    old([request("ping", undefined, 1)]),
    { status: 200, message: [{ jsonrpc: "2.0", id: 1, result: {} }] },
    "JSON-RPC 2.0, Batch: an array is answered with an array",
  ),
  row(
    "legacy",
    'batch whose ids are 1 and "1"',
    old([request("ping", undefined, 1), request("ping", undefined, "1")]),
    {
      status: 200,
      message: [
        { jsonrpc: "2.0", id: 1, result: {} },
        { jsonrpc: "2.0", id: "1", result: {} },
      ],
    },
    "basic/index, Requests: ids are echoed with value and type, so these two differ",
  ),
  row(
    "legacy",
    "batch of notifications only",
    old([notification("notifications/initialized"), notification("a/b")]),
    ACCEPTED,
    BATCH,
  ),
  row(
    "legacy",
    "batch of responses only",
    old([{ jsonrpc: "2.0", id: "nobody", result: {} }]),
    ACCEPTED,
    "2025-03-26 transports, Sending Messages 4: solely responses or notifications: 202 with no body",
  ),
  row(
    "legacy",
    "batch with invalid members",
    old([request("ping", undefined, 1), { foo: "boo" }, 5, [request("ping")], request("ping", undefined, 2)]),
    {
      status: 200,
      message: [
        { jsonrpc: "2.0", id: 1, result: {} },
        errorOf(-32600),
        errorOf(-32600),
        errorOf(-32600),
        { jsonrpc: "2.0", id: 2, result: {} },
      ],
    },
    "JSON-RPC 2.0, Batch: an invalid member gets its own error and the others still run",
  ),
  row(
    "legacy",
    "batch as long as the limit",
    old(
      [1, 2, 3].map((id) => request("ping", undefined, id)),
      CONTENT,
    ),
    { status: 200 },
    "limits.batchMax is inclusive",
    { at: "small" },
  ),
];

const BATCHES_REFUSED: readonly Row[] = [
  row("legacy", "empty batch", old([]), NO_ID, BATCH),
  row("legacy", "empty batch without session and header", old([], CONTENT), NO_ID, BATCH),
  row("legacy", "batch with initialize", old([initialize("2025-03-26"), request("ping")], CONTENT), INVALID, BATCH),
  row("legacy", "batch of initialize alone", old([initialize("2025-03-26")], CONTENT), INVALID, BATCH),
  row(
    "legacy",
    "batch that repeats an id",
    old([request("ping", undefined, 3), request("ping", undefined, 3)]),
    INVALID,
    BATCH,
  ),
  row(
    "legacy",
    "batch longer than the limit",
    old(
      [1, 2, 3, 4].map((id) => request("ping", undefined, id)),
      CONTENT,
    ),
    { ...INVALID, names: /\b3\b/ },
    "core/limits: batchMax stops one POST from starting thousands of calls; refused with -32600",
    { at: "small" },
  ),
  ...["2024-11-05", "2025-06-18", NEWEST_LEGACY].map((version) =>
    row(
      "legacy",
      `batch in ${version}`,
      old(PAIR, { ...OLD, "mcp-session-id": `<session ${version}>`, "mcp-protocol-version": version }),
      { ...INVALID, names: /batch/i },
      BATCH,
    ),
  ),
  ...["2024-11-05", "2025-06-18", NEWEST_LEGACY].map((version) =>
    row(
      "legacy",
      `batch in a session of ${version} without header`,
      old(PAIR, { ...CONTENT, "mcp-session-id": `<session ${version}>` }),
      INVALID,
      BATCH,
      { isOfSessions: true },
    ),
  ),
  row(
    "legacy",
    "notifications-only batch in 2025-11-25",
    post("legacy", { message: [notification("a/b")] }),
    INVALID,
    BATCH,
  ),
  row("modern", "batch", post("modern", { message: [requestOf("modern", "tools/list")] }), INVALID, BATCH),
  row(
    "modern",
    "batch with the headers of its only member",
    post("modern", { message: [requestOf("modern", "tools/list")], headers: standardHeaders(request("tools/list")) }),
    INVALID,
    BATCH,
  ),
  row("modern", "empty batch", post("modern", { message: [], headers: standardHeaders({}) }), NO_ID, BATCH),
  row(
    "modern",
    "batch of messages that name 2026-07-28, without header",
    old([requestOf("modern", "tools/list")], CONTENT),
    INVALID,
    "2026-07-28 versioning: the request's _meta selects the era",
  ),
];

/** A body of exactly `bytes` bytes with some two-byte characters. */
function sized(bytes: number, text: string): Uint8Array {
  const wide = Buffer.from(text.replace("}}", `},"x":"é"}`));
  return Buffer.concat([wide, Buffer.alloc(bytes - wide.length, " ")]);
}

/** A request whose arrays and objects are nested `depth` levels deep, including the outermost. */
function deep(era: "legacy" | "modern", depth: number): string {
  const inside = '"com.example/deep":0';
  const text = JSON.stringify(
    request("tools/list", { _meta: era === "modern" ? meta({ "com.example/deep": 0 }) : { "com.example/deep": 0 } }),
  );
  return text.replace(inside, `"com.example/deep":${nested(depth - 3)}`);
}

/** A request with exactly `values` values. */
function filledTo(values: number, { params, ...message }: Members): Members {
  const request = (more: readonly number[]) => ({ ...message, params: { ...(params as object), more } });
  return request(Array(values - countValues(request([]))).fill(0));
}

function countValues(value: unknown): number {
  const members = typeof value === "object" && value !== null ? Object.values(value) : [];
  return members.reduce((sum: number, member) => sum + countValues(member), members.length);
}

const SMALL = { at: "small" } as const;
const LONE = { "mcp-session-id": undefined } as const;

const SIZES: readonly Row[] = [
  ...both(
    "body one byte over the limit",
    (era) => post(era, { body: sized(1001, JSON.stringify(requestOf(era, "tools/list"))), headers: LONE }),
    { status: 413, code: -32600, names: /1000|1,000|bodyBytesMax/ },
    SIZE,
    SMALL,
  ),
  ...both(
    "chunked body one byte over the limit",
    (era) =>
      post(era, { body: sized(1001, JSON.stringify(requestOf(era, "tools/list"))), headers: LONE, chunked: true }),
    { status: 413, code: -32600 },
    SIZE,
    SMALL,
  ),
  ...both(
    "body as large as the limit",
    (era) => post(era, { body: sized(1000, JSON.stringify(requestOf(era, "tools/list"))), headers: LONE }),
    { status: 200 },
    "core/limits: bounds are inclusive",
    SMALL,
  ),
  ...both(
    "chunked body as large as the limit",
    (era) =>
      post(era, { body: sized(1000, JSON.stringify(requestOf(era, "tools/list"))), headers: LONE, chunked: true }),
    { status: 200 },
    "core/limits: bounds are inclusive",
    SMALL,
  ),
  ...both(
    "many more values than the limit",
    (era) => post(era, { message: requestOf(era, "tools/list", { more: Array(100).fill(0) }), headers: LONE }),
    { status: 413, code: -32600, names: /100 values/, data: { reason: "body-too-many-values" } },
    SIZE,
    SMALL,
  ),
  ...both(
    "many more values than the limit, a few in each object",
    (era) =>
      post(era, { message: requestOf(era, "tools/list", { more: Array(40).fill({ a: 1, b: 2 }) }), headers: LONE }),
    { status: 413, code: -32600, names: /100 values/ },
    SIZE,
    SMALL,
  ),
  ...both(
    "exactly as many values as the limit",
    (era) => post(era, { message: filledTo(100, requestOf(era, "tools/list")), headers: LONE }),
    { status: 200 },
    "core/limits: bounds are inclusive",
    SMALL,
  ),
  ...both(
    "one value more than the limit",
    (era) => post(era, { message: filledTo(101, requestOf(era, "tools/list")), headers: LONE }),
    { status: 413, code: -32600 },
    SIZE,
    SMALL,
  ),
  ...both(
    "nested one level deeper than the limit",
    (era) => post(era, { body: deep(era, 65) }),
    { ...INVALID, names: /64|bodyDepthMax/ },
    SIZE,
  ),
  ...both(
    "nested as deep as the limit",
    (era) => post(era, { body: deep(era, 64) }),
    { status: 200 },
    "core/limits: bounds are inclusive",
  ),
  ...both("nested 100,000 deep", (era) => post(era, { body: deep(era, 100_000) }), INVALID, SIZE),
  ...both(
    "nested 100,000 deep and never closed",
    (era) => post(era, { body: "[".repeat(100_000) }),
    { status: 400, code: [-32600, -32700] },
    SIZE,
  ),
  ...both(
    "a string of brackets",
    (era) => post(era, { message: requestOf(era, "tools/list", {}, nested(200)) }),
    { status: 200, id: nested(200) },
    "brackets in a string do not count as nesting",
  ),
  ...both(
    "a string of brackets after an escaped quote",
    (era) => post(era, { message: requestOf(era, "tools/list", {}, `\\"${nested(200)}\\`) }),
    { status: 200, id: `\\"${nested(200)}\\` },
    "brackets in a string do not count as nesting",
  ),
];

export const MESSAGE_ROWS: readonly Row[] = [
  ...NOT_JSON,
  ...NOT_UTF8,
  ...A19_BROKEN,
  ...A19_WHOLE,
  ...NOT_JSON_RPC,
  ...IDS_ROWS,
  ...NOTIFICATIONS,
  ...BATCHES_SERVED,
  ...BATCHES_REFUSED,
  ...SIZES,
];
