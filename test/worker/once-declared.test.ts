// @module-tag long
/** Clients learn from the capabilities that a call with a key may be repeated. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { LegacyClient, ModernClient, VERSIONS, type Version } from "./client.ts";
import { useTaps } from "./taps.ts";

let worker: TestWorker;
const tapped = useTaps();

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/once-declared.ts",
    objects: ["McpObject", "AloneObject", "OwnObject", "RemovedObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

/** Returns the capabilities of an endpoint, as a client of one version learns them. */
async function capabilitiesOf(path: string, version: Version): Promise<unknown> {
  const url = await tapped(worker.origin + path);
  if (version !== "2026-07-28") return (await LegacyClient.open(url, { version })).greeting.capabilities;
  const response = await new ModernClient(url).request("server/discover");
  return ((await response.json()) as { result: { capabilities: unknown } }).result.capabilities;
}

const KEY = "mcp-edge/idempotencyKey";

describe.each(VERSIONS)("the capability for idempotency keys in %s", (version) => {
  test.each(["/mcp", "/alone"])("is declared by an endpoint with once() (%s)", async (path) => {
    expect(await capabilitiesOf(path, version)).toMatchObject({ tools: {}, experimental: { [KEY]: {} } });
  });

  test("is declared beside the experimental capabilities of the author", async () => {
    expect(await capabilitiesOf("/own", version)).toMatchObject({ experimental: { "example.com/own": {}, [KEY]: {} } });
  });

  test("is not declared if the author removes it", async () => {
    expect(await capabilitiesOf("/removed", version)).toMatchObject({ experimental: {} });
    expect(await capabilitiesOf("/removed", version)).not.toHaveProperty(["experimental", KEY]);
  });

  test("is not declared by an endpoint without once()", async () => {
    expect(await capabilitiesOf("/without", version)).not.toHaveProperty("experimental");
  });
});
