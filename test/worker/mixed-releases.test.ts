// @module-tag long
/** A Worker and an object of different releases, as there are during a deploy. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { progressOf, Session } from "../conformance/support.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { until } from "../http/wire.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { ModernClient, readAnswer } from "./client.ts";

const CLASS = "PlainObject";
const KEYS = newKeys();

let worker: Workerd;
let tap: HttpTap;

beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/surviving-sessions.ts",
    objects: [CLASS],
    bindings: { MCP_KEYS: KEYS },
  });
});
afterAll(() => worker?.stop());
beforeEach(async () => {
  tap = await startHttpTap(`${worker.origin}/plain/mcp`);
});
afterEach(async () => {
  await tap.close();
  tap.oracle.expectClean();
});

/** Opens a session and finds its object. */
async function open(): Promise<{ session: Session; id: string }> {
  const before = new Set(await worker.worker.objects(CLASS));
  const session = await Session.open(tap.url);
  await readAnswer(session.request("ping"));
  const [id = ""] = (await worker.worker.objects(CLASS)).filter((each) => !before.has(each));
  return { session, id };
}

let keys = 0;

function newKey(): string {
  keys += 1;
  return `key${keys}`;
}

const release = (key: string) => readAnswer(new ModernClient(tap.url).call("release", { key }));

describe("a Worker older than its object", () => {
  const caller = {
    endpoint: "/plain/mcp",
    versionIndex: 3,
    capabilityBits: 0,
    session: 0,
    principalHash: "0".repeat(32),
    isOpenedAnonymously: true,
    expiresAtMs: Date.now() + 3_600_000,
  };

  /** Opens a socket as that Worker would. */
  async function dial(id: string | undefined, attach: object) {
    const query = new URLSearchParams({ attach: encodeURIComponent(JSON.stringify(attach)), ...(id && { id }) });
    const socket = new WebSocket(`${worker.origin.replace("http", "ws")}/raw/${CLASS}?${query}`);
    const heard: string[] = [];
    let isClosed = false;
    socket.addEventListener("message", ({ data }) => heard.push(String(data)));
    socket.addEventListener("close", () => {
      isClosed = true;
    });
    return { socket, heard, isClosed: () => isClosed };
  }

  const kindsOf = (heard: readonly string[]) => heard.map((text) => JSON.parse(text.split("\n")[0] ?? "").kind);

  test.each(["", "?", "taken 5", "t", "t-1", "t1e999", '{"kind":"novelty"}', "x".repeat(10_000)])(
    "sends %j, which has no effect, and the stream continues",
    async (words) => {
      const { session, id } = await open();
      const key = newKey();
      const call = await session.stream("count", { key, before: 1, after: 2 });
      await call.has("an event", ({ messages }) => messages.length > 0);
      const [first = ""] = call.ids;
      const again = { caller: { ...caller, novelty: 1 }, target: { kind: "resume", lastEventId: first }, novelty: [] };
      const { socket, heard } = await dial(id, again);
      await until("it is greeted", () => kindsOf(heard).includes("events"));
      socket.send(words);
      socket.send(new Uint8Array(8));
      await release(key);
      await until("the stream is over", () => kindsOf(heard).includes("final"));
      expect(heard.join("").match(/notifications\/progress/g)).toHaveLength(3);
    },
  );

  test("requests a stream of an unknown kind, which is refused without other effects", async () => {
    const { session, id } = await open();
    const { heard, isClosed } = await dial(id, { caller, target: { kind: "novelty" } });
    await until("it is refused", isClosed);
    expect(heard).toEqual([]);
    expect((await session.request("ping")).status).toBe(200);
  });
});

describe("an object newer than its Worker", () => {
  test("sends a message of an unknown kind, and the client gets the rest", async () => {
    const { session, id } = await open();
    const key = newKey();
    const call = await session.stream("count", { key, before: 1, after: 2 });
    await call.has("an event", ({ messages }) => messages.length > 0);
    for (const words of ['{"kind":"novelty","stream":7}\n', '{"kind":"begun","novelty":true}\n']) {
      await fetch(`${worker.origin}/say/${CLASS}/${id}`, { method: "POST", body: words });
    }
    await release(key);
    await call.end();
    expect(progressOf(call.messages)).toEqual([1, 2, 3]);
    expect(call.messages.at(-1)).toMatchObject({ result: { content: [{ text: key }] } });
  });
});
