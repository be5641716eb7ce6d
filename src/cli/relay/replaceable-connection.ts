/**
 * The relay's connection to the server, and its replacement when the server has become one of another version.
 *
 * @module
 */
import { type Client, ClientError } from "../../client/index.ts";
import { McpError } from "../../core/protocol/errors.ts";
import { ErrorCode } from "../../core/protocol/jsonrpc.ts";

/** How long, in milliseconds, a connection is kept after one was given up. An ordinary error must not cost a connection. */
const REPLACED_MS = 30_000;

export class ReplaceableConnection {
  readonly #open: () => Promise<Client>;
  #client: Promise<Client> | undefined;
  #replacement: Promise<Client | undefined> | undefined;
  /** The time at which another connection was opened because the server seemed to be another one. */
  #replacedAtMs = 0;
  /** How many requests are open on each connection. One that was given up is closed when it has none. */
  readonly #uses = new Map<Client, number>();
  readonly #retired = new Set<Client>();
  #isClosed = false;

  /** @param open Opens a connection to the server, with any version. */
  constructor(open: () => Promise<Client>) {
    this.#open = open;
  }

  /** The client, if one was asked for. */
  get opened(): Promise<Client> | undefined {
    return this.#client;
  }

  /** The client, connected if need be. A failed attempt is repeated by the next request. */
  client(): Promise<Client> {
    if (this.#isClosed) throw new McpError(ErrorCode.InternalError, "The connection is closed.");
    this.#client ??= this.#open().catch((error) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  /** Forgets a client that has closed. */
  forget(): void {
    this.#client = undefined;
  }

  /** Runs a request on a connection, which stays open until then. */
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
   * Returns the client to send a request on again, if it failed because the server no longer has the version of its connection,
   * and has not run it. Requests that fail at the same time share the new connection.
   */
  async replace(client: Client, error: unknown): Promise<Client | undefined> {
    if (!mayBeReplaced(error)) return undefined;
    const next = (await this.#newer(client)) ?? (await this.#opening(client, McpError.is(error)));
    // An answer of a server with the same version is that of a tool, which has run.
    return next && (!McpError.is(error) || isUnlike(next, client)) ? next : undefined;
  }

  /** The connection that has taken the place of one. */
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
    // After the answer of a tool, the session that it ran in stays.
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
    // Nobody waits for anything on it.
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

/** Whether a failure suggests that the server no longer has the version of the connection, and has not run the request. */
function mayBeReplaced(error: unknown): boolean {
  if (McpError.is(error))
    return error.code === ErrorCode.UnsupportedProtocolVersion || error.code === ErrorCode.InvalidRequest;
  if (!ClientError.is(error) || error.mayHaveRun) return false;
  return error.code === "version-unsupported" || error.code === "session-lost" || error.response?.status === 400;
}
