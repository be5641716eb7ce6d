/**
 * Runs the oracle on conversations of the official packages with themselves. What they agree on is correct, so every
 * problem that the oracle reports is a false alarm, unless the package itself violates the schema of the negotiated
 * version.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { Client as Client2025_03 } from "sdk-2025-03-26/client/index.js";
import { StreamableHTTPClientTransport as ClientTransport2025_03 } from "sdk-2025-03-26/client/streamableHttp.js";
import { Client as Client2025_06 } from "sdk-2025-06-18/client/index.js";
import { StreamableHTTPClientTransport as ClientTransport2025_06 } from "sdk-2025-06-18/client/streamableHttp.js";
import { expect, test } from "vitest";
import { startHttpTap } from "./http-tap.ts";
import { specOf } from "./spec.ts";

/** The part of a client that this test uses; the packages' types are incompatible. */
interface AnyClient {
  listTools(): Promise<unknown>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

const CLIENT = { name: "c", version: "1" };

const CONNECT: Readonly<Record<string, (url: URL) => Promise<AnyClient>>> = {
  "2025-03-26": async (url) => {
    const client = new Client2025_03(CLIENT);
    await client.connect(new ClientTransport2025_03(url) as Parameters<typeof client.connect>[0]);
    return client;
  },
  "2025-06-18": async (url) => {
    const client = new Client2025_06(CLIENT);
    await client.connect(new ClientTransport2025_06(url) as Parameters<typeof client.connect>[0]);
    return client;
  },
  "2025-11-25": async (url) => {
    const client = new Client(CLIENT);
    await client.connect(new StreamableHTTPClientTransport(url) as Parameters<typeof client.connect>[0]);
    return client;
  },
};

for (const [version, connect] of Object.entries(CONNECT)) {
  test(`the official client of ${version} talks to an official server without a problem`, async () => {
    const mcp = new McpServer({ name: "s", version: "1" });
    mcp.registerTool("hello", { description: "says hello" }, async (extra) => {
      const progressToken = extra._meta?.progressToken ?? 0;
      await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress: 1 } });
      return { content: [{ type: "text", text: "hello" }] };
    });
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => "session-1" });
    await mcp.connect(transport as Parameters<typeof mcp.connect>[0]);
    const server = createServer((request, response) => void transport.handleRequest(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const tap = await startHttpTap(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);

    const client = await connect(new URL(tap.url));
    await client.listTools();
    await client.callTool({ name: "hello", arguments: {} });
    await client.close();
    await tap.close();
    await mcp.close();
    server.close();

    expect(tap.oracle.agreedVersion("session-1")).toBe(version);
    expect(tap.oracle.messages).toBeGreaterThanOrEqual(8);
    // The only thing it sends across versions, which the specification's schemas detect: `execution` belongs to
    // 2025-11-25.
    const stray = version === "2025-11-25" || specOf(version) === undefined ? [] : ["/tools/0/execution"];
    expect(tap.oracle.problems.map(({ problem }) => problem.split(" ")[0])).toEqual(stray);
  });
}
