/** Which resources a listen stream is granted, and the limits of subscriptions. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { LegacyClient, ModernClient } from "./client.ts";

let worker: Workerd;
const open = new Set<Stream>();
// Each test has its own hub, so that streams of other tests do not count.
beforeEach(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/listen-limits.ts",
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterEach(async () => {
  for (const stream of open) stream.leave();
  open.clear();
  await worker?.stop();
});

class Stream {
  readonly status: number;
  readonly #response: Response;
  readonly #leave: AbortController;
  #text = "";
  #reader: ReadableStreamDefaultReader<string> | undefined;

  constructor(response: Response, leave: AbortController) {
    this.status = response.status;
    this.#response = response;
    this.#leave = leave;
    open.add(this);
  }

  /** Returns what has arrived up to the given text. */
  async until(text: string): Promise<string> {
    this.#reader ??= this.#response.body?.pipeThrough(new TextDecoderStream()).getReader();
    while (!this.#text.includes(text)) {
      const { value, done } = (await this.#reader?.read()) ?? { done: true };
      if (done) throw new Error(`The stream ended without ${text}: ${this.#text}`);
      this.#text += value;
    }
    return this.#text;
  }

  json(): Promise<unknown> {
    return this.#response.json();
  }

  leave(): void {
    this.#leave.abort();
  }
}

async function listen(uris: readonly string[] = ["test://open"], user?: string, more: object = {}): Promise<Stream> {
  const leave = new AbortController();
  const response = await new ModernClient(`${worker.origin}/mcp`).request(
    "subscriptions/listen",
    { notifications: { resourceSubscriptions: uris }, ...more },
    { signal: leave.signal, headers: user ? { authorization: `Bearer ${user}` } : {} },
  );
  return new Stream(response, leave);
}

/** The refusal that names where the limit is set. */
const tooMany = (option: string) => ({
  error: { code: -32600, message: expect.stringContaining(`(${option})`), data: { reason: "too-many" } },
});
const INVALID = { error: { code: -32602 } };

test("a listen stream gets the resources that resources/subscribe would allow, and no others", async () => {
  const uris = ["test://secret", "test://invented", "test://open", "secrets://a", "many://a", "none"];
  const [stranger, owner] = [await listen(uris), await listen(uris, "owner")];
  expect(await stranger.until("acknowledged")).toContain('"resourceSubscriptions":["test://open","many://a"]');
  expect(await owner.until("acknowledged")).toContain('["test://secret","test://open","secrets://a","many://a"]');
  await new ModernClient(`${worker.origin}/mcp`).call("touch");
  // The resource that is changed last is notified last.
  expect(await stranger.until('"uri":"test://open"')).not.toMatch(/"uri":"(test:\/\/secret|test:\/\/invented|secrets)/);
  const heard = await owner.until('"uri":"test://open"');
  expect(heard).toMatch(/"uri":"test:\/\/secret"/);
  expect(heard).not.toContain('"uri":"test://invented"');
  const legacy = await LegacyClient.open(`${worker.origin}/mcp`);
  for (const uri of ["test://secret", "test://invented", "secrets://a"]) {
    const answer = await (await legacy.request("resources/subscribe", { uri })).json();
    expect(answer).toMatchObject({ error: { code: -32002 } });
  }
});

test("more URIs or characters than allowed per stream are rejected with -32602, in both eras", async () => {
  const uris = (count: number, length = 1) =>
    Array.from({ length: count }, (_, at) => `many://${"x".repeat(length)}${at}`);
  const granted = await listen(uris(20));
  expect(await granted.until("acknowledged")).toContain("many://x19");
  for (const refused of [
    await listen(uris(21)),
    await listen(uris(10, 200)),
    await listen([], undefined, { more: "x".repeat(2_000) }),
  ]) {
    expect([refused.status, await refused.json()]).toMatchObject([200, INVALID]);
  }
  const legacy = await LegacyClient.open(`${worker.origin}/mcp`);
  const subscribe = async (uri: string) => (await legacy.request("resources/subscribe", { uri })).json();
  expect(await subscribe(`many://${"x".repeat(2_000)}`)).toMatchObject(INVALID);
  for (const uri of uris(20)) expect(await subscribe(uri)).toMatchObject({ result: {} });
  expect(await subscribe("many://one-more")).toMatchObject(INVALID);
});

test("the number of streams per principal is limited, and closing a stream lowers it", async () => {
  const [first, second] = [await listen(undefined, "a"), await listen(undefined, "a")];
  await Promise.all([first.until("acknowledged"), second.until("acknowledged")]);
  const third = await listen(undefined, "a");
  expect([third.status, await third.json()]).toMatchObject([429, tooMany("limits.listensPerPrincipalMax")]);
  const [other, nobody] = [await listen(undefined, "b"), await listen()];
  expect([other.status, nobody.status]).toEqual([200, 200]);
  first.leave();
  await expect.poll(async () => (await listen(undefined, "a")).status).toBe(200);
});

test("streams opened at the same time cannot exceed the limit together", async () => {
  const streams = await Promise.all(Array.from({ length: 8 }, () => listen(undefined, "a")));
  expect(streams.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429, 429, 429, 429, 429]);
});

test("the number of streams of the hub is limited, including those of sessions", async () => {
  const streams = await Promise.all(Array.from({ length: 5 }, () => listen()));
  await Promise.all(streams.map((stream) => stream.until("acknowledged")));
  const more = await listen(undefined, "a");
  expect([more.status, await more.json()]).toMatchObject([429, tooMany("hub(): streamsMax")]);
  const legacy = await LegacyClient.open(`${worker.origin}/mcp`);
  const get = () =>
    fetch(`${worker.origin}/mcp`, {
      headers: { ...(legacy.headers as Record<string, string>), accept: "text/event-stream" },
    });
  const refused = await get();
  expect([refused.status, await refused.json()]).toMatchObject([429, tooMany("hub(): streamsMax")]);
  streams[0]?.leave();
  await expect
    .poll(async () => {
      const response = await get();
      await response.body?.cancel();
      return response.status;
    })
    .toBe(200);
});

test("the characters of all subscriptions of the hub are limited together", async () => {
  const many = Array.from({ length: 15 }, (_, at) => `many://${"x".repeat(50)}${at}`);
  const streams = [await listen(many), await listen(many)];
  expect(streams.map(({ status }) => status)).toEqual([200, 200]);
  const third = await listen(many);
  expect([third.status, await third.json()]).toMatchObject([429, tooMany("hub(): charsMax")]);
  expect((await listen()).status).toBe(200);
});
