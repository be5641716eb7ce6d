/** Two transports that are connected in memory. */
import { Client as OfficialClient } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer as OfficialServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { describe, expect, test } from "vitest";
import { type ConnectTarget, connect } from "../../src/client/index.ts";
import { createTransportPair, serveTransport as serve } from "../../src/core/index.ts";
import type { JSONRPCMessage } from "../../src/core/protocol/jsonrpc.ts";
import { createServer } from "./fixtures/server.ts";
import { ME } from "./places.ts";

const PING = { jsonrpc: "2.0", id: 1, method: "ping" } as const;

describe("a pair of transports", () => {
  test("connects our client and our server in one process", async () => {
    const [serverEnd, clientEnd] = createTransportPair();
    const served = await serve(createServer(), serverEnd, { onError: () => undefined });
    const client = await connect(clientEnd, ME);
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    await client.close();
    await served.close();
  });

  test("connects a client and a server of the official SDK with ours", async () => {
    const [serverEnd, clientEnd] = createTransportPair();
    const served = await serve(createServer(), serverEnd, { onError: () => undefined });
    const official = new OfficialClient(ME);
    await official.connect(clientEnd as Parameters<typeof official.connect>[0]);
    expect(await official.callTool({ name: "add", arguments: { a: 1, b: 2 } })).toMatchObject({
      content: [{ text: "3" }],
    });
    await official.close();
    await served.close();
    const server = new OfficialServer({ name: "official", version: "1.0.0" });
    server.tool("greet", async () => ({ content: [{ type: "text", text: "hello" }] }));
    const [one, other] = createTransportPair();
    await server.connect(one as Parameters<typeof server.connect>[0]);
    const client = await connect(other, ME);
    expect(await client.callTool("greet")).toMatchObject({ content: [{ text: "hello" }] });
    await client.close();
  });

  test("can be replaced by the pair of the official SDK", async () => {
    const [serverEnd, clientEnd] = InMemoryTransport.createLinkedPair();
    const served = await serve(createServer(), serverEnd as Parameters<typeof serve>[1], { onError: () => undefined });
    const client = await connect(clientEnd as ConnectTarget, ME);
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    await client.close();
    await served.close();
  });

  test("keeps messages in order, as copies, until the other end starts", async () => {
    const [one, other] = createTransportPair();
    const received: unknown[] = [];
    const message = { ...PING, params: { list: [1] } };
    await one.start();
    await one.send(message);
    message.params.list.push(2);
    await one.send({ ...PING, id: 2 });
    other.onmessage = (each: JSONRPCMessage) => received.push(each);
    await other.start();
    await one.send({ ...PING, id: 3 });
    await new Promise((resolve) => setTimeout(resolve));
    expect(received).toEqual([
      { ...PING, params: { list: [1] } },
      { ...PING, id: 2 },
      { ...PING, id: 3 },
    ]);
  });

  test("closes both ends once, and then refuses messages; invalid messages are refused with onerror", async () => {
    const [one, other] = createTransportPair();
    const events: string[] = [];
    one.onclose = () => events.push("one closed");
    other.onclose = () => events.push("other closed");
    one.onerror = ({ message }) => events.push(message);
    await one.start();
    await expect(one.send({ jsonrpc: "1.0" } as never)).rejects.toMatchObject({ code: "message-invalid" });
    await other.close();
    await one.close();
    await expect(one.send(PING)).rejects.toMatchObject({ code: "transport-closed" });
    await expect(one.start()).rejects.toMatchObject({ code: "transport-closed" });
    expect(events).toEqual([
      expect.stringContaining("Not a JSON-RPC message"),
      "other closed",
      "one closed",
      "The transport is closed.",
      "The transport is closed.",
    ]);
  });
});
