/** HTTP+SSE calls under losses, limits and hooks, without an SDK; the tests also check what the object stores. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type HttpStream, openStream } from "../../src/testing/http-stream.ts";
import { expectLogs } from "../harness/logs.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { initialize, isMembers, type Members, notification, request } from "../http/messages.ts";

expectLogs(
  /^mcp-edge: "\(session\)" failed .* refused: SQLITE_CONSTRAINT/,
  /^mcp-edge: This server is not configured correctly\./,
);

let worker: Workerd;
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/http-sse-calls.ts",
    objects: ["McpObject", "SmallObject", "PlacesObject", "ModernObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());
afterEach(async () => {
  await fetch(`${worker.origin}/release`, { method: "POST" });
  await seen();
});

const seen = async () => (await fetch(`${worker.origin}/seen`)).json() as Promise<Members[]>;

interface OpenOptions {
  readonly path?: string;
  readonly paused?: boolean;
  readonly subject?: string;
}

/** A client that reads its only stream. */
class Reader {
  readonly stream: HttpStream;
  readonly #endpoint: string;
  readonly #headers: Record<string, string>;

  private constructor(stream: HttpStream, endpoint: string, headers: Record<string, string>) {
    this.stream = stream;
    this.#endpoint = endpoint;
    this.#headers = headers;
  }

  static async open({ path = "/mcp", subject }: OpenOptions = {}): Promise<Reader> {
    const headers: Record<string, string> = subject === undefined ? {} : { authorization: subject };
    const stream = await openStream(`${worker.origin}${path}`, { headers });
    await stream.waitFor("the endpoint", ({ events }) => events.length > 0);
    const endpoint = new URL(String(stream.messages[0]), worker.origin).href;
    const reader = new Reader(stream, endpoint, headers);
    return reader;
  }

