/**
 * The proxy in front of a server. It forwards the connections of clients, and reports their exchanges to the recorder.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { duplexPair } from "node:stream";
import { RECORDER_PATH } from "../../../recorder/api.ts";
import type { Recorder } from "../../../recorder/recorder.ts";
import { EXCHANGE_HEADER } from "../../../recorder/tail/tail-event.ts";
import { isLoopback } from "../loopback.ts";
import { headerOf } from "./http-reader.ts";
import { ObservedExchange } from "./observed-exchange.ts";
import { ProxiedConnection, type ProxiedConnectionOptions, type ProxiedRequest } from "./proxied-connection.ts";

export interface ProxyOptions {
  readonly recorder: Recorder;
  /** Connects to the server. */
  readonly connect: () => Socket;
  /** Serves the routes of the recorder. The member `isLocal` of a request's socket is true if the client is on this machine. */
  readonly inside: RequestListener;
  /** Returns the head of a request to forward, for example with another Host header. @default the unchanged head */
  readonly change?: (request: ProxiedRequest) => Buffer;
  /** Whether a header with the id of the exchange is added to requests, for the tail Worker. */
  readonly hasTail: boolean;
  /** Returns whether a `User-Agent` belongs to this program, whose requests are not shown. */
  readonly isOwn?: (userAgent: string | undefined) => boolean;
  /** Resolves when the server listens. Until then, connections wait. */
  readonly ready?: Promise<void>;
}

export class RecordingProxy {
  readonly #options: ProxyOptions;
  readonly #servers: Server[] = [];
  readonly #connections = new Set<ProxiedConnection>();
  readonly #inside;
  /** A random prefix, so that clients cannot guess the ids of exchanges. */
  readonly #prefix = randomBytes(12).toString("hex");
  readonly #insideOptions: Omit<ProxiedConnectionOptions, "observe">;
  #exchanges = 0;
  #isReady = false;
  /** How long answers of clients to questions are delayed, in milliseconds. */
  delayMs = 0;

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.#inside = createHttpServer({ keepAliveTimeout: 0 }, options.inside);
    this.#insideOptions = {
      connect: options.connect,
      connectInside: (client) => this.#connectInside(client),
      isInside: (target) => target.startsWith(RECORDER_PATH) || `${target}/` === RECORDER_PATH,
      mayHold: (method) => this.delayMs > 0 && method === "POST",
      hold: (exchange) => this.#delayAnswer(exchange),
    };
  }

  /** Listens on all addresses of a host. @throws {Error} of `listen`, such as `EADDRINUSE`. */
  async listen(hosts: readonly string[], port: number): Promise<number> {
    let chosen = port;
    for (const [index, host] of hosts.entries()) {
      const server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
      try {
        await listenAt(server, host, chosen);
      } catch (error) {
        // Without IPv6, `localhost` has only an IPv4 address.
        const { code } = error as NodeJS.ErrnoException;
        if (index > 0 && (code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT")) continue;
        await this.close();
        throw error;
      }
      this.#servers.push(server);
      chosen = (server.address() as AddressInfo).port;
    }
    return chosen;
  }

  /** Resets the connection of a running entry. Returns false if the entry is not running. */
  cut(entryId: string): boolean {
    for (const connection of this.#connections) {
      if (!connection.exchanges.some(({ wire }) => wire.entry.id === entryId)) continue;
      connection.cut();
      return true;
    }
    return false;
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close();
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))));
    this.#inside.closeAllConnections();
  }

  #accept(client: Socket): void {
    const { ready } = this.#options;
    if (!ready || this.#isReady) {
      this.#open(client);
      return;
    }
    client.on("error", () => undefined);
    void ready.then(() => {
      this.#isReady = true;
      if (!client.destroyed) this.#open(client);
    });
  }

  #open(client: Socket): void {
    const connection = new ProxiedConnection(client, {
      ...this.#insideOptions,
      observe: (request) => this.#observe(request),
    });
    this.#connections.add(connection);
    client.once("close", () => this.#connections.delete(connection));
  }

  #observe(request: ProxiedRequest): { readonly exchange: ObservedExchange; readonly bytes: Buffer } {
    const { recorder, hasTail, change, isOwn } = this.#options;
    const { head, method, target } = request;
    this.#exchanges += 1;
    const id = `${this.#prefix}.${this.#exchanges}`;
    const isHidden = isOwn?.(headerOf(head, "user-agent")) === true;
    const wire = recorder.begin(
      { atMs: Date.now(), method, path: target, headers: head.headers },
      { ...(hasTail ? { exchangeId: id } : {}), isHidden },
    );
    const bytes = change ? change(request) : request.bytes;
    const exchange = new ObservedExchange(wire, head);
    return { exchange, bytes: hasTail ? withHeader(bytes, `${EXCHANGE_HEADER}: ${id}\r\n`) : bytes };
  }

  #connectInside(client: Socket) {
    const [outer, inner] = duplexPair();
    Object.defineProperty(inner, "isLocal", { value: isLoopback(client.remoteAddress ?? "") });
    this.#inside.emit("connection", inner);
    return outer;
  }

  #delayAnswer({ wire }: ObservedExchange): Promise<void> | undefined {
    const { entry } = wire;
    const isAnswer = entry.kind === "answer" || entry.marks.has("replay");
    if (!isAnswer || this.delayMs === 0) return undefined;
    return new Promise((resolve) => setTimeout(resolve, this.delayMs));
  }
}

function listenAt(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    // Without a host, the server listens on all addresses, including IPv6.
    server.listen({ port, ...(host === "" ? {} : { host }) }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Adds a header at the end of a head. */
function withHeader(head: Buffer, line: string): Buffer {
  const end = head.length - (head.at(-2) === CARRIAGE_RETURN ? 2 : 1);
  return Buffer.concat([head.subarray(0, end), Buffer.from(line, "latin1"), head.subarray(end)]);
}

const CARRIAGE_RETURN = 0x0d;
