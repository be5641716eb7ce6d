// @module-tag long
/** Released clients of HTTP+SSE (2024-11-05), at the one URL of the reference server on workerd. */
import { createMCPClient } from "@ai-sdk/mcp";
import { EventSource } from "eventsource";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { newKeys, Workerd } from "../harness/workerd.ts";

/** The interface that all releases of the SDK share, although their types differ. */
interface AnyClient {
  connect(transport: unknown): Promise<void>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: object): Promise<unknown>;
  close(): Promise<void>;
}
interface AnyTransport {
  sessionId?: string | undefined;
  terminateSession?(): Promise<void>;
}
type TransportClass = new (url: URL, options?: { fetch: typeof fetch }) => AnyTransport;
interface ClientModule {
  Client: new (me: object, options: { capabilities: object }) => AnyClient;
}

const ME = { name: "http-sse", version: "1.0.0" };

/** Releases of SDK v1, oldest first, with the name under which they are installed. */
const RELEASES = [
  ["1.0.4", "sdk-1-0"],
  ["1.9.0", "sdk-2024-11-05"],
  ["1.12.3", "sdk-2025-03-26"],
  ["1.22.0", "sdk-2025-06-18"],
  ["1.32.2", "@modelcontextprotocol/sdk"],
] as const;

async function load(name: string) {
  const { Client }: ClientModule = await import(`${name}/client/index.js`);
  const { SSEClientTransport }: { SSEClientTransport: TransportClass } = await import(`${name}/client/sse.js`);
  return { newClient: () => new Client(ME, { capabilities: {} }), SSEClientTransport };
}

const V2 = "@modelcontextprotocol/client";

/** The client with Streamable HTTP, of either generation of the SDK. */
async function loadStreamable(name: string) {
  if (name !== V2) return { newClient: (await load(name)).newClient, Http: await loadHttp(name) };
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const newClient = () => new Client(ME, { versionNegotiation: { mode: "legacy" } }) as unknown as AnyClient;
  return { newClient, Http: StreamableHTTPClientTransport as unknown as TransportClass };
}

async function loadHttp(name: string): Promise<TransportClass> {
  const found: { StreamableHTTPClientTransport: TransportClass } = await import(`${name}/client/streamableHttp.js`);
  return found.StreamableHTTPClientTransport;
}

/** The requests of clients, and the status of the responses. */
let exchanges: { method: string; headers: Headers; status: number }[] = [];
const realFetch = globalThis.fetch;

async function watchedFetch(input: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  const { method, headers } = request;
  const response = await realFetch(input, init);
  exchanges.push({ method, headers, status: response.status });
  return response;
}

let worker: Workerd;
let url: URL;
beforeAll(async () => {
  // Releases before 1.7 use the browser's EventSource; their documentation tells users of Node to install this package.
  vi.stubGlobal("EventSource", EventSource);
  worker = await Workerd.start({
    entry: "src/reference/index.ts",
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
  url = new URL(`${worker.origin}/mcp`);
});
afterAll(async () => {
  vi.unstubAllGlobals();
  await worker?.stop();
});
afterEach(() => {
  exchanges = [];
  vi.stubGlobal("fetch", realFetch);
});

describe("at the path of Streamable HTTP", () => {
  test.each(RELEASES)("SDK %s connects over SSE, lists the tools and calls one", async (_, name) => {
    const { newClient, SSEClientTransport } = await load(name);
    const client = newClient();
    await client.connect(new SSEClientTransport(url));
    expect((await client.listTools()).tools.map((tool) => tool.name)).toContain("add");
    const called = await client.callTool({ name: "test_tool_with_progress", arguments: {} });
    expect(called).toMatchObject({ content: [{ type: "text", text: "Progress reported." }] });
    await client.close();
  });

  test("client 2.4 connects over SSE, lists the tools and calls one", async () => {
    const { Client, SSEClientTransport } = await import("@modelcontextprotocol/client");
    const client = new Client(ME);
    await client.connect(new SSEClientTransport(url));
    expect((await client.listTools()).tools.map((tool) => tool.name)).toContain("add");
    await client.close();
  });

  test.each(["sse", "http"] as const)("@ai-sdk/mcp 1.0 connects by %s, lists and calls", async (type) => {
    const errors: unknown[] = [];
    const onUncaughtError = (error: unknown) => void errors.push(error);
    const client = await createMCPClient({ transport: { type, url: url.href }, onUncaughtError });
    const { add, test_tool_with_progress } = await client.tools();
    const options = { messages: [], toolCallId: "1" };
    expect(await test_tool_with_progress?.execute({}, options)).toMatchObject({
      content: [{ text: "Progress reported." }],
    });
    expect(await add?.execute({ a: 1, b: 2 }, options)).toMatchObject({ structuredContent: { sum: 3 } });
    await client.close();
    expect(errors).toEqual([]);
  });

  test.each(RELEASES.slice(2))("SDK %s uses Streamable HTTP if it tries this first", async (_, name) => {
    const { newClient, SSEClientTransport } = await load(name);
    const Http = await loadHttp(name);
    const client = newClient();
    vi.stubGlobal("fetch", watchedFetch);
    const transport = new Http(url);
    // The fallback that the SDK's documentation describes.
    await client.connect(transport).catch(() => client.connect(new SSEClientTransport(url)));
    expect(transport.sessionId).toBeDefined();
    expect(await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).toMatchObject({
      content: [{ text: '{"sum":3}' }],
    });
    expect(exchanges.every(({ status }) => status < 400)).toBe(true);
    await client.close();
  });

  test.each([...RELEASES.slice(2), ["2.4.0", V2] as const])(
    "SDK %s opens no HTTP+SSE stream after terminateSession()",
    async (version, name) => {
      const { newClient, Http } = await loadStreamable(name);
      const client = newClient();
      vi.stubGlobal("fetch", watchedFetch);
      const transport = new Http(url);
      await client.connect(transport);
      await vi.waitFor(() => expect(exchanges.map(({ method }) => method)).toContain("GET"));
      const before = exchanges.length;
      await transport.terminateSession?.();
      const gets = () => exchanges.slice(before).filter(({ method }) => method === "GET");
      // These reconnect the GET stream that the server has ended, without the session that they have given up.
      if (version === "1.32.2" || version === "2.4.0") {
        await vi.waitFor(() => expect(gets()).not.toEqual([]), { timeout: 10_000 });
      }
      expect(gets().map(({ status }) => status)).toEqual(gets().map(() => 400));
      await client.close();
    },
  );
});
