import { afterEach, describe, expect, test } from "vitest";
import { type Limits, McpServer, serveTransport } from "../../src/core/index.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { edge } from "../../src/worker/edge.ts";
import { expectLogs } from "../harness/logs.ts";
import { createPair } from "../harness/pair.ts";
import { closePeers, LEGACY_VERSIONS, openPeer, resultOf } from "./peer.ts";

expectLogs(/^mcp-edge: This server is not configured correctly\./);

afterEach(closePeers);

const onError = () => undefined;
const createServer = () => new McpServer({ name: "limited", version: "1.0.0" }).tool("hello", {}, () => "hello");

/** Serves one POST with these limits and returns its status. */
async function post(limits: Partial<Limits>, body: string): Promise<number> {
  const handle = createHttpHandler(createServer(), { limits, onError });
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  const response = await handle(new Request("http://localhost/mcp", { method: "POST", headers, body }), {});
  return response.status;
}

describe("a limit", () => {
  test("keeps its default if it is undefined", async () => {
    const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`;
    const unset = { bodyBytesMax: undefined, bodyDepthMax: undefined } as unknown as Partial<Limits>;
    expect(await post(unset, ping)).toBe(200);
    expect(await post(unset, `${ping}${" ".repeat(4 * 1024 * 1024)}`)).toBe(413);
    expect(await post(unset, `${"[".repeat(65)}${"]".repeat(65)}`)).toBe(400);
    expect(await post({ bodyBytesMax: 10 }, ping)).toBe(413);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 1.5, 2 ** 31])(
    "is refused by name if it has the value %d",
    async (value) => {
      const limits = { batchMax: value };
      const invalid = expect.objectContaining({
        name: "KitError",
        code: "options-invalid",
        message: expect.stringContaining("limits.batchMax"),
      });
      expect(() => createHttpHandler(createServer(), { limits, onError })).toThrow(invalid);
      const refused = await edge(createServer(), { limits }).request("/mcp", { method: "POST" });
      expect(refused.status).toBe(500);
      expect(await refused.text()).toContain("limits.batchMax");
      const [end] = createPair();
      await expect(serveTransport(createServer(), end, { limits, onError })).rejects.toEqual(invalid);
    },
  );
});

test.each([Number.NaN, 0, 1.5, 2 ** 31])(
  "a heartbeatMs of %d is refused, and stdio has no heartbeat",
  async (heartbeatMs) => {
    const handler = () => createHttpHandler(createServer(), { heartbeatMs, onError });
    expect(handler).toThrow(/^heartbeatMs is /);
    const refused = await edge(createServer(), { heartbeatMs }).request("/mcp", { method: "POST" });
    expect(await refused.text()).toContain("edge(): heartbeatMs is ");
    const [end] = createPair();
    const limits: object = { heartbeatMs: 1_000 };
    await expect(serveTransport(createServer(), end, { limits, onError })).rejects.toThrow(
      'serveTransport(): limits has no option "heartbeatMs"',
    );
  },
);

test("an unknown limit is refused with the name of a similar one", () => {
  const limits = { BatchMax: 10 };
  expect(() => createHttpHandler(createServer(), { limits: limits as object, onError })).toThrow(
    /^limits has no option "BatchMax"\. Did you mean "batchMax"\?$/,
  );
});

describe("a tool timeout", () => {
  test.each([-1, Number.NaN, 2 ** 31, 30 * 24 * 60 * 60 * 1000])("cannot be defined as %d ms", (timeoutMs) => {
    expect(() => createServer().tool("slow", { timeoutMs }, () => "done")).toThrow(
      /Tool "slow": timeoutMs is .*; use 0 to 2,147,483,647 ms/,
    );
  });

  test.each([0, Number.POSITIVE_INFINITY])("is off if it is %d", async (timeoutMs) => {
    const server = createServer().tool("slow", { timeoutMs }, async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return "done";
    });
    for (const version of LEGACY_VERSIONS) {
      const peer = await openPeer(server, version, { limits: { toolTimeoutMs: 1 } });
      expect(resultOf(await peer.request("tools/call", { name: "slow" }))).toMatchObject({
        content: [{ text: "done" }],
      });
    }
  });

  test.each([0, -1, 2 ** 31, Number.NaN, Infinity])("a tool with a taskTtlMs of %d is refused", (taskTtlMs) => {
    expect(() => createServer().tool("brief", { taskTtlMs }, () => "done")).toThrow(
      /Tool "brief": taskTtlMs is .*; use 1 to 2,147,483,647 ms/,
    );
  });
});
