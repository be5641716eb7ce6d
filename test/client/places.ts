/** Every way to reach the same server: transports and versions. Every message is checked. */

import { type Client, type ClientOptions, connect } from "../../src/client/index.ts";
import { readEvents } from "../../src/client/transports/event-reader.ts";
import { HttpSseTransport } from "../../src/client/transports/http-sse.ts";
import { resolveHeaders } from "../../src/client/transports/request-headers.ts";
import { serveTransport as serve } from "../../src/core/index.ts";
import { createPair } from "../harness/pair.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { watch } from "../oracle/transport-watch.ts";
import { createServer } from "./fixtures/server.ts";

export const ME = { name: "tester", version: "1.0.0", title: "Tester" } as const;
export const LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
export const MODERN = "2026-07-28";

/** A connected client, and the oracle that watches its messages. */
export interface Visit {
  readonly client: Client;
  readonly oracle: WireOracle;
  readonly tap: HttpTap | undefined;
}

export interface Place {
  readonly name: string;
  readonly version: string;
  readonly transport: "streamable-http" | "http-sse" | "pipe";
}

const TRANSPORTS = ["streamable-http", "pipe"] as const;

export const PLACES: readonly Place[] = [
  ...TRANSPORTS.flatMap((transport) => [...LEGACY, MODERN].map((version) => placeOf(version, transport))),
  placeOf("2024-11-05", "http-sse"),
  placeOf("2025-11-25", "http-sse"),
];

function placeOf(version: string, transport: Place["transport"]): Place {
  return { name: `${version} over ${transport}`, version, transport };
}

/** A Worker with all endpoints, and the clients that tests connected to it. */
export class Lab implements AsyncDisposable {
  readonly worker: Workerd;
  readonly #visits: Visit[] = [];

  constructor(worker: Workerd) {
    this.worker = worker;
  }

  static async start(): Promise<Lab> {
    const worker = await Workerd.start({
      entry: "test/client/fixtures/worker.ts",
      objects: ["McpObject", "LegacyObject"],
      bindings: { MCP_KEYS: newKeys() },
    });
    return new Lab(worker);
  }

  url(path = "/mcp"): string {
    return new URL(path, this.worker.origin).href;
  }

  /** Connects over HTTP, through a tap that checks every message. */
  async http(path = "/mcp", options: Partial<ClientOptions> = {}): Promise<Visit> {
    const tap = await startHttpTap(this.url(path));
    try {
      const client = await connect(tap.url, { ...ME, ...options });
      return this.#keep({ client, oracle: tap.oracle, tap });
    } catch (error) {
      await tap.close();
      throw error;
    }
  }

  /** Connects in one version. */
  async visit({ version, transport }: Place, options: Partial<ClientOptions> = {}): Promise<Visit> {
    const pinned = { protocolVersions: [version], ...options };
    if (transport === "streamable-http") return this.http("/mcp", pinned);
    const oracle = new WireOracle();
    if (transport === "http-sse") {
      const stream = new HttpSseTransport(this.url("/sse"), { messageBytesMax: 1_000_000, readEvents, resolveHeaders });
      const client = await connect(watch(stream, oracle), { ...ME, ...pinned });
      return this.#keep({ client, oracle, tap: undefined });
    }
    const [serverEnd, clientEnd] = createPair();
    const served = await serve(createServer(), serverEnd, { onError: () => undefined });
    const client = await connect(watch(clientEnd, oracle), { ...ME, ...pinned });
    const visit = this.#keep({ client, oracle, tap: undefined });
    this.#servers.push(served);
    return visit;
  }

  readonly #servers: { close(): Promise<void> }[] = [];

  /** Closes the clients, and checks everything that was sent and received. */
  async leave(): Promise<void> {
    const visits = this.#visits.splice(0);
    for (const { client } of visits) await client.close();
    for (const { tap } of visits) await tap?.close();
    for (const served of this.#servers.splice(0)) await served.close();
    for (const { oracle } of visits) oracle.expectClean();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.worker.stop();
  }

  #keep(visit: Visit): Visit {
    this.#visits.push(visit);
    return visit;
  }
}
