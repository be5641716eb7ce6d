/** Requests with unusual bytes, which no HTTP client writes, to the endpoint on Node: each gets a definite response. */
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createHttpHandler } from "../../src/http/handler.ts";
import { createReferenceServer } from "../../src/reference/server.ts";
import { newKeys } from "../harness/workerd.ts";
import { CONTENT, type Era, type Headers, post, requestOf } from "./messages.ts";
import { type NodeServer, startNodeServer } from "./node-server.ts";
import { type Answer, type Ask, parse, problemsOf, send, sendPart, sendUnfinished } from "./wire.ts";

let node: NodeServer;
const reports: unknown[] = [];

beforeAll(async () => {
  const onError = (error: unknown) => void reports.push(error);
  node = await startNodeServer({ "/mcp": createHttpHandler(createReferenceServer(), { onError }) }, { K: newKeys() });
});

afterEach(() => {
  expect([node.failures, reports]).toEqual([[], []]);
});

afterAll(() => node.stop());

const ERAS: readonly Era[] = ["legacy", "modern"];

/** A call of the echo tool whose text has characters of two, three and four bytes. */
function echo(era: Era): Ask {
  const message = requestOf(era, "tools/call", { name: "echo", arguments: { message: "é☃𝄞" } });
  return post(era, { message, headers: { "mcp-session-id": undefined } });
}

interface Raw {
  readonly method?: string;
  readonly version?: "1.0" | "1.1";
  /** Header lines that replace or add to those of the request. */
  readonly lines?: readonly string[];
  /** The raw bytes after the head; by default the body of the request with its length. */
  readonly pieces?: readonly Uint8Array[];
}

/** Writes one request to a socket and reads until the server closes the connection. */
async function write(ask: Ask, how: Raw): Promise<Answer> {
  const body = Buffer.from(ask.body ?? "");
  const { method = "POST", version = "1.1", lines = [], pieces } = how;
  const named = Object.entries(ask.headers).flatMap(([name, value]) => (value ? [`${name}: ${value}`] : []));
  const length = pieces ? [] : [`Content-Length: ${body.length}`];
  const { hostname, port, host } = new URL(node.origin);
  const head = [`${method} /mcp HTTP/${version}`, `Host: ${host}`, ...named, ...length, ...lines, "Connection: close"];
  const socket = connect(Number(port), hostname);
  socket.write(`${head.join("\r\n")}\r\n\r\n`, "latin1");
  for (const piece of pieces ?? [body]) socket.write(piece);
  const received: Buffer[] = [];
  for await (const data of socket) received.push(data as Buffer);
  return answerOf(Buffer.concat(received).toString("utf8"));
}

/** The final response on a connection; a preceding `100 Continue` is skipped. */
function answerOf(received: string): Answer {
  const [start = "", ...rest] = received.replace(/^HTTP\/1.1 100 [^\r]*\r\n\r\n/, "").split("\r\n\r\n");
  const [status = "", ...lines] = start.split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line): [string, string] => {
      const [, name = "", value = ""] = /^([^:]+): (.*)$/.exec(line) ?? [];
      return [name.toLowerCase(), value];
    }),
  );
  const [, json] = /(\{.*\})/s.exec(rest.join("\r\n\r\n")) ?? [];
  const parsed = json === undefined ? undefined : parse(json);
  const contentType = headers["content-type"] ?? "";
  return {
    status: Number(status.split(" ")[1]),
    headers,
    contentType,
    text: json ?? "",
    messages: parsed ? [parsed.value] : [],
  };
}

const CHUNKED = "Transfer-Encoding: chunked";
const LAST = Buffer.from("0\r\n\r\n");

