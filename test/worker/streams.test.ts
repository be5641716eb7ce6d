// @module-tag long
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { type Members, request } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { type Client, clientOf, LegacyClient, ModernClient, Reading, readAnswer, VERSIONS } from "./client.ts";

let worker: Workerd;
/** Waits two seconds before a response becomes a stream. */
let patient: HttpTap;
/** Waits 20 ms, and sends a heartbeat every 20 ms. */
let quick: HttpTap;
let oracle: WireOracle;

beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/lab-sessions.ts",
    objects: ["McpObject", "QuickObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker.stop());

beforeEach(async () => {
  oracle = new WireOracle();
  patient = await startHttpTap(`${worker.origin}/mcp`, { oracle });
  quick = await startHttpTap(`${worker.origin}/quick/mcp`, { oracle });
});
afterEach(async () => {
  await patient.close();
  await quick.close();
  oracle.expectClean();
});

const JSON_TYPE = "application/json";
const SSE_TYPE = "text/event-stream";

let keys = 0;

/** A key that no other test uses. */
function newKey(): string {
  keys += 1;
  return `key ${keys}`;
}

/** Returns how the handler with this key ended. */
async function reportOf(key: string): Promise<string | undefined> {
  return (await readAnswer(new ModernClient(patient.url).call("report", { key }))).text;
}

function reports(key: string, what: string): Promise<void> {
  return until(`${key} reports "${what}"`, async () => (await reportOf(key)) === what);
}

async function release(key: string): Promise<void> {
  await readAnswer(new ModernClient(patient.url).call("release", { key }));
}

function progressOf(messages: readonly Members[]): unknown[] {
  return messages.filter(({ method }) => method === "notifications/progress").map(({ params }) => params);
}

describe.each(VERSIONS)("a call of %s", (version) => {
  const patiently = (): Promise<Client> => clientOf(version, patient.url);
  const quickly = (): Promise<Client> => clientOf(version, quick.url);

  test("gets a JSON response when the handler emits nothing", async () => {
    const client = await patiently();
    const answer = await readAnswer(client.call("echo", { key: "k" }, { progressToken: "t" }));
    expect(answer).toMatchObject({ status: 200, contentType: JSON_TYPE, text: "k" });
    expect(answer.messages).toHaveLength(1);
  });

  test("gets a JSON response when no progress token was sent", async () => {
    const client = await patiently();
    const answer = await readAnswer(client.call("emit_twice", {}));
    expect(answer).toMatchObject({ status: 200, contentType: JSON_TYPE, text: "done" });
    expect(answer.messages).toHaveLength(1);
  });

  test.each([0, 7, -1, "", "0", "token"])("streams progress with the token %j, then the result", async (token) => {
    const client = await patiently();
    const answer = await readAnswer(client.call("emit_twice", {}, { id: "p", progressToken: token }));
    expect(answer).toMatchObject({ status: 200, contentType: SSE_TYPE, text: "done" });
    const message = (text: string) => (version === "2024-11-05" ? {} : { message: text });
    expect(progressOf(answer.messages)).toEqual([
      { progressToken: token, progress: 1, total: 3, ...message("one") },
      { progressToken: token, progress: 2, total: 3, ...message("two") },
    ]);
    expect(answer.messages).toHaveLength(3);
    expect(answer.messages.at(-1)).toMatchObject({ id: "p" });
  });

  test("sends nothing after the result", async () => {
    const client = await patiently();
    const key = newKey();
    const reading = new Reading(await client.call("emit_late", { key }, { id: "last", progressToken: 1 }));
    await reading.has("end of the stream", ({ isOver }) => isOver);
    await reports(key, "emitted late");
    const [first, last] = [reading.messages.at(0), reading.messages.at(-1)];
    expect(first).toMatchObject({ method: "notifications/progress", params: { progress: 1 } });
    expect(last).toMatchObject({ id: "last", result: { content: [{ text: "done" }] } });
    expect(reading.messages.filter(({ id }) => id === "last")).toHaveLength(1);
  });

  test("sends increasing progress only", async () => {
    const client = await patiently();
    const { messages } = await readAnswer(client.call("emit_down", {}, { progressToken: 1 }));
    expect(progressOf(messages)).toEqual([
      { progressToken: 1, progress: 5 },
      { progressToken: 1, progress: 8 },
    ]);
  });

  test("sends the progress before the handler has finished", async () => {
    const client = await patiently();
    const key = newKey();
    const reading = new Reading(await client.call("emit_and_hold", { key }, { progressToken: 1 }));
    await reading.has("progress", ({ messages }) => progressOf(messages).length === 1);
    expect(await reportOf(key)).toBe("started");
    await release(key);
    await reading.has("end of the stream", ({ isOver }) => isOver);
    expect(reading.messages).toHaveLength(2);
  });

  test("sends collected progress before the handler has finished", async () => {
    const client = await patiently();
    const key = newKey();
    const reading = new Reading(await client.call("emit_each_turn", { key }, { progressToken: 1 }));
    await reading.has("all progress", ({ messages }) => progressOf(messages).length === 3);
    await release(key);
    await reading.has("end of the stream", ({ isOver }) => isOver);
    expect(reading.messages).toHaveLength(4);
  });

  test("uses only its own stream", async () => {
    const client = await patiently();
    const tokens = ["left", "right", 3];
    const answers = await Promise.all(
      tokens.map((progressToken) => readAnswer(client.call("emit_twice", {}, { progressToken }))),
    );
    for (const [index, { messages }] of answers.entries()) {
      expect(progressOf(messages)).toEqual([1, 2].map(() => expect.objectContaining({ progressToken: tokens[index] })));
      expect(messages).toHaveLength(3);
    }
  });

  test("gets a JSON response and no progress if only JSON is accepted", async () => {
    const client = await patiently();
    const headers = { accept: "application/json" };
    const answer = await readAnswer(client.call("emit_twice", {}, { progressToken: 1, headers }));
    expect(answer).toMatchObject({ status: 200, contentType: JSON_TYPE, text: "done" });
    expect(answer.messages).toHaveLength(1);
  });

  test("is a stream from the start if only a stream is accepted", async () => {
    const client = await patiently();
    const key = newKey();
    const headers = { accept: "text/event-stream" };
    const response = await client.call("hold", { key }, { headers });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const reading = new Reading(response);
    await reports(key, "started");
    await release(key);
    await reading.has("end of the stream", ({ isOver }) => isOver);
    expect(reading.messages).toMatchObject([{ result: { content: [{ text: key }] } }]);
  });

  test("streams with headers that prevent buffering and caching", async () => {
    const client = await patiently();
    const response = await client.call("emit_down", {}, { progressToken: 1 });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream(;|$)/);
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(response.headers.get("cache-control")).toMatch(/no-cache|no-store/);
    expect(response.headers.get("content-length")).toBeNull();
    if (client.era === "modern") expect(response.headers.get("mcp-session-id")).toBeNull();
    const text = await response.text();
    if (client.era === "modern") expect(text).not.toMatch(/^id:/m);
    expect(text).not.toMatch(/^event:(?! ?message)/m);
  });

  test("becomes a stream that begins with a heartbeat and continues to send heartbeats, if it is silent for long", async () => {
    const client = await quickly();
    const key = newKey();
    const response = await client.call("hold", { key });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const reading = new Reading(response);
    await reading.has("three heartbeats", ({ comments }) => comments.length >= 3);
    expect(reading.raw).toMatch(/^(id: \S+\ndata:\n\n)?:/);
    expect(reading.messages).toEqual([]);
    await readAnswer(client.call("release", { key }));
    await reading.has("end of the stream", ({ isOver }) => isOver);
    expect(reading.messages).toMatchObject([{ result: { content: [{ text: key }] } }]);
  });

  test("stays JSON if it is silent for long and only JSON is accepted", async () => {
    const client = await quickly();
    const [jsonKey, streamKey] = [newKey(), newKey()];
    const json = readAnswer(client.call("hold", { key: jsonKey }, { headers: { accept: "application/json" } }));
    await reports(jsonKey, "started");
    // A later call has already waited too long, so the first one has too.
    const later = new Reading(await client.call("hold", { key: streamKey }));
    await later.has("a heartbeat", ({ comments }) => comments.length > 0);
    await release(jsonKey);
    expect(await json).toMatchObject({ contentType: JSON_TYPE, text: jsonKey });
    await release(streamKey);
    await later.has("end of the stream", ({ isOver }) => isOver);
  });
});

