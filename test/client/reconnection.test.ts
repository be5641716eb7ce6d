// @module-tag long
/** Channels that close by themselves: processes that end, lost HTTP+SSE streams, and transports of a function. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  type Client,
  type ClientEvent,
  type ClientOptions,
  type ConnectTarget,
  connect,
} from "../../src/client/index.ts";
import { serveTransport as serve, type Transport } from "../../src/core/index.ts";
import { type StdioOptions, stdio } from "../../src/node/index.ts";
import { type CuttableProxy, startProxy } from "../../src/testing/proxy.ts";
import { createPair } from "../harness/pair.ts";
import { until } from "../http/wire.ts";
import { NODE } from "../oracle/node.ts";
import { createServer } from "./fixtures/server.ts";
import { Lab, ME, MODERN } from "./places.ts";

const SERVER = join(import.meta.dirname, "fixtures/stdio.ts");

let lab: Lab;
let proxy: CuttableProxy;
const clients: Client[] = [];
beforeAll(async () => {
  lab = await Lab.start();
  proxy = await startProxy(lab.worker.origin);
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]();
  await lab?.[Symbol.asyncDispose]();
});

async function enter(target: ConnectTarget, options: Partial<ClientOptions> = {}) {
  const events: ClientEvent[] = [];
  const client = await connect(target, { ...ME, onEvent: (event) => events.push(event), ...options });
  clients.push(client);
  const has = (type: ClientEvent["type"]) => events.some((event) => event.type === type);
  return { client, events, has };
}

const child = (options: Partial<StdioOptions> = {}, ...args: string[]) =>
  stdio({ command: NODE, args: [SERVER, ...args], stderr: "ignore", ...options });

const textOf = (called: { content: readonly unknown[] }) => (called.content[0] as { text: string }).text;

describe.each([MODERN, "2025-11-25"])("a server process that ends (%s)", (version) => {
  const pinned = { protocolVersions: [version] };

  test("is started again with the subscriptions, and changes that may have been missed are reported", async () => {
    const updated: string[] = [];
    const { client, events, has } = await enter(child(), { ...pinned, onResourceUpdated: (uri) => updated.push(uri) });
    await client.subscribe("test://notes/1");
    const before = textOf(await client.callTool("pid"));
    process.kill(Number(before), "SIGKILL");
    await until("the process runs again", () => has("reconnected") && updated.length > 0);
    const after = textOf(await client.callTool("pid"));
    expect(after).not.toBe(before);
    expect(events).toContainEqual(expect.objectContaining({ type: "reconnecting", attempt: 1 }));
    expect(updated).toEqual(["test://notes/1"]);
    await until("a change arrives from the new process", async () => {
      await client.callTool("touch", { uri: "test://notes/1" });
      return updated.length > 1;
    });
  });

  test("serves a repeatable call after its restart, and other calls reject with the reason of its end", async () => {
    const mark = join(mkdtempSync(join(tmpdir(), "mark-")), "mark");
    const { client, events } = await enter(child({ env: { MARK: mark } }), pinned);
    await client.tools().all();
    expect(textOf(await client.callTool("crash_once"))).toBe("survived");
    expect(events).toContainEqual(expect.objectContaining({ type: "request-repeated", method: "tools/call" }));
    const crashed = client.callTool("crash");
    await expect(crashed).rejects.toMatchObject({ code: "closed", mayHaveRun: true });
    await expect(crashed).rejects.toThrow("with exit code 7");
    expect(events.filter(({ type }) => type === "request-repeated")).toHaveLength(1);
    expect(textOf(await client.callTool("add", { a: 1, b: 2 }))).toBe("3");
  });

  test("is reported with its exit code and the last lines of its log, whenever it was started", async () => {
    const { client, events, has } = await enter(child({}, "brief"), { ...pinned, reconnectsMax: 2 });
    await until("the client gives up", () => has("closed"));
    const error = (events.at(-1) as { error: Error }).error;
    expect(error).toMatchObject({ code: "closed", source: "transport" });
    expect(error.message).toContain("2 attempts");
    expect(error.message).toContain("exit code 4");
    expect(error.message).toContain("the licence has expired");
    expect(events.filter(({ type }) => type === "reconnecting")).toHaveLength(2);
    const refused = client.callTool("add", { a: 1, b: 2 });
    await expect(refused).rejects.toMatchObject({ code: "closed", mayHaveRun: false });
    await expect(refused).rejects.toThrow("the licence has expired");
  });
});

test("a client that is closed while its process is started again does not leave a process", async () => {
  const started: number[] = [];
  const target = () => {
    const transport = child();
    const { start } = transport;
    transport.start = async () => {
      await start.call(transport);
      started.push(Number(transport.pid));
    };
    return transport;
  };
  const { client, has } = await enter(target);
  process.kill(started[0] as number, "SIGKILL");
  await until("the client notices it", () => has("reconnecting"));
  await client.close();
  await until("every process has ended", () =>
    started.every((pid) => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    }),
  );
  expect(has("reconnected")).toBe(false);
});

describe("a transport", () => {
  test("is created again by its function when it closes", async () => {
    const ends: Transport[] = [];
    const target = async () => {
      const [serverEnd, clientEnd] = createPair();
      ends.push(serverEnd);
      await serve(createServer(), serverEnd, { onError: () => undefined });
      return clientEnd;
    };
    const { client, has } = await enter(target);
    expect(ends).toHaveLength(1);
    await ends[0]?.close();
    expect(textOf(await client.callTool("add", { a: 1, b: 2 }))).toBe("3");
    expect(ends).toHaveLength(2);
    expect(has("reconnected")).toBe(true);
  });

  test("ends the client if it cannot be opened again, and so does a function that fails too often", async () => {
    const [serverEnd, clientEnd] = createPair();
    await serve(createServer(), serverEnd, { onError: () => undefined });
    const alone = await enter(clientEnd);
    await serverEnd.close();
    await until("the end is reported", () => alone.has("closed"));
    await expect(alone.client.listTools()).rejects.toMatchObject({ code: "closed" });
    expect(alone.has("reconnecting")).toBe(false);
    const [second, other] = createPair();
    await serve(createServer(), second, { onError: () => undefined });
    let isFirst = true;
    const target = () => {
      if (!isFirst) throw new Error("out of transports");
      isFirst = false;
      return other;
    };
    const failing = await enter(target, { reconnectsMax: 1 });
    await second.close();
    await expect(failing.client.listTools()).rejects.toThrow("out of transports");
  });
});

test("a lost HTTP+SSE stream is opened again, with its subscriptions", async () => {
  const updated: string[] = [];
  const options = { protocolVersions: ["2024-11-05"], onResourceUpdated: (uri: string) => updated.push(uri) };
  const { client, has } = await enter(proxy.url("/sse"), options);
  expect(client.server.transport).toBe("http-sse");
  await client.subscribe("test://notes/2");
  await client.setLevel("error");
  proxy.cut("rst");
  await until("the stream is open again", () => has("reconnected") && updated.length > 0);
  expect(textOf(await client.callTool("add", { a: 1, b: 2 }))).toBe("3");
  await client.callTool("touch", { uri: "test://notes/2" });
  await until("a change arrives on the new stream", () => updated.length > 1);
});
