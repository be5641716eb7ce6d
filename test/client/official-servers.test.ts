// @module-tag long
/** Our client and servers of the official SDK, version 1. */
import { join } from "node:path";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { describe, expect, test } from "vitest";
import { type Client, type ClientEvent, type ClientOptions, connect, type Transport } from "../../src/client/index.ts";
import { stdio } from "../../src/node/index.ts";
import { startProxy } from "../../src/testing/proxy.ts";
import { until } from "../http/wire.ts";
import { CACHED, NODE } from "../oracle/node.ts";
import { type Official, officialServer, serveSessions, serveSse, serveStateless } from "./fixtures/official.ts";
import { ME } from "./places.ts";

const STDIO = join(import.meta.dirname, "fixtures/official-stdio.ts");

const textOf = (called: { content: readonly unknown[] }) => (called.content[0] as { text: string }).text;

interface Met {
  readonly client: Client;
  readonly events: readonly ClientEvent[];
  leave(): Promise<void>;
}

async function meet(target: Official | undefined, options: Partial<ClientOptions>): Promise<Met> {
  const events: ClientEvent[] = [];
  const all = { ...ME, onEvent: (event: ClientEvent) => events.push(event), ...options };
  const client = await connect(target?.url ?? stdio({ command: NODE, args: [...CACHED, STDIO] }), all);
  const leave = async () => {
    await client.close();
    await target?.[Symbol.asyncDispose]();
  };
  return { client, events, leave };
}

const KINDS = [
  { name: "Streamable HTTP with sessions", transport: "streamable-http", serve: serveSessions, asks: true },
  { name: "Streamable HTTP without sessions", transport: "streamable-http", serve: serveStateless, asks: false },
  { name: "HTTP+SSE", transport: "http-sse", serve: serveSse, asks: true },
  { name: "stdio", transport: "pipe", serve: async () => undefined, asks: true },
] as const;

describe.each(KINDS)("an official server of SDK 1 over $name", ({ transport, serve }) => {
  test("lists, calls, reads and gets prompts", async () => {
    const { client, leave } = await meet(await serve(), {});
    expect(client.server).toMatchObject({ transport, protocolVersion: "2025-11-25", info: { name: "official" } });
    expect((await client.tools().all()).map(({ name }) => name)).toEqual(["add", "count", "ask", "think", "touch"]);
    expect(textOf(await client.callTool("add", { a: 1, b: 2 }))).toBe("3");
    expect((await client.readResource("test://one")).contents).toMatchObject([{ text: "one" }]);
    expect((await client.resourceTemplates().all())[0]).toMatchObject({ uriTemplate: "test://{name}/more" });
    expect((await client.getPrompt("greet", { name: "Ada" })).messages).toMatchObject([
      { content: { text: "Hello, Ada!" } },
    ]);
    await client.ping();
    await leave();
  });

  test("sends progress, which extends the time limit", async () => {
    const { client, leave } = await meet(await serve(), {});
    const seen: number[] = [];
    const options = { timeoutMs: 600, onProgress: ({ progress }: { progress: number }) => seen.push(progress) };
    expect(textOf(await client.callTool("count", { steps: 4, stepMs: 250 }, options))).toBe("done");
    expect(seen).toEqual([1, 2, 3, 4]);
    await leave();
  });
});

describe.each(KINDS.filter(({ asks }) => asks))("an official server over $name", ({ serve }) => {
  test("gets answers to questions, and sends changes", async () => {
    const updated: string[] = [];
    let toolChanges = 0;
    const { client, leave } = await meet(await serve(), {
      onElicit: () => ({ action: "accept" }),
      onSample: () => ({ role: "assistant", model: "tiny", content: { type: "text", text: "Thought." } }),
      onResourceUpdated: (uri) => updated.push(uri),
      onToolsChanged: () => {
        toolChanges += 1;
      },
    });
    expect(textOf(await client.callTool("ask"))).toBe("accept Ada");
    expect(textOf(await client.callTool("think"))).toContain("Thought.");
    await until("both changes arrive", async () => {
      await client.callTool("touch");
      return updated.includes("test://one") && toolChanges > 0;
    });
    await leave();
  });
});

describe("our client over transports of the official SDK", () => {
  test("connects in memory", async () => {
    const [serverEnd, clientEnd] = InMemoryTransport.createLinkedPair();
    await officialServer().connect(serverEnd);
    const client = await connect(clientEnd as Transport, ME);
    expect(textOf(await client.callTool("add", { a: 1, b: 2 }))).toBe("3");
    await client.close();
  });

  test("connects over stdio", async () => {
    const client = await connect(new StdioClientTransport({ command: NODE, args: [STDIO] }) as Transport, ME);
    expect(textOf(await client.callTool("add", { a: 1, b: 2 }))).toBe("3");
    await client.close();
  });
});

describe("recovery with an official server", () => {
  test("a session that the server has lost is opened again", async () => {
    const server = await serveSessions();
    const { client, events, leave } = await meet(server, {});
    server.forget();
    expect(textOf(await client.callTool("add", { a: 1, b: 2 }))).toBe("3");
    expect(events.map(({ type }) => type)).toContain("session-reopened");
    await leave();
  });

  test("a call whose stream is cut twice gets its result", async () => {
    const server = await serveSessions();
    const proxy = await startProxy(server.url);
    const { client, events, leave } = await meet({ ...server, url: proxy.url("/mcp") }, {});
    const seen: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => {
      seen.push(progress);
      if (progress === 3 || progress === 8) proxy.cut("rst");
    };
    expect(textOf(await client.callTool("count", { steps: 14, stepMs: 60 }, { onProgress }))).toBe("done");
    expect(seen.at(-1)).toBe(14);
    expect(events.filter(({ type }) => type === "stream-resumed")).toHaveLength(2);
    await leave();
    await proxy[Symbol.asyncDispose]();
  });
});