/** The three moments at which a client may disconnect. */
const DEPARTURES = [
  { moment: "before it has received anything", tool: "hold", at: () => patient.url, sign: undefined },
  { moment: "after a heartbeat", tool: "hold", at: () => quick.url, sign: /^:/m },
  { moment: "after progress", tool: "emit_and_hold", at: () => quick.url, sign: /notifications\/progress/ },
] as const;

/** Starts a call, waits for the moment, and disconnects. */
async function depart(client: Client, key: string, { tool, sign }: (typeof DEPARTURES)[number]): Promise<void> {
  const leave = new AbortController();
  const response = client.call(tool, { key }, { progressToken: "t", signal: leave.signal });
  const gone = response.then((answer) => new Reading(answer)).catch(() => undefined);
  await reports(key, "started");
  const reading = sign === undefined ? undefined : await gone;
  if (sign !== undefined) await reading?.has(`${sign}`, ({ raw }) => sign.test(raw));
  leave.abort();
  await gone;
}

describe.each(DEPARTURES)("a client that disconnects $moment", (departure) => {
  test("aborts only its own call if it is modern", async () => {
    const client = new ModernClient(departure.at());
    const [key, other] = [newKey(), newKey()];
    const staying = readAnswer(client.call("hold", { key: other }));
    await reports(other, "started");
    await depart(client, key, departure);
    await reports(key, "started aborted");
    expect(await reportOf(other)).toBe("started");
    await release(other);
    expect(await staying).toMatchObject({ text: other });
  });

  test.each(["2025-03-26", "2025-06-18", "2025-11-25"] as const)("aborts no call in %s", async (version) => {
    const client = await LegacyClient.open(departure.at(), { version });
    const [key, later] = [newKey(), newKey()];
    await depart(client, key, departure);
    // A modern client that disconnects later is noticed first, so the legacy one could have been noticed too.
    await depart(new ModernClient(departure.at()), later, departure);
    await reports(later, "started aborted");
    expect(await reportOf(key)).toBe("started");
    await release(key);
    await reports(key, "started finished");
    expect(await readAnswer(client.call("echo", { key: "after" }))).toMatchObject({ text: "after" });
  });
});

describe("a batch of 2025-03-26", () => {
  test("becomes one stream with all responses if a member emits", async () => {
    const client = await LegacyClient.open(patient.url, { version: "2025-03-26" });
    const params = { name: "emit_down", arguments: {}, _meta: { progressToken: 0 } };
    const answer = await readAnswer(client.send([request("tools/call", params, 1), request("ping", undefined, "two")]));
    expect(answer.contentType).toBe(SSE_TYPE);
    expect(progressOf(answer.messages)).toHaveLength(2);
    const ids = answer.messages.filter((message) => "id" in message).map(({ id }) => id);
    expect(ids.toSorted()).toEqual([1, "two"]);
  });

  test("becomes one JSON array if no member emits", async () => {
    const client = await LegacyClient.open(patient.url, { version: "2025-03-26" });
    const answer = await readAnswer(client.send([request("ping", undefined, 1), request("ping", undefined, 2)]));
    expect(answer.contentType).toBe(JSON_TYPE);
    expect(JSON.parse(answer.raw)).toEqual([1, 2].map((id) => ({ jsonrpc: "2.0", id, result: {} })));
  });
});
