/** Connects with released clients of the official SDK, which also open a GET stream. */
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Contestant } from "../contestants.ts";
import type { Figures } from "../scenarios.ts";
import type { Workerd } from "../workerd.ts";

const ME = { name: "bench", version: "1.0.0" };
/** Clients that connect one after the other in one measurement. */
const CLIENTS = 8;

/** Connects a client, lists the tools, and returns a function that closes it. */
type Connect = (url: URL) => Promise<() => Promise<void>>;

export const CONNECTS: Readonly<Record<string, Connect>> = {
  "connect-sdk-1": async (url) => {
    const client = new Client1(ME);
    await client.connect(new Http1(url));
    await client.listTools();
    return () => client.close();
  },
  "connect-client-2": async (url) => {
    const client = new Client2(ME, { versionNegotiation: { mode: "legacy" } });
    await client.connect(new Http2(url));
    await client.listTools();
    return () => client.close();
  },
};

/** The floors answer `initialize` with the answer of a call, which these clients refuse. */
export function takesClients({ name, sessions }: Contestant): boolean {
  return sessions !== undefined && !name.startsWith("floor");
}

/** Returns the mean milliseconds from the first request of a client to its list. */
export async function connects(workerd: Workerd, connect: Connect): Promise<Figures> {
  const url = new URL(`http://127.0.0.1:${workerd.port}${workerd.contestant.sessionPath ?? "/mcp"}`);
  let ms = 0;
  for (let client = 0; client < CLIENTS; client += 1) {
    const startedAt = performance.now();
    const close = await connect(url);
    ms += performance.now() - startedAt;
    await close();
  }
  return { value: ms / CLIENTS };
}
