/**
 * The relay's connection to the server. It is replaced when the server has changed to another protocol version.
 *
 * @module
 */
import { type Client, ClientError } from "../../client/index.ts";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { McpError } from "../../core/protocol/errors.ts";

/** How long a connection is kept before another replacement is tried, in milliseconds, so that ordinary errors do not replace it. */
const REPLACED_MS = 30_000;

export class ReplaceableConnection {
  readonly #open: () => Promise<Client>;
  #client: Promise<Client> | undefined;
  #replacement: Promise<Client | undefined> | undefined;
  /** When the connection was last replaced, in milliseconds since 1970. */
  #replacedAtMs = 0;
  /** The number of open requests on each connection. A replaced connection is closed when it has none left. */
  readonly #uses = new Map<Client, number>();
  readonly #retired = new Set<Client>();
  #isClosed = false;

  /** @param open Opens a connection to the server, in any protocol version. */
  constructor(open: () => Promise<Client>) {
    this.#open = open;
  }

  /** The current client; undefined before the first request. */
  get opened(): Promise<Client> | undefined {
    return this.#client;
  }

  /** Returns the client, and connects it first if necessary. If that fails, the next request tries again. */
  client(): Promise<Client> {
    if (this.#isClosed) throw new McpError(ErrorCode.InternalError, "The connection is closed.");
    this.#client ??= this.#open().catch((error) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  /** Drops a client that has closed, so that the next request opens another connection. */
  drop(): void {
    this.#client = undefined;
  }

  /** Runs a request on a connection, which stays open until the request has finished. */
  async use<T>(client: Client, run: (client: Client) => Promise<T>): Promise<T> {
    this.#uses.set(client, (this.#uses.get(client) ?? 0) + 1);
    try {
      return await run(client);
    } finally {
      const left = (this.#uses.get(client) ?? 1) - 1;
      if (left > 0) this.#uses.set(client, left);
      else this.#uses.delete(client);
      if (left === 0 && this.#retired.has(client)) this.#end(client);
    }
  }

  /**
   * Returns the client on which to repeat a failed request: if the server no longer supports the version of the connection and has
   * not run the request. Otherwise returns undefined. Requests that fail at the same time share the new connection.
   */
  async replace(client: Client, error: unknown): Promise<Client | undefined> {
    if (!mayBeReplaced(error)) return undefined;
    const next = (await this.#newer(client)) ?? (await this.#opening(client, McpError.is(error)));
    // If the version is unchanged, the error comes from a tool, which has run.
    return next && (!McpError.is(error) || isUnlike(next, client)) ? next : undefined;
  }

  /** Returns the connection that has already replaced this one, if any. */
  async #newer(client: Client): Promise<Client | undefined> {
    const current = await this.#client?.catch(() => undefined);
    return current === client ? undefined : current;
  }

  async #opening(client: Client, isAnswer: boolean): Promise<Client | undefined> {
    if (!this.#replacement && Date.now() - this.#replacedAtMs >= REPLACED_MS) {
      this.#replacedAtMs = Date.now();
      this.#replacement = this.#openAnew(client, isAnswer).finally(() => {
        this.#replacement = undefined;
      });
    }
    return this.#replacement;
  }

  async #openAnew(old: Client, isAnswer: boolean): Promise<Client | undefined> {
    const client = await this.#open().catch(() => undefined);
    if (!client) return undefined;
    // If the error came from a tool, its session is kept.
    if (this.#isClosed || (isAnswer && !isUnlike(client, old))) {
      this.#end(client);
      return undefined;
    }
    this.#client = Promise.resolve(client);
    if (this.#uses.has(old)) this.#retired.add(old);
    else this.#end(old);
    return client;
  }

  #end(client: Client): void {
    this.#retired.delete(client);
    // No request is waiting on this connection, so a failure to close it does not matter.
    client.close().catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const client = await this.#client?.catch(() => undefined);
    await Promise.all([client, ...this.#retired].map((each) => each?.close()));
  }
}

function isUnlike(a: Client, b: Client): boolean {
  return a.server.protocolVersion !== b.server.protocolVersion;
}

/** Whether an error suggests that the server no longer supports the version of the connection, and has not run the request. */
function mayBeReplaced(error: unknown): boolean {
  if (McpError.is(error))
    return error.code === ErrorCode.UnsupportedProtocolVersion || error.code === ErrorCode.InvalidRequest;
  if (!ClientError.is(error) || error.mayHaveRun) return false;
  return error.code === "version-unsupported" || error.code === "session-lost" || error.response?.status === 400;
}
