/** The format of a stream: comments, headers, its end, back-pressure and line breaks. */
import { type IncomingMessage, request as open } from "node:http";
import { describe, expect, test } from "vitest";
import { CONTENT, isMembers, type Members, post, request, requestOf } from "../http/messages.ts";
import { type Client, clientOf, ModernClient, Reading, readAnswer } from "../worker/client.ts";
import { AWKWARD } from "./fixtures/awkward.ts";
import { eventsOf, newKey, progressOf, Session, useLab } from "./support.ts";

const lab = useLab();

const VERSIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const;

const client = async (version: (typeof VERSIONS)[number], at: "full" | "quick" = "full"): Promise<Client> =>
  clientOf(version, await lab.url(at));

describe.each(VERSIONS)("a stream (%s)", (version) => {
  test("sends keep-alive comment lines while a call is silent, and a parser ignores them", async () => {
    const key = newKey();
    const reading = new Reading(await (await client(version, "quick")).call("hold", { key }));
    await reading.has("three comments", ({ comments }) => comments.length >= 3);
    expect(eventsOf(reading.raw).filter(({ data }) => data !== "")).toEqual([]);
    await lab.tool("release", { key }, "quick");
    await reading.has("the end", ({ isOver }) => isOver);
    expect(reading.messages).toMatchObject([{ result: { content: [{ text: key }] } }]);
    // A comment stands between events, never inside one.
    for (const block of reading.raw.split("\n\n"))
      expect(block).toMatch(/^(:[^\n]*|((id|event|data|retry):[^\n]*\n?)*)$/);
  });

  test("has X-Accel-Buffering: no, and must not be cached or transformed", async () => {
    const response = await (await client(version)).call("emit_twice", {}, { progressToken: 1 });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream(;|$)/);
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(response.headers.get("cache-control")).toMatch(/no-cache|no-store/);
    expect(response.headers.get("cache-control")).toContain("no-transform");
    await response.text();
  });

  test("preserves CR, CRLF, BOM and line breaks in a message, with one line of data per event", async () => {
    const { raw, messages, text } = await readAnswer((await client(version)).call("awkward", {}, { progressToken: 1 }));
    expect(text).toBe(AWKWARD);
    expect(messages[0]).toMatchObject({ params: { message: AWKWARD } });
    expect(messages).toHaveLength(2);
    expect(raw).not.toContain("\r");
    expect(raw.startsWith("\ufeff")).toBe(false);
    // A comment may come first if the object's first frame has not arrived yet.
    const blocks = raw
      .trimEnd()
      .split("\n\n")
      .filter((block) => !block.startsWith(":"));
    for (const line of blocks.join("\n").split("\n")) expect(line).toMatch(/^($|(id|event|data): ?)/);
    for (const block of blocks) expect(block.match(/^data:/gm)).toHaveLength(1);
  });
});

describe("keep-alive comment lines", () => {
  test("are sent on a GET stream, whose headers forbid buffering", async () => {
    const session = await Session.open(await lab.url("quick"));
    const stream = await session.get();
    expect(stream.response.headers.get("x-accel-buffering")).toBe("no");
    await stream.has("three comments", ({ comments }) => comments.length >= 3);
    expect(stream.messages).toEqual([]);
    stream.cut();
  });

  test("are sent on a resumed stream", async () => {
    const session = await Session.open(await lab.url("quick"));
    const key = newKey();
    const stream = await session.stream("count", { key, before: 1, after: 0 });
    await stream.has("progress", ({ messages }) => messages.length === 1);
    stream.cut();
    const resumed = await session.get(stream.events[0]?.id);
    expect(resumed.response.headers.get("x-accel-buffering")).toBe("no");
    await resumed.has("three comments", ({ comments }) => comments.length >= 3);
    await lab.tool("free", { key }, "quick");
    await resumed.end();
    expect(resumed.messages.at(-1)).toMatchObject({ result: { content: [{ text: key }] } });
  });
});

/** POSTs a message without a tap and returns the response unread. */
function unread(headers: Members, message: Members): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = open(`${lab.worker.origin}/mcp`, {
      method: "POST",
      headers: headers as Record<string, string>,
      agent: false,
    });
    outgoing.on("response", resolve);
    outgoing.on("error", reject);
    outgoing.end(JSON.stringify(message));
  });
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

describe("the end of a stream", () => {
  test.each(VERSIONS)("follows the response, which is its last message (%s)", async (version) => {
    const session = version === "2026-07-28" ? undefined : await Session.open(await lab.url(), { version });
    const params = { name: "emit_twice", arguments: {}, _meta: { progressToken: "p" } };
    const meta = requestOf("modern", "x").params;
    const _meta = { ...(isMembers(meta) && isMembers(meta._meta) ? meta._meta : {}), progressToken: "p" };
    const message = session
      ? request("tools/call", params, "closes")
      : request("tools/call", { ...params, _meta }, "closes");
    const headers = session ? { ...CONTENT, ...session.headers } : post("modern", { message }).headers;
    const answer = await lab.send({ method: "POST", headers, body: JSON.stringify(message) });
    // The stream has ended, because `send` waits for its end.
    expect(answer.contentType).toBe("text/event-stream");
    expect(answer.messages).toHaveLength(3);
    expect(answer.messages.at(-1)).toMatchObject({ id: "closes" });
    expect(answer.text).toMatch(/\n\n$/);
  });
});

