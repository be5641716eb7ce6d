/** One transport interface: the official SDK's transports carry our servers, and ours carry the official clients. */
import { PassThrough } from "node:stream";
import {
  Client as Client2,
  InMemoryTransport as InMemory2,
  type Transport as OfTwo,
} from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport as InMemory1 } from "@modelcontextprotocol/sdk/inMemory.js";
import { StdioServerTransport as Stdio1 } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { Transport as OfOne } from "@modelcontextprotocol/sdk/shared/transport.js";
import { describe, expect, expectTypeOf, test } from "vitest";
import { type JSONRPCMessage, McpServer, serveTransport, type Transport } from "../../src/core/index.ts";
import { StdioServerTransport } from "../../src/node/index.ts";
import { createPair } from "../harness/pair.ts";
import { WireOracle } from "../oracle/oracle.ts";

type Pair = readonly [clientEnd: Transport, serverEnd: Transport];

function streams(): [PassThrough, PassThrough] {
  return [new PassThrough(), new PassThrough()];
}

/** None of these needs a cast. */
const PAIRS: readonly (readonly [name: string, create: () => Pair])[] = [
  ["InMemoryTransport of sdk 1", () => InMemory1.createLinkedPair()],
  ["InMemoryTransport of sdk 2", () => InMemory2.createLinkedPair()],
  [
    "StdioServerTransport of sdk 1",
    () => {
      const [up, down] = streams();
      return [new Stdio1(down, up), new Stdio1(up, down)];
    },
  ],
  [
    "our StdioServerTransport",
    () => {
      const [up, down] = streams();
      return [
        new StdioServerTransport({ input: down, output: up }),
        new StdioServerTransport({ input: up, output: down }),
      ];
    },
  ],
  ["our in-memory pair", createPair],
];

const ME = { name: "official", version: "1.0.0" };

interface Connected {
  listTools(): Promise<{ tools: readonly { name: string }[] }>;
  callTool(
    params: { name: string; arguments: Record<string, unknown> },
    schema?: undefined,
    options?: { signal?: AbortSignal },
  ): Promise<unknown>;
  close(): Promise<void>;
}

/** Called with our transports, which also match the official clients' types. */
const CLIENTS: readonly (readonly [name: string, version: string, connect: (end: Transport) => Promise<Connected>])[] =
  [
    [
      "sdk 1",
      "2025-11-25",
      async (end) => {
        const client = new Client1(ME);
        await client.connect(end);
        return client;
      },
    ],
    ["sdk 2, legacy", "2025-11-25", (end) => connect2(end, "legacy")],
    ["sdk 2, auto", "2026-07-28", (end) => connect2(end, "auto")],
    ["sdk 2, pinned", "2026-07-28", (end) => connect2(end, { pin: "2026-07-28" })],
  ];

async function connect2(end: Transport, mode: "legacy" | "auto" | { pin: string }): Promise<Connected> {
  const client = new Client2(ME, { versionNegotiation: { mode } });
  await client.connect(end);
  const callTool: Connected["callTool"] = (params, _, options) => client.callTool(params, options);
  return { listTools: () => client.listTools(), callTool, close: () => client.close() };
}

/** Passes the messages of the server's end to an oracle. */
function watch(end: Transport, oracle: WireOracle): void {
  const { send, sendText } = { send: end.send.bind(end), sendText: end.sendText?.bind(end) };
  end.send = (message) => {
    oracle.observe("server", message);
    return send(message);
  };
  if (sendText) {
    end.sendText = (text) => {
      oracle.observe("server", JSON.parse(text));
      return sendText(text);
    };
  }
  let handler: Transport["onmessage"];
  const observed = (message: JSONRPCMessage) => {
    oracle.observe("client", message);
    handler?.(message);
  };
  Object.defineProperty(end, "onmessage", {
    get: () => handler && observed,
    set: (next) => {
      handler = next;
    },
  });
}

test("the types of both transports are assignable to each other", () => {
  expectTypeOf<OfOne>().toExtend<Transport>();
  expectTypeOf<OfTwo>().toExtend<Transport>();
  expectTypeOf<Transport>().toExtend<OfOne>();
  expectTypeOf<Transport>().toExtend<OfTwo>();
});

describe.each(PAIRS)("%s", (_, create) => {
  test.each(CLIENTS)("serves the client of %s in %s", async (_, version, connectClient) => {
    const seen = { running: 0, reasons: [] as unknown[] };
    const reports: unknown[] = [];
    const server = new McpServer({ name: "transport", version: "1.0.0" })
      .tool("version", {}, (_, ctx) => ctx.client.protocolVersion)
      .tool("waits", {}, async (_, ctx) => {
        seen.running += 1;
        await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
        seen.reasons.push(ctx.signal.reason);
        return "aborted";
      });
    const [clientEnd, serverEnd] = create();
    const oracle = new WireOracle();
    watch(serverEnd, oracle);
    const connection = await serveTransport(server, serverEnd, { onError: (error) => void reports.push(error) });
    const client = await connectClient(clientEnd);

    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["version", "waits"]);
    const answer = await client.callTool({ name: "version", arguments: {} });
    expect(answer).toMatchObject({ content: [{ type: "text", text: version }] });
    await expect(client.callTool({ name: "none", arguments: {} })).rejects.toMatchObject({ code: -32602 });

    const abort = new AbortController();
    const options = { signal: abort.signal };
    const called = client.callTool({ name: "waits", arguments: {} }, undefined, options).catch(() => "given up");
    await expect.poll(() => seen.running).toBe(1);
    abort.abort("enough");
    expect(await called).toBe("given up");
    await expect.poll(() => seen.reasons).toMatchObject([{ name: "CancelledError", reason: "enough" }]);

    await client.close();
    await connection.close();
    expect(reports).toEqual([]);
    oracle.expectClean();
  });
});
