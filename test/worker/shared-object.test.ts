/**
 * The alarm of an object that several sessions share. While a hook of an expired session runs, requests of the other
 * sessions are served, and what they store must outlive the alarm.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { until } from "../http/wire.ts";
import { LegacyClient, readAnswer } from "./client.ts";

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
/** How long a session id is valid that is not used. */
const TRUST_MS = 14 * DAY_MS;

let worker: Workerd;
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/shared-object.ts",
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

const open = (token: string) => LegacyClient.open(worker.worker.url("/mcp"), { token });
const gate = (state: "open" | "closed") => fetch(worker.worker.url(`/gate/${state}`), { method: "POST" });
const hooksWaiting = async () => Number(await (await fetch(worker.worker.url("/waiting"))).text());
beforeEach(() => gate("closed"));

test("data that other sessions store while an expired session is released survives the alarm", {
  tags: "long",
}, async () => {
  const expiring = await open("alice");
  expect((await readAnswer(expiring.request("resources/subscribe", { uri: "test://a" }))).messages).toMatchObject([
    { result: {} },
  ]);
  await worker.worker.advance(HOUR_MS);
  const [renewed, ended] = [await open("alice"), await open("alice")];

  const alarms = worker.worker.advance(TRUST_MS - HOUR_MS / 2);
  await until("onUnsubscribe waits", async () => (await hooksWaiting()) === 1);
  expect((await renewed.request("ping")).status).toBe(200);
  expect((await ended.delete()).status).toBe(204);
  await gate("open");
  expect(await alarms).toBe(1);

  await worker.worker.evict("McpObject", "session:alice");
  expect((await expiring.request("ping")).status).toBe(404);
  expect((await ended.request("ping")).status).toBe(404);
  // Only the stored renewal makes this session valid now.
  await worker.worker.advance(HOUR_MS);
  expect((await renewed.request("ping")).status).toBe(200);
});
