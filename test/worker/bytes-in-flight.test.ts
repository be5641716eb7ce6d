/** `limitBytesInFlight()` on workerd: many large and slow bodies at the same time. */
import { type ClientRequest, type IncomingHttpHeaders, request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { initialize, request as message, meta, standardHeaders } from "../http/messages.ts";
import { until } from "../http/wire.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: "test/worker/fixtures/bytes-in-flight.ts", objects: ["McpObject"] });
});
afterAll(() => worker?.stop());

const KIB = 1024;
const CONTENT = { "content-type": "application/json", accept: "application/json, text/event-stream" };

type Headers = Readonly<Record<string, string>>;

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A request whose body is sent in two parts. */
class Slow {
  readonly answer: Promise<Answer>;
  /** Undefined until there is a response. */
  status: number | undefined;
  readonly #request: ClientRequest;
  readonly #rest: string;

  /** Sends the headers and the beginning of a call with a string of this length. */
  constructor(path: string, length: number, { isChunked = false, headers = { "x-user": "ann" } as Headers } = {}) {
    const call = message("tools/call", { name: "length", arguments: { text: "x".repeat(length) }, _meta: meta() });
    const body = JSON.stringify(call);
    const half = body.length >> 1;
    this.#rest = body.slice(half);
    this.#request = request(worker.url(path), {
      method: "POST",
      headers: {
        ...CONTENT,
        ...(standardHeaders(call) as Headers),
        ...(isChunked ? { "transfer-encoding": "chunked" } : { "content-length": body.length }),
        ...headers,
      },
    });
    this.answer = new Promise<Answer>((resolve, reject) => {
      this.#request.on("error", reject).on("response", async (response) => {
        const text = (await response.toArray()).join("");
        this.status = response.statusCode;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    // A refused request is reset when its connection is closed before the body was sent.
    this.answer.catch(() => undefined);
    this.#request.write(body.slice(0, half));
  }

  /** Sends the rest of the body, and returns the response. */
  finish(): Promise<Answer> {
    this.#request.end(this.#rest);
    return this.answer;
  }

  cut(): void {
    this.#request.destroy();
  }
}

const hasAnswer = ({ status }: Slow) => status !== undefined;

/** Opens requests that are too many together, until all but `kept` are refused. Returns the kept and the refused ones. */
async function fill(path: string, count: number, kept: number, length: number, isChunked = false) {
  const all = Array.from({ length: count }, () => new Slow(path, length, { isChunked }));
  await until("the others are refused", async () => all.filter(hasAnswer).length === count - kept);
  return { held: all.filter((each) => !hasAnswer(each)), refused: all.filter(hasAnswer) };
}

/** Calls until there is room. */
async function untilServed(path: string, length: number): Promise<void> {
  await until("there is room", async () => (await new Slow(path, length).finish()).status === 200);
}

describe("many slow bodies", () => {
  test("are read until the limit is reached; additional ones get 503 at once, and are served later", async () => {
    const { held, refused } = await fill("/mcp", 8, 2, 400 * KIB);
    for (const each of refused) {
      const { status, headers, text } = await each.answer;
      expect([status, headers["retry-after"]]).toEqual([503, "1"]);
      expect(JSON.parse(text)).toMatchObject({
        jsonrpc: "2.0",
        error: { code: -32603, data: { reason: "too-many", retryAfterMs: 1_000 } },
      });
    }
    // What fits is still served.
    expect((await new Slow("/mcp", 10).finish()).status).toBe(200);
    for (const each of held) expect((await each.finish()).text).toContain(String(400 * KIB));
    expect((await new Slow("/mcp", 400 * KIB).finish()).status).toBe(200);
  });

  test("are counted as they arrive if they have no Content-Length", async () => {
    const { held } = await fill("/chunks", 6, 3, 600 * KIB, true);
    for (const each of held) each.cut();
    await untilServed("/chunks", 900 * KIB);
  });

  test("release their share when their clients vanish", async () => {
    const { held } = await fill("/lost", 4, 2, 400 * KIB);
    for (const each of held) each.cut();
    await untilServed("/lost", 900 * KIB);
  });

  test("never exceed the limit with 4 MiB in all, from 64 clients at once", async () => {
    const { held, refused } = await fill("/many", 64, 15, 64 * KIB);
    expect(refused).toHaveLength(49);
    const answers = await Promise.all(held.map((each) => each.finish()));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 15 }, () => 200));
    await untilServed("/many", 900 * KIB);
  });
});

test("a body that does not arrive in time gets 408, and releases its share", async () => {
  const late = await new Slow("/late", 900 * KIB).answer;
  expect(late.status).toBe(408);
  expect(JSON.parse(late.text)).toMatchObject({
    error: { message: "The body did not arrive within 300 ms.", data: { reason: "body-too-slow" } },
  });
  await untilServed("/late", 900 * KIB);
});

test("a body that is larger than the limit gets 413, because it could never be read", async () => {
  const { status, text } = await new Slow("/large", 1_025 * KIB).answer;
  expect(status).toBe(413);
  expect(text).toContain("larger than 1048576 bytes");
});

test("a request that is not authorized is refused before its body is counted", async () => {
  const { held } = await fill("/mcp", 3, 2, 400 * KIB);
  expect((await new Slow("/mcp", 400 * KIB, { headers: {} }).answer).status).toBe(401);
  for (const each of held) expect((await each.finish()).status).toBe(200);
});

test("a page of an allowed origin can read the refusal", async () => {
  const { held } = await fill("/mcp", 3, 2, 400 * KIB);
  const origin = "https://app.example.com";
  const { status, headers } = await new Slow("/mcp", 400 * KIB, { headers: { "x-user": "ann", origin } }).answer;
  expect([status, headers["access-control-allow-origin"]]).toEqual([503, origin]);
  expect(headers["access-control-expose-headers"]).toContain("Retry-After");
  for (const each of held) await each.finish();
});

test("bodies that rates() reads first, and bodies of sessions, are counted once", async () => {
  const { held } = await fill("/counted", 4, 2, 400 * KIB);
  for (const each of held) {
    const { status, text } = await each.finish();
    expect([status, text]).toEqual([200, expect.stringContaining(String(400 * KIB))]);
  }
  const headers = { ...CONTENT, "x-user": "ann" };
  const post = (body: object, more: Record<string, string> = {}) =>
    fetch(worker.url("/counted"), { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });
  const opened = await post(initialize("2025-11-25"));
  await opened.body?.cancel();
  const session = {
    "mcp-session-id": opened.headers.get("Mcp-Session-Id") ?? "",
    "mcp-protocol-version": "2025-11-25",
  };
  const text = "x".repeat(900 * KIB);
  const called = await post(message("tools/call", { name: "length", arguments: { text } }), session);
  expect([called.status, await called.text()]).toEqual([200, expect.stringContaining(String(900 * KIB))]);
});