  async post(body: unknown): Promise<HttpStream> {
    const answer = await openStream(this.#endpoint, { body, headers: this.#headers });
    await answer.end();
    return answer;
  }

  /** Posts a call. @returns Its status. */
  async call(id: string | number, name: string, args: object = {}, meta: object = {}): Promise<number> {
    return (await this.post(request("tools/call", { name, arguments: args, ...meta }, id))).status;
  }

  /** All responses to a request so far. */
  answers(id: string | number): Members[] {
    return this.stream.messages.filter(isMembers).filter((each) => each.id === id && each.method === undefined);
  }

  /** The progress values so far. */
  progress(): number[] {
    const told = this.stream.messages.filter(isMembers).filter(({ method }) => method === "notifications/progress");
    return told.map(({ params }) => (isMembers(params) ? Number(params.progress) : 0));
  }

  async answer(id: string | number): Promise<Members> {
    await this.stream.waitFor(`the answer to ${id}`, () => this.answers(id).length > 0);
    return this.answers(id)[0] ?? {};
  }

  async initialize(capabilities = {}): Promise<Members> {
    await this.post(initialize("2025-06-18", "hello", capabilities));
    return this.answer("hello");
  }
}

/** A session whose client has no open stream. @returns The address to which it would post HTTP+SSE messages. */
async function openWithoutStream(path: string): Promise<string> {
  const opened = await openStream(`${worker.origin}${path}`, { body: initialize() });
  await opened.end();
  return `${worker.origin}${path}?sessionId=${opened.headers["mcp-session-id"]}`;
}

/** Posts twenty pings at the same time. @returns The status of each. */
async function postAtOnce(url: string): Promise<number[]> {
  const posted = Array.from({ length: 20 }, async (_, id) => {
    const answer = await openStream(url, { body: request("ping", undefined, id) });
    await answer.end();
    return answer.status;
  });
  return Promise.all(posted);
}

/** Opens a reader and finds the new object of its session. */
async function openAlone(binding: string, options?: OpenOptions): Promise<{ reader: Reader; id: string }> {
  const before = await worker.worker.objects(binding);
  const reader = await Reader.open(options);
  const [id = ""] = (await worker.worker.objects(binding)).filter((each) => !before.includes(each));
  return { reader, id };
}

async function rows(binding: string, id: string): Promise<{ streams: Members[]; events: Members[]; units: number }> {
  const { tables } = await worker.worker.storage(binding, id);
  const [streams = [], events = []] = [tables.stream, tables.event] as unknown as Members[][];
  return { streams, events, units: events.reduce((sum, { frames }) => sum + String(frames).length, 0) };
}

const held = async () => {
  await expect.poll(async () => (await seen()).some(({ held }) => held === true)).toBe(true);
};

describe("a call that was accepted with 202", () => {
  test("gets the interrupted outcome when its object is reset, and the stream continues", {
    tags: "long",
  }, async () => {
    const { reader, id } = await openAlone("McpObject");
    await reader.initialize();
    expect(await reader.call(1, "hold")).toBe(202);
    expect(await reader.call("two", "hold")).toBe(202);
    await held();
    await worker.worker.abort("McpObject", id);
    for (const lost of [1, "two"]) {
      expect(await reader.answer(lost)).toMatchObject({ error: { code: -32603, data: { reason: "interrupted" } } });
    }
    // Sent while the Worker may or may not have reconnected: it is served either way.
    expect(await reader.call(3, "echo")).toBe(202);
    expect(await reader.answer(3)).toMatchObject({ result: { content: [{ text: "echo" }] } });
    expect([1, "two", 3].map((each) => reader.answers(each).length)).toEqual([1, 1, 1]);
    expect(reader.stream.ended).toBeUndefined();
    expect((await rows("McpObject", id)).streams.filter(({ kind }) => kind === 3)).toEqual([]);
    reader.stream.cut();
  });

  test("gets its result after its object has hibernated, whether or not its sockets were closed", async () => {
    const { reader, id } = await openAlone("McpObject");
    await reader.initialize();
    for (const webSockets of ["hibernate", "close"] as const) {
      await worker.worker.evict("McpObject", id, { webSockets });
      expect(await reader.call(webSockets, "say", { count: 2, size: 1 })).toBe(202);
      expect(await reader.answer(webSockets)).toMatchObject({ result: { content: [{ text: "said 2" }] } });
    }
    reader.stream.cut();
  });

  test("waits for the Worker to reconnect if it is posted right after a reset", async () => {
    const { reader, id } = await openAlone("McpObject");
    await reader.initialize();
    for (let turn = 0; turn < 5; turn += 1) {
      await worker.worker.abort("McpObject", id);
      expect(await reader.call(turn, "echo")).toBe(202);
      expect(await reader.answer(turn)).toMatchObject({ result: {} });
    }
    reader.stream.cut();
  });
});

describe("a result that cannot be stored", () => {
  test("is replaced by an error at once, and the stream continues", async () => {
    const { reader, id } = await openAlone("McpObject");
    await reader.initialize();
    const trigger = `CREATE TRIGGER refusing BEFORE INSERT ON event WHEN NEW.frames LIKE '%"said 1"%'`;
    await worker.worker.sql("McpObject", id, `${trigger} BEGIN SELECT RAISE(ABORT, 'refused'); END`);
    for (const call of [1, 2]) {
      expect(await reader.call(call, "say", { count: 1, size: 1 })).toBe(202);
      expect(await reader.answer(call)).toMatchObject({ error: { code: -32603, data: { reason: "interrupted" } } });
    }
    expect(await reader.call(3, "say", { count: 2, size: 1 })).toBe(202);
    expect(await reader.answer(3)).toMatchObject({ result: { content: [{ text: "said 2" }] } });
    expect((await rows("McpObject", id)).streams.filter(({ kind }) => kind === 3)).toEqual([]);
    reader.stream.cut();
  });
});

describe("limits of HTTP+SSE", () => {
  test("beyond inFlightMax a call is refused with 429 and Retry-After, and notifications are accepted", async () => {
    const { reader } = await openAlone("SmallObject", { path: "/small" });
    await reader.initialize();
    expect([await reader.call(1, "hold"), await reader.call(2, "hold")]).toEqual([202, 202]);
    await held();
    const refused = await reader.post(request("tools/call", { name: "hold", arguments: {} }, 3));
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
    expect(refused.messages[0]).toMatchObject({ id: 3, error: { data: { reason: "too-many" } } });
    expect((await reader.post(notification("notifications/cancelled", { requestId: 1 }))).status).toBe(202);
    await expect.poll(() => reader.call(4, "echo")).toBe(202);
    expect(await reader.answer(4)).toMatchObject({ result: {} });
    expect(reader.answers(3)).toEqual([]);
    reader.stream.cut();
  });

  test("concurrent calls do not exceed inFlightMax", async () => {
    const { reader } = await openAlone("SmallObject", { path: "/small" });
    const statuses = await Promise.all(Array.from({ length: 20 }, (_, id) => reader.call(id, "hold")));
    expect(statuses.filter((status) => status === 202)).toHaveLength(2);
    expect(statuses.filter((status) => status === 429)).toHaveLength(18);
    reader.stream.cut();
  });

  test("messages that wait for the Worker to reconnect count as requests in flight", async () => {
    // Each session has its own object, which starts with the first of these messages.
    const refused = async () => (await postAtOnce(await openWithoutStream("/small"))).filter((each) => each === 429);
    await expect.poll(async () => (await refused()).length).toBe(18);
  });

  test("a message without a stream is refused at once when no Worker can be reconnecting", async () => {
    const session = await openWithoutStream("/small");
    // Only two may be in flight: if any of them waited, others would be refused with 429.
    await expect.poll(() => postAtOnce(session), { timeout: 10_000 }).toEqual(Array(20).fill(404));
    expect(await postAtOnce(session)).toEqual(Array(20).fill(404));
  });

  test("a request that is repeated while it is served runs once and gets one response", async () => {
    const { reader } = await openAlone("McpObject");
    expect(await Promise.all([1, 1, 1].map((id) => reader.call(id, "hold")))).toEqual([202, 202, 202]);
    await held();
    expect(await reader.call(1, "hold")).toBe(202);
    expect((await seen()).filter(({ held }) => held === true)).toEqual([]);
    await fetch(`${worker.origin}/release`, { method: "POST" });
    await reader.answer(1);
    await reader.call(2, "echo");
    await reader.answer(2);
    expect(reader.answers(1)).toHaveLength(1);
    reader.stream.cut();
  });

  test("the log of a reader that does not read is limited, and then calls are refused", { tags: "long" }, async () => {
    const { reader, id } = await openAlone("SmallObject", { path: "/small", subject: "slow" });
    await reader.initialize();
    await worker.worker.abort("SmallObject", id);
    await expect.poll(() => reader.call(0, "echo")).toBe(202);
    reader.stream.pause();
    // About a megabyte plus the socket buffers is on its way to the client; the rest must be in the log.
    const progress = { _meta: { progressToken: 1 } };
    expect(await reader.call(1, "say", { count: 300, size: 30_000 }, progress)).toBe(202);
    await expect
      .poll(async () => (await seen()).some(({ ended }) => ended === "tools/call"), { timeout: 20_000 })
      .toBe(true);
    expect((await rows("SmallObject", id)).units).toBeLessThan(110_000);
    reader.stream.resume();
    await reader.answer(1);
    reader.stream.cut();
  });
});

describe("an endpoint that cannot serve HTTP+SSE", () => {
  test("returns 405 for GET and creates no object if it has modern versions only", async () => {
    await using stream = await openStream(`${worker.origin}/modern`, {});
    expect([stream.status, stream.headers.allow]).toEqual([405, "POST"]);
    expect(await worker.worker.objects("ModernObject")).toEqual([]);
  });

  test("refuses the option at the first request if it has no sessions, naming the option", async () => {
    const refused = await (await fetch(`${worker.origin}/without-sessions`)).text();
    expect(refused).toContain("edge(): use: httpSse() needs sessions().");
  });
});

describe("the limit on streams", () => {
  test("cannot be used up by one principal, counts anonymous callers as one, and is lowered by closing a stream", async () => {
    const open = (subject?: string) =>
      openStream(`${worker.origin}/places`, { headers: subject === undefined ? {} : { authorization: subject } });
    const refusalOf = async (subject?: string) => {
      await using stream = await open(subject);
      return [stream.status, /\(httpSse\(\): (\w+)\)/.exec(stream.raw)?.[1]];
    };
    const [first, ...others] = [await open("ann"), await open("ann"), await open()];
    expect([first, ...others].map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await refusalOf("ann")).toEqual([429, "streamsPerPrincipalMax"]);
    const last = await open();
    expect(last.status).toBe(200);
    expect(await refusalOf()).toEqual([429, "streamsMax"]);
    expect(await refusalOf("bob")).toEqual([429, "streamsMax"]);
    first.cut("fin");
    await expect.poll(async () => (await refusalOf("bob"))[0]).toBe(200);
    await expect.poll(async () => (await refusalOf("ann"))[0]).toBe(200);
    last.cut("rst");
    await expect.poll(async () => (await refusalOf())[0]).toBe(200);
    for (const stream of others) stream.cut();
  });
});

describe("notifications that exceed the limits", () => {
  test("are dropped as a whole: a slow reader gets the rest of an event that has begun, and its stream continues", {
    tags: "long",
  }, async () => {
    const { reader } = await openAlone("SmallObject", { path: "/small" });
    await reader.initialize();
    reader.stream.pause();
    // More than the sockets hold, in messages of several rows, none of which the limits leave room for.
    expect(await reader.call(1, "say", { count: 45, size: 300_000 }, { _meta: { progressToken: "p" } })).toBe(202);
    await expect
      .poll(async () => (await seen()).some(({ ended }) => ended === "tools/call"), { timeout: 20_000 })
      .toBe(true);
    reader.stream.resume();
    expect(await reader.answer(1)).toMatchObject({ result: { content: [{ text: "said 45" }] } });
    expect(reader.stream.raw).toMatch(/"\d+ earlier messages are no longer stored\."/);
    const heard = reader.progress();
    expect(heard).toEqual([...new Set(heard)].sort((a, b) => a - b));
    expect(heard.length).toBeLessThan(45);
    reader.stream.cut();
  });
});

describe("events that a reader has received", () => {
  test("are dropped from the log, even large results, so that a client that reads is never refused", {
    tags: "long",
  }, async () => {
    const { reader, id } = await openAlone("SmallObject", { path: "/small" });
    await reader.initialize();
    for (let turn = 0; turn < 12; turn += 1) {
      // Each is larger than the session's limit, so the previous one must have been dropped.
      await expect.poll(() => reader.call(turn, "large", { count: 1, size: 600_000 })).toBe(202);
      await reader.answer(turn);
    }
    await expect.poll(async () => (await rows("SmallObject", id)).units).toBe(0);
    expect((await rows("SmallObject", id)).events.length).toBeLessThan(2);
    reader.stream.cut();
  });

  test("arrive once, in order and without event ids, through resets of the object", async () => {
    const { reader, id } = await openAlone("McpObject");
    await reader.initialize();
    const progress = { _meta: { progressToken: "p" } };
    for (let turn = 0; turn < 3; turn += 1) {
      await expect.poll(() => reader.call(turn, "say", { count: 40, size: 700 }, progress)).toBe(202);
      if (turn === 1) await worker.worker.abort("McpObject", id);
      await reader.answer(turn);
    }
    expect(reader.answers(1)).toHaveLength(1);
    expect(reader.stream.ids).toEqual([]);
    expect(reader.stream.raw).not.toMatch(/^id:/m);
    const values = reader.progress();
    const all = Array.from({ length: 40 }, (_, place) => place + 1);
    expect(values.slice(0, 40)).toEqual(all);
    expect(values.slice(-40)).toEqual(all);
    const cut = values.slice(40, -40);
    expect(cut).toEqual(all.slice(0, cut.length));
    reader.stream.cut();
  });

  test("are dropped only after they have arrived completely: a slow reader gets messages of several rows in order", {
    tags: "long",
  }, async () => {
    const { reader } = await openAlone("McpObject");
    await reader.initialize();
    reader.stream.pause();
    // More than the sockets hold: part of one message has arrived, and the rest has to wait in the log.
    for (let id = 1; id <= 30; id += 1) expect(await reader.call(id, "large", { count: 1, size: 600_000 })).toBe(202);
    // The Worker reports received events to the object after a delay.
    await new Promise((resolve) => setTimeout(resolve, 300));
    reader.stream.resume();
    for (let id = 1; id <= 30; id += 1) expect(await reader.answer(id)).toMatchObject({ id, result: {} });
    reader.stream.cut();
  });

  test("do not leave anything stored when the client of a session has disconnected", async () => {
    const { reader, id } = await openAlone("McpObject");
    await reader.initialize();
    await reader.call(1, "hold");
    await held();
    expect(Object.keys((await worker.worker.storage("McpObject", id)).keys)).toEqual(["session"]);
    reader.stream.cut();
    await expect
      .poll(async () => Object.keys((await worker.worker.storage("McpObject", id)).keys), { timeout: 10_000 })
      .toEqual([]);
    expect(await reader.call(2, "echo")).toBe(404);
    await fetch(`${worker.origin}/release`, { method: "POST" });
    await expect.poll(async () => (await rows("McpObject", id)).streams).toEqual([]);
  });
});

describe("initialize over HTTP+SSE", () => {
  test("passes around and onRequestEnd, with the client's name", async () => {
    const reader = await Reader.open();
    expect(await reader.initialize()).toMatchObject({ result: { protocolVersion: "2025-06-18" } });
    expect(await seen()).toEqual([
      { around: "initialize", version: "2025-06-18" },
      { ended: "initialize", version: "2025-06-18" },
    ]);
    reader.stream.cut();
  });

  test("can be refused by a hook, and then the client can repeat it, once", async () => {
    const reader = await Reader.open();
    expect(await reader.initialize({ sampling: {} })).toMatchObject({ error: { code: 4401 } });
    expect((await seen()).at(-1)).toMatchObject({ ended: "initialize", errorCode: 4401 });
    await reader.post(initialize("2025-06-18", "second"));
    expect(await reader.answer("second")).toMatchObject({ result: { protocolVersion: "2025-06-18" } });
    await reader.post(initialize("2025-03-26", "third"));
    expect(await reader.answer("third")).toMatchObject({ error: { code: -32600, data: { reason: "initialized" } } });
    reader.stream.cut();
  });

  test("is rejected with -32602 if it lacks required members", async () => {
    const reader = await Reader.open();
    await reader.post(request("initialize", { protocolVersion: "2025-06-18" }, "bad"));
    expect(await reader.answer("bad")).toMatchObject({ error: { code: -32602 } });
    reader.stream.cut();
  });
});
