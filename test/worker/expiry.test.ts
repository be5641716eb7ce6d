// @module-tag long
/** Expiry of sessions: what runs when a session expires, and what it leaves stored. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { LegacyClient, readAnswer } from "./client.ts";

/** Longer than the lifetime of a session. */
const MS_BEYOND = 15 * 24 * 60 * 60_000;

let worker: Workerd;
let before: readonly string[] = [];
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/changing.ts",
    objects: ["McpObject", "JsonObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());
beforeEach(async () => {
  before = await all();
});

const all = async () => (await fetch(`${worker.origin}/heard`)).json() as Promise<string[]>;
/** Returns what the subscription hooks recorded since this test began. */
const heard = async () => (await all()).slice(before.length);

/** Everything that sessions have stored. */
async function stored(): Promise<readonly object[]> {
  const ids = await worker.worker.objects("McpObject");
  const states = await Promise.all(ids.map((id) => worker.worker.storage("McpObject", id)));
  return states.filter(({ keys, tables, alarmAtMs }) => {
    const rows = [...Object.keys(keys), ...Object.values(tables).flat()];
    return rows.length > 0 || alarmAtMs !== undefined;
  });
}

test("a session that expires runs onUnsubscribe for its subscriptions, and nothing stays stored", async () => {
  const client = await LegacyClient.open(`${worker.origin}/mcp`);
  for (const uri of ["test://a", "test://b"]) await readAnswer(client.request("resources/subscribe", { uri }));
  expect(await stored()).toHaveLength(1);
  await worker.worker.advance(MS_BEYOND);
  expect(await heard()).toEqual(["+test://a", "+test://b", "-test://a", "-test://b"]);
  expect(await stored()).toEqual([]);
  expect((await client.request("ping")).status).toBe(404);
});

test("a session that was deleted runs onUnsubscribe once, stays deleted, and leaves nothing stored after its lifetime", async () => {
  const client = await LegacyClient.open(`${worker.origin}/mcp`);
  await readAnswer(client.request("resources/subscribe", { uri: "test://a" }));
  expect((await client.delete()).status).toBe(204);
  await expect.poll(heard).toEqual(["+test://a", "-test://a"]);
  expect(await stored()).toHaveLength(1);
  expect((await client.request("ping")).status).toBe(404);
  await worker.worker.advance(MS_BEYOND);
  expect(await heard()).toEqual(["+test://a", "-test://a"]);
  expect(await stored()).toEqual([]);
  expect((await client.request("ping")).status).toBe(404);
});
