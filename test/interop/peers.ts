/** The official clients behind one interface for the tests. */
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as Client2024 } from "sdk-2024-11-05/client/index.js";
import { StdioClientTransport as Stdio2024 } from "sdk-2024-11-05/client/stdio.js";
import { Client as Client202503 } from "sdk-2025-03-26/client/index.js";
import { StdioClientTransport as Stdio202503 } from "sdk-2025-03-26/client/stdio.js";
import { StreamableHTTPClientTransport as Http202503 } from "sdk-2025-03-26/client/streamableHttp.js";
import { Client as Client202506 } from "sdk-2025-06-18/client/index.js";
import { StdioClientTransport as Stdio202506 } from "sdk-2025-06-18/client/stdio.js";
import { StreamableHTTPClientTransport as Http202506 } from "sdk-2025-06-18/client/streamableHttp.js";

const ME = { name: "interop", version: "1.0.0" };

/** The interface that every release of the client has. */
interface AnyClient<T> {
  connect(transport: T): Promise<void>;
  getServerVersion(): { name: string; version: string } | undefined;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

interface AnyTransport {
  onmessage?: unknown;
  sessionId?: string | undefined;
  terminateSession?(): Promise<void>;
}

/** A connected client. */
export interface Connected {
  /** Protocol version that `initialize` negotiated; undefined if none was sent. */
  readonly initialized: string | undefined;
  readonly sessionId: string | undefined;
  readonly client: AnyClient<never>;
  /** Ends the session if there is one, then the connection. */
  end(): Promise<void>;
}

export interface StdioCommand {
  readonly command: string;
  readonly args: string[];
}

export interface Peer<Target> {
  readonly name: string;
  /** The protocol version that both sides use. */
  readonly version: string;
  connect(target: Target): Promise<Connected>;
}

async function connected<T>(client: AnyClient<T>, transport: AnyTransport): Promise<Connected> {
  const initialized = watchInitialize(transport);
  // The transport of its own release; some declare `sessionId` differently from their `Transport`.
  await client.connect(transport as T);
  return {
    initialized: initialized(),
    sessionId: transport.sessionId,
    client: client as AnyClient<never>,
    end: async () => {
      if (transport.sessionId !== undefined) await transport.terminateSession?.();
      await client.close();
    },
  };
}

/** No release reports the negotiated version over every transport, so it is read from the message. */
function watchInitialize(transport: AnyTransport): () => string | undefined {
  let agreed: string | undefined;
  let handler: ((message: unknown, ...more: unknown[]) => void) | undefined;
  Object.defineProperty(transport, "onmessage", {
    configurable: true,
    get: () => handler && watch,
    set: (next) => {
      handler = next;
    },
  });
  function watch(message: unknown, ...more: unknown[]): void {
    const { result } = message as { result?: { protocolVersion?: string } };
    agreed ??= result?.protocolVersion;
    handler?.(message, ...more);
  }
  return () => agreed;
}

const modes = {
  legacy: "legacy",
  auto: "auto",
  pinned: { pin: "2026-07-28" },
} as const;

const client2 = (mode: keyof typeof modes) => new Client2(ME, { versionNegotiation: { mode: modes[mode] } });

export const HTTP_PEERS: readonly Peer<URL>[] = [
  {
    name: "client 2.4, legacy",
    version: "2025-11-25",
    connect: (url) => connected(client2("legacy"), new Http2(url)),
  },
  { name: "client 2.4, auto", version: "2026-07-28", connect: (url) => connected(client2("auto"), new Http2(url)) },
  { name: "client 2.4, pinned", version: "2026-07-28", connect: (url) => connected(client2("pinned"), new Http2(url)) },
  { name: "sdk 1.32", version: "2025-11-25", connect: (url) => connected(new Client1(ME), new Http1(url)) },
  { name: "sdk 1.22", version: "2025-06-18", connect: (url) => connected(new Client202506(ME), new Http202506(url)) },
  { name: "sdk 1.12", version: "2025-03-26", connect: (url) => connected(new Client202503(ME), new Http202503(url)) },
];

/** With one more: the release of 2024-11-05 has no Streamable HTTP. */
export const STDIO_PEERS: readonly Peer<StdioCommand>[] = [
  {
    name: "client 2.4, legacy",
    version: "2025-11-25",
    connect: (to) => connected(client2("legacy"), new Stdio2(to)),
  },
  { name: "client 2.4, auto", version: "2026-07-28", connect: (to) => connected(client2("auto"), new Stdio2(to)) },
  { name: "client 2.4, pinned", version: "2026-07-28", connect: (to) => connected(client2("pinned"), new Stdio2(to)) },
  { name: "sdk 1.32", version: "2025-11-25", connect: (to) => connected(new Client1(ME), new Stdio1(to)) },
  { name: "sdk 1.22", version: "2025-06-18", connect: (to) => connected(new Client202506(ME), new Stdio202506(to)) },
  { name: "sdk 1.12", version: "2025-03-26", connect: (to) => connected(new Client202503(ME), new Stdio202503(to)) },
  { name: "sdk 1.9", version: "2024-11-05", connect: (to) => connected(new Client2024(ME), new Stdio2024(to)) },
];