const EVENTS = 60;
/** Together far more than all buffers between server and client hold. */
const SIZE = 100_000;

describe("slow readers", () => {
  test("a reader of a session gets every event once and in order, and then the result", async () => {
    const session = await Session.open(await lab.url());
    const key = newKey();
    const params = { name: "flood", arguments: { key, events: EVENTS, size: SIZE }, _meta: { progressToken: 1 } };
    const response = await unread({ ...CONTENT, ...session.headers }, request("tools/call", params, "flood"));
    await lab.noted(key, "emitted");
    // Other requests are served while it is not read.
    expect((await readAnswer(session.call("echo", { key: "beside" }))).text).toBe("beside");
    const messages = eventsOf(await textOf(response)).flatMap(({ data }) =>
      data === "" ? [] : [JSON.parse(data) as Members],
    );
    expect(progressOf(messages)).toEqual(Array.from({ length: EVENTS }, (_, at) => at + 1));
    expect(messages.at(-1)).toMatchObject({ id: "flood", result: { content: [{ text: key }] } });
    expect(messages).toHaveLength(EVENTS + 1);
  });

  test("a reader in 2026-07-28 gets the result, and strictly increasing progress", async () => {
    const key = newKey();
    const meta = requestOf("modern", "x").params;
    const _meta = { ...(isMembers(meta) && isMembers(meta._meta) ? meta._meta : {}), progressToken: 1 };
    const params = { name: "flood", arguments: { key, events: EVENTS, size: SIZE }, _meta };
    const message = request("tools/call", params, "flood");
    const response = await unread(post("modern", { message }).headers, message);
    await lab.noted(key, "emitted");
    expect((await readAnswer(new ModernClient(await lab.url()).call("echo", { key: "beside" }))).text).toBe("beside");
    const messages = eventsOf(await textOf(response)).map(({ data }) => JSON.parse(data) as Members);
    const values = progressOf(messages).map(Number);
    expect(values[0]).toBe(1);
    expect(values).toEqual(values.toSorted((left, right) => left - right));
    expect(new Set(values).size).toBe(values.length);
    expect(messages.at(-1)).toMatchObject({ id: "flood", result: { content: [{ text: key }] } });
  });

  test("a large result arrives completely, and again when the stream is resumed", async () => {
    const session = await Session.open(await lab.url());
    const size = 1_500_000;
    const stream = await (await session.stream("bulk", { key: newKey(), size }, "large")).end();
    const resumed = await (await session.get(stream.events[0]?.id)).end();
    for (const { messages } of [stream, resumed]) {
      expect(messages).toHaveLength(2);
      expect(messages[1]).toMatchObject({ id: "large", result: { content: [{ text: "x".repeat(size) }] } });
    }
  });

  test("a result larger than a row arrives completely, and again when the stream is resumed", {
    tags: "long",
  }, async () => {
    const session = await Session.open(await lab.url());
    const stream = await (await session.stream("bulk", { key: newKey(), size: 12_000_000 }, "huge")).end();
    const resumed = await (await session.get(stream.events[0]?.id)).end();
    for (const { messages } of [stream, resumed]) {
      expect(messages.at(-1)).toMatchObject({ id: "huge", result: { content: [{ text: "x".repeat(12_000_000) }] } });
    }
  });

  test("all events of one turn that are together larger than a row arrive", { tags: "long" }, async () => {
    const session = await Session.open(await lab.url());
    const stream = await (await session.stream("flood", { key: newKey(), events: 60, size: 100_000 }, "huge")).end();
    expect(progressOf(stream.messages)).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));
    expect(stream.messages.at(-1)).toMatchObject({ id: "huge" });
  });

  test("a reader that stops half-way gets the rest by resuming, without repeats", { tags: "long" }, async () => {
    const session = await Session.open(await lab.url());
    const key = newKey();
    const stream = await session.stream("flood", { key, events: EVENTS, size: SIZE }, "half");
    await stream.has("some events", ({ raw }) => raw.includes('"progress":10'));
    stream.cut();
    const first = progressOf(stream.messages);
    const cursor = stream.events.findLast(({ id }) => id !== undefined)?.id;
    const rest = await (await session.get(cursor)).end();
    expect([...first, ...progressOf(rest.messages)]).toEqual(Array.from({ length: EVENTS }, (_, at) => at + 1));
    expect(rest.messages.at(-1)).toMatchObject({ id: "half" });
  });
});
