/** Requests in flight: what counts as one, and from when on. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newKey, Session } from "../conformance/support.ts";
import { expectLogs } from "../harness/logs.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { notification } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { ModernClient, readAnswer } from "./client.ts";

expectLogs(/^mcp-edge: "\(sessions\)" failed .* no server for this request/);

let worker: Workerd;

beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/in-flight.ts",
    objects: ["MadeObject", "DefinedObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

const control = async (name: string, key: string) =>
  (await readAnswer(new ModernClient(`${worker.origin}/control/mcp`).call(name, { key }))).text;
const release = (key: string) => control("release", key);
const noted = (key: string, what: string) =>
  until(`${key}: ${what}`, async () => (await control("noted", key)) === what);
const at = (place: string) => `${worker.origin}/${place}/mcp`;

describe.each(["made", "defined"])("requests whose server takes time to create (%s)", (place) => {
  test("do not exceed inFlightMax, however many arrive together", async () => {
    const session = await Session.open(at(place));
    const key = newKey();
    const calls = Array.from({ length: 40 }, (_, id) => session.call("hold", { key }, id));
    const refused = new Set<number>();
    calls.forEach(async (call, id) => {
      if ((await call).status === 429) refused.add(id);
    });
    await until("the others are refused", () => refused.size === 32);
    await noted(key, Array(8).fill("ran").join(" "));
    await release(key);
    const answers = await Promise.all(calls.map((call) => readAnswer(call)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(8);
    expect(await control("noted", key)).toBe(Array(8).fill("ran").join(" "));
    expect((await readAnswer(session.call("hold", { key }))).status).toBe(200);
  });

  test("run once if the same request arrives several times at once, and each copy gets the result", async () => {
    const session = await Session.open(at(place));
    const key = newKey();
    const calls = Array.from({ length: 12 }, () => readAnswer(session.call("hold", { key }, "same")));
    await noted(key, "ran");
    await release(key);
    for (const answer of await Promise.all(calls)) {
      expect(answer).toMatchObject({ status: 200, text: "anonymous" });
    }
    expect(await control("noted", key)).toBe("ran");
  });
});

test("a request that is cancelled before its server exists does not run", async () => {
  const session = await Session.open(at("made"));
  const key = newKey();
  const call = session.with({ "x-wait": key }).call("hold", { key }, "late");
  await noted(key, "waits");
  expect((await session.send(notification("notifications/cancelled", { requestId: "late" }))).status).toBe(202);
  await release(key);
  expect((await call).status).toBe(202);
  expect(await control("noted", key)).toBe("waits");
});

test("requests whose server cannot be created do not count as in flight afterwards", async () => {
  const session = await Session.open(at("made"));
  for (let round = 0; round < 3; round += 1) {
    const calls = Array.from({ length: 8 }, (_, id) => {
      return session.with({ "x-wait": `fail-${newKey()}` }).call("hold", { key: "none" }, id);
    });
    for (const call of calls) expect((await call).status).toBe(500);
  }
  const key = newKey();
  await release(key);
  expect((await readAnswer(session.call("hold", { key }, 1))).status).toBe(200);
});

test("a request joins only a request of the same principal", async () => {
  const anonymous = await Session.open(at("made"));
  const alice = anonymous.with({ authorization: "Bearer alice" });
  const key = newKey();
  const [first, second] = [readAnswer(anonymous.call("hold", { key }, "same")), noted(key, "ran")];
  await second;
  const hers = readAnswer(alice.call("hold", { key }, "same"));
  await noted(key, "ran ran");
  await release(key);
  expect([(await first).text, (await hers).text]).toEqual(["anonymous", "alice"]);
});

test("however many times the roots change while a handler runs, one handler runs at a time and once more at the end", async () => {
  const session = await Session.open(at("defined"), { capabilities: { roots: { listChanged: true } } });
  const changed = async () => (await session.send(notification("notifications/roots/list_changed"))).status;
  const statuses = await Promise.all(Array.from({ length: 50 }, changed));
  expect(new Set(statuses)).toEqual(new Set([202]));
  await noted("roots", "began");
  await release("roots");
  await noted("roots", "began ended began ended");
  expect(await changed()).toBe(202);
  await noted("roots", "began ended began ended began ended");
});

test("custom notification handlers are limited to inFlightMax; more notifications are refused with 429", async () => {
  const session = await Session.open(at("defined"));
  const send = async (method: string) => (await session.send(notification(method))).status;
  const statuses = await Promise.all(Array.from({ length: 40 }, () => send("own/started")));
  expect([202, 429].map((status) => statuses.filter((each) => each === status).length)).toEqual([8, 32]);
  await noted("own", Array(8).fill("began").join(" "));
  // Other notifications and requests are not delayed.
  expect(await send("notifications/cancelled")).toBe(202);
  expect((await session.send({ jsonrpc: "2.0", id: 1, method: "ping" })).status).toBe(200);
  await release("own");
  await noted("own", [...Array(8).fill("began"), ...Array(8).fill("ended")].join(" "));
  expect(await send("own/started")).toBe(202);
});
