/** Tests the Worker on workerd: clients of both eras, and a session whose object is evicted from memory. */
import { connect } from "mcp-edge/client";
import { startWorker, type TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, expect, test } from "vitest";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ wrangler: "wrangler.toml" });
});
afterAll(() => worker?.stop());

const events: string[] = [];
const open = (version: string) =>
  connect(worker.url("/mcp"), {
    name: "test",
    version: "1.0.0",
    protocolVersions: [version],
    onEvent: ({ type }) => events.push(type),
  });

test("clients of both eras see the same tools", async () => {
  const [older, newer] = await Promise.all([open("2025-11-25"), open("2026-07-28")]);
  const names = async (client: typeof older) => (await client.tools().all()).map(({ name }) => name);
  expect(await names(older)).toEqual(await names(newer));
  await Promise.all([older.close(), newer.close()]);
});

test("a session continues after its object is evicted from memory", async () => {
  const client = await open("2025-11-25");
  await client.ping();
  expect(await worker.evict("McpObject")).toBeGreaterThan(0);
  await client.ping();
  expect(events).not.toContain("session-reopened");
  await client.close();
});