function chunk(bytes: Uint8Array, extension = ""): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}${extension}\r\n`), bytes, Buffer.from("\r\n")]);
}

const bytesOf = (ask: Ask): Buffer => Buffer.from(ask.body ?? "");

const SERVED: readonly (readonly [cell: string, how: (ask: Ask) => Raw])[] = [
  ["the version HTTP/1.0", () => ({ version: "1.0" })],
  ["Expect: 100-continue", () => ({ lines: ["Expect: 100-continue"] })],
  ["a header line of 12,000 characters", () => ({ lines: [`X-Long: ${"x".repeat(12_000)}`] })],
  ["an Accept with 2,000 additional types", () => ({ lines: [`Accept: ${"a/b, ".repeat(2_000)}c/d`] })],
  ["a header that is not ASCII", () => ({ lines: ["X-Wide: \xff\xfe"] })],
  ["an upgrade to an unsupported protocol", () => ({ lines: ["Upgrade: websocket"] })],
  [
    "one chunk per byte",
    (ask) => ({ lines: [CHUNKED], pieces: [...[...bytesOf(ask)].map((byte) => chunk(Uint8Array.of(byte))), LAST] }),
  ],
  ["a chunk with an extension", (ask) => ({ lines: [CHUNKED], pieces: [chunk(bytesOf(ask), ";a=b"), LAST] })],
  [
    "a trailer that names a session",
    (ask) => ({ lines: [CHUNKED], pieces: [chunk(bytesOf(ask)), Buffer.from("0\r\nMcp-Session-Id: x\r\n\r\n")] }),
  ],
];

describe.each(ERAS)("unusual but valid requests (%s)", (era) => {
  test.each(SERVED)("a request is served with %s", async (_, how) => {
    const ask = echo(era);
    const answer = await write(ask, how(ask));
    expect(answer.messages).toMatchObject([{ id: 7, result: { content: [{ type: "text", text: "é☃𝄞" }] } }]);
    expect(answer.status).toBe(200);
    expect(problemsOf(ask, answer)).toEqual([]);
  });

  test("a request is served if its JSON follows a byte order mark and precedes white space", async () => {
    const ask = echo(era);
    const answer = await write({ ...ask, body: `\ufeff${ask.body}\r\n\t ` }, {});
    expect(answer.messages).toMatchObject([{ id: 7, result: {} }]);
  });
});

const withBody = (change: (text: string) => string | Uint8Array) => (ask: Ask) => ({
  ...ask,
  body: change(String(ask.body)),
});

const NOT_JSON: readonly (readonly [cell: string, change: (ask: Ask) => Ask])[] = [
  ["letters after the JSON", withBody((text) => `${text}xyz`)],
  ["a NUL after the JSON", withBody((text) => `${text}\0`)],
  ["a second message after the JSON", withBody((text) => `${text}\n${text}`)],
  ["UTF-16 with its mark", withBody((text) => Buffer.from(`\ufeff${text}`, "utf16le"))],
  ["half a character at the end", withBody((text) => Buffer.concat([Buffer.from(text), Uint8Array.of(0xe2, 0x98)]))],
];

describe.each(ERAS)("bodies that are not JSON (%s)", (era) => {
  test.each(NOT_JSON)("a body is rejected with -32700 if it has %s", async (_, change) => {
    const ask = change(echo(era));
    const answer = await write(ask, {});
    expect([answer.status, answer.messages]).toMatchObject([400, [{ error: { code: -32700 } }]]);
    expect(answer.messages[0]).not.toHaveProperty("id");
    expect(problemsOf(ask, answer)).toEqual([]);
  });

  test.each<[cell: string, how: Raw]>([
    ["no body and no length", { pieces: [] }],
    ["only the last chunk", { lines: [CHUNKED], pieces: [LAST] }],
  ])("a body is rejected with -32700 if it has %s", async (_, how) => {
    const answer = await write(echo(era), how);
    expect([answer.status, answer.messages]).toMatchObject([400, [{ error: { code: -32700 } }]]);
  });
});

describe.each(ERAS)("requests with an invalid head (%s)", (era) => {
  test.each<[cell: string, how: Raw, status: number]>([
    ["a second Content-Type", { lines: ["Content-Type: application/json"] }, 415],
    ["an empty Origin", { lines: ["Origin: "] }, 403],
    ["an Origin that is not ASCII", { lines: ["Origin: http://\xff"] }, 403],
    ["the method QUERY", { method: "QUERY" }, 405],
    ["the method GET and a body", { method: "GET" }, 405],
  ])("a request is refused if it has %s", async (_, how, status) => {
    const answer = await write(echo(era), how);
    expect([answer.status, answer.messages]).toMatchObject([status, [{ error: { code: -32600 } }]]);
    expect(problemsOf(echo(era), answer)).toEqual([]);
  });

  test("a request is refused if its version has 10,000 characters, which the response does not repeat", async () => {
    const { "mcp-protocol-version": _, ...headers } = echo(era).headers;
    const answer = await write({ ...echo(era), headers }, { lines: [`MCP-Protocol-Version: ${"9".repeat(10_000)}`] });
    expect([answer.status, answer.messages]).toMatchObject([400, [{ id: 7, error: {} }]]);
    expect(answer.text.length).toBeLessThan(500);
  });
});

/** The default limit on the size of a body. */
const LIMIT_BYTES = 4 * 1024 * 1024;

describe.each(ERAS)("a body that does not end (%s)", (era) => {
  const changed = (headers: Headers): Ask => ({
    ...echo(era),
    headers: { ...CONTENT, ...echo(era).headers, ...headers },
  });

  test("is refused because of its announced length before any of it is sent", async () => {
    const { body: _, ...ask } = changed({ "content-length": `${LIMIT_BYTES + 1}` });
    expect(await sendUnfinished(node.origin, ask)).toBe(413);
  });

  test("is refused at the first byte over the limit", async () => {
    const ask = { ...changed({}), chunked: true, body: Buffer.alloc(LIMIT_BYTES + 1, " ") };
    expect(await sendUnfinished(node.origin, ask)).toBe(413);
  });

  test("does not affect the endpoint if its client disconnects", async () => {
    const ask = changed({ "content-length": "100000" });
    await Promise.all(Array.from({ length: 5 }, () => sendPart(node.origin, ask)));
    expect((await send(node.origin, echo(era))).status).toBe(200);
  });
});
