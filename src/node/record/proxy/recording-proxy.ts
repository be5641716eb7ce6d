/**
 * The proxy in front of a server: listens where clients connect, and reports what passes to the recorder.
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
import { type PassingRequest, ProxiedConnection, type ProxiedConnectionOptions } from "./proxied-connection.ts";

/** What the proxy needs. */
export interface ProxyOptions {
  readonly recorder: Recorder;
  /** Connects to the server. */
  readonly connect: () => Socket;
  /** Serves the routes of the recorder. `isLocal` of a request's socket says whether the client is on this machine. */
  readonly inside: RequestListener;
  /** Changes the head of a request, such as the name of its host. @default nothing */
  readonly change?: (request: PassingRequest) => Buffer;
  /** Whether requests carry the id of their exchange to the server. */
  readonly hasTail: boolean;
  /** Whether a request with this `User-Agent` is one of this program, which is not shown. */
  readonly isOwn?: (userAgent: string | undefined) => boolean;
  /** Connections wait until it resolves, because the server does not listen yet. */
  readonly ready?: Promise<void>;
}

/** A running proxy. */
export class RecordingProxy {
  readonly #options: ProxyOptions;
  readonly #servers: Server[] = [];
  readonly #connections = new Set<ProxiedConnection>();
  readonly #inside;
  /** Random, so that no client can guess the id of an exchange. */
  readonly #prefix = randomBytes(12).toString("hex");
  readonly #insideOptions: Omit<ProxiedConnectionOptions, "observe">;
  #exchanges = 0;
  #isReady = false;
  /** Milliseconds by which answers of clients to questions are delayed. */
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

  /** Listens at all addresses of a host. @throws {Error} with the code `EADDRINUSE`, and others of `listen`. */
  async listen(hosts: readonly string[], port: number): Promise<number> {
    let chosen = port;
    for (const [index, host] of hosts.entries()) {
      const server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
      try {
        await listenAt(server, host, chosen);
      } catch (error) {
        // Without IPv6, `localhost` has only one address.
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

  /** Cuts the connection on which an entry is running. Returns false if there is none. */
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

  #observe(request: PassingRequest): { readonly exchange: ObservedExchange; readonly bytes: Buffer } {
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
    // An empty host means all addresses, of IPv6 too.
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
