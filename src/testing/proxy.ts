/** A TCP proxy that breaks connections on purpose, for clients whose sockets a test cannot access. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type CutHow, cutSocket } from "./cut.ts";

/** How fast the proxy forwards responses. */
export interface Pace {
  /** The number of bytes to forward before each pause. */
  readonly bytes: number;
  /** The length of each pause, in milliseconds. */
  readonly everyMs: number;
}

/**
 * Starts a proxy in front of a Worker, or of any other server on plain TCP. It forwards bytes unchanged and does not parse HTTP, so byte
 * counts include response headers, and all responses on a keep-alive connection.
 *
 * ```ts
 * await using proxy = await startProxy(worker.origin);
 * proxy.cutAfter(500, "rst"); // each connection breaks after 500 bytes of responses
 * const client = new SomeClient(proxy.url("/mcp"));
 * ```
 */
export async function startProxy(target: string | URL): Promise<CuttableProxy> {
  const { hostname, port } = new URL(target);
  const proxy = new CuttableProxy(() => connect({ host: hostname, port: Number(port) }));
  await proxy.listen();
  return proxy;
}

/** A running proxy. Created by `startProxy`. */
export class CuttableProxy implements AsyncDisposable {
  readonly #reach: () => Socket;
  readonly #server: Server;
  readonly #open = new Set<ProxiedConnection>();
  #cut: { readonly afterBytes: number; readonly how: CutHow } | undefined;
  #pace: Pace | undefined;
  #isRefusing = false;
  #accepted = 0;

  /** Only `startProxy` calls it. @internal */
  constructor(reach: () => Socket) {
    this.#reach = reach;
    this.#server = createServer((client) => this.#accept(client));
  }

  /** Starts to listen. Only `startProxy` calls it. @internal */
  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, "127.0.0.1", resolve);
    });
  }

  /** The origin of the proxy, such as `http://127.0.0.1:41234`. */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Returns the URL of a path behind the proxy. */
  url(path: string): string {
    return new URL(path, this.origin).href;
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#open.size;
  }

  /** The number of connections accepted so far. Refused connections do not count. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Breaks every open connection on both sides. Returns their number. New connections are still accepted. */
  cut(how: CutHow = "rst"): number {
    const all = [...this.#open];
    for (const connection of all) connection.cut(how);
    return all.length;
  }

  /**
   * Breaks each connection after a number of bytes from the server. For open connections, bytes are counted from now on; for new ones,
   * from the start. The client receives at most this number of bytes. `undefined` turns it off.
   */
  cutAfter(bytes: number | undefined, how: CutHow = "rst"): void {
    this.#cut = bytes === undefined ? undefined : { afterBytes: bytes, how };
    for (const connection of this.#open) connection.bytes = 0;
  }

  /** Slows responses down, including on open connections. `undefined` means full speed. */
  throttle(pace: Pace | undefined): void {
    this.#pace = pace;
  }

  /** Sets whether new connections are reset immediately. */
  refuse(isRefusing: boolean): void {
    this.#isRefusing = isRefusing;
  }

  /** Breaks all connections and stops listening. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  /** Calls `close()`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #accept(client: Socket): void {
    if (this.#isRefusing) {
      cutSocket(client, "rst");
      return;
    }
    this.#accepted += 1;
    const connection = new ProxiedConnection(client, this.#reach());
    this.#open.add(connection);
    client.once("close", () => this.#open.delete(connection));
    // The error handlers of `ProxiedConnection` break the other side.
    this.#relay(connection).catch(() => connection.cut("rst"));
  }

  async #relay(connection: ProxiedConnection): Promise<void> {
    for await (const chunk of connection.server as AsyncIterable<Buffer>) {
      for (let rest = chunk; rest.length > 0; ) {
        const { afterBytes = Number.POSITIVE_INFINITY, how = "rst" } = this.#cut ?? {};
        const size = Math.min(
          rest.length,
          this.#pace?.bytes ?? rest.length,
          Math.max(afterBytes - connection.bytes, 0),
        );
        await connection.pass(rest.subarray(0, size));
        rest = rest.subarray(size);
        if (connection.bytes >= afterBytes) return connection.cut(how);
        if (this.#pace) await delay(this.#pace.everyMs);
      }
    }
    connection.client.end();
  }
}

/** A connection from a client, and the connection to the server that was opened for it. */
class ProxiedConnection {
  readonly client: Socket;
  readonly server: Socket;
  /** The number of bytes forwarded from the server to the client. */
  bytes = 0;

  constructor(client: Socket, server: Socket) {
    this.client = client;
    this.server = server;
    client.pipe(server);
    // If one side breaks, the other side is broken in the same way.
    client.on("error", () => cutSocket(server, "rst"));
    client.on("close", () => server.destroy());
    server.on("error", () => cutSocket(client, "rst"));
  }

  /** Forwards bytes to the client. Resolves when the operating system has accepted them, so that a slow client slows the server down. */
  pass(bytes: Buffer): Promise<void> {
    this.bytes += bytes.length;
    return new Promise((resolve, reject) => {
      this.client.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  cut(how: CutHow): void {
    cutSocket(this.client, how);
    cutSocket(this.server, how);
  }
}
