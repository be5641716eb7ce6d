/** Memory that is kept for a peer that does not read is limited. */
import { expect, test } from "vitest";
import { McpServer, serveTransport, type Transport } from "../../src/core/index.ts";

/** A transport whose sends complete only when the test allows it. */
function stalledTransport() {
  const sent: string[] = [];
  let open: Promise<void> | undefined;
  let resume: () => void = () => undefined;
  const transport: Transport = {
    start: async () => undefined,
    close: async () => undefined,
    send: async () => undefined,
    sendText: async (text: string) => {
      sent.push(text);
      await open;
    },
  };
  return {
    transport,
    sent,
    stall: () => {
      open = new Promise((resolve) => {
        resume = resolve;
      });
    },
    resume: () => resume(),
  };
}

async function openLegacy(server: McpServer, transport: Transport, sent: readonly string[], limits = {}) {
  const connection = await serveTransport(server, transport, { onError: () => undefined, limits });
  const clientInfo = { name: "slow", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: { roots: { listChanged: true } }, clientInfo };
  transport.onmessage?.({ jsonrpc: "2.0", id: 1, method: "initialize", params } as never);
  await expect.poll(() => sent.length).toBe(1);
  transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/initialized" } as never);
  return connection;
}

test("changes for a peer that does not read are queued only once each when streamBufferBytesMax is exceeded", async () => {
  const server = new McpServer({ name: "slow", version: "1.0.0" }).tool("one", {}, () => "one");
  const { transport, sent, stall, resume } = stalledTransport();
  const connection = await openLegacy(server, transport, sent, { streamBufferBytesMax: 200 });
  stall();
  for (let times = 0; times < 500; times += 1) {
    server.toolsChanged();
    server.promptsChanged();
    await Promise.resolve();
    await Promise.resolve();
  }
  const held = sent.length;
  expect(held).toBeLessThan(10);
  resume();
  const count = (list: string) => sent.slice(held).filter((text) => text.includes(`${list}/list_changed`)).length;
  await expect.poll(() => [count("tools"), count("prompts")]).toEqual([1, 1]);
  await connection.close();
});

test("handlers of changed roots run one at a time, and once more for all changes that occurred while one ran", async () => {
  const server = new McpServer({ name: "slow", version: "1.0.0" });
  let [running, most, runs] = [0, 0, 0];
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  server.onRootsChanged(async () => {
    runs += 1;
    running += 1;
    most = Math.max(most, running);
    await released;
    running -= 1;
    if (runs === 1) throw new Error("the first one fails");
  });
  const { transport, sent } = stalledTransport();
  const connection = await openLegacy(server, transport, sent);
  for (let times = 0; times < 400; times += 1) {
    transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/roots/list_changed" } as never);
  }
  await expect.poll(() => runs).toBe(1);
  release();
  await expect.poll(() => [runs, running, most]).toEqual([2, 0, 1]);
  transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/roots/list_changed" } as never);
  await expect.poll(() => runs).toBe(3);
  await connection.close();
});

test("log messages for a peer that does not read are dropped when streamBufferBytesMax is exceeded", async () => {
  const server = new McpServer({ name: "slow", version: "1.0.0" });
  const { transport, sent, stall, resume } = stalledTransport();
  const connection = await openLegacy(server, transport, sent, { streamBufferBytesMax: 200 });
  const params = { level: "debug" };
  transport.onmessage?.({ jsonrpc: "2.0", id: 2, method: "logging/setLevel", params } as never);
  await expect.poll(() => sent.length).toBe(2);
  stall();
  for (let times = 0; times < 500; times += 1) server.log("info", `line ${times}`);
  await expect.poll(() => sent.length).toBeGreaterThan(2);
  expect(sent.length).toBeLessThan(10);
  resume();
  await connection.close();
});
