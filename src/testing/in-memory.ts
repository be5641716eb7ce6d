/** A client without a network, for tests of tools, prompts and resources that do not need a Worker. */

import { createTransportPair } from "../core/connection/transport-pair.ts";
import {
  type Connection,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResultResponse,
  type JsonObject,
  McpError,
  type McpServer,
  type RequestId,
  type ServeTransportOptions,
  serveTransport,
  type Transport,
} from "../core/index.ts";
import * as META from "../core/protocol/meta.ts";
import { findVersion, VERSIONS } from "../core/protocol/versions.ts";

type JSONRPCResponse = JSONRPCResultResponse | JSONRPCErrorResponse;

/** Options of the in-memory client. */
export interface InMemoryOptions<Env = unknown> extends Partial<ServeTransportOptions<Env>> {
  /** The protocol version that the client uses. @default the newest version */
  readonly version?: string;
  /** The capabilities that the client declares. @default {} */
  readonly capabilities?: JsonObject;
  /**
   * Handles requests of the server (elicitation, sampling, roots). It returns the result, or throws to respond with an error. Without it,
   * the client does not respond to these requests; `received` contains them.
   */
  readonly onRequest?: (request: JSONRPCRequest) => JsonObject | Promise<JsonObject>;
}

/**
 * Connects to a server in memory, including the handshake if the protocol version has one.
 *
 * ```ts
 * const client = await connectInMemory(server);
 * const { content } = await client.request("tools/call", { name: "add", arguments: { a: 1, b: 2 } });
 * await client.close();
 * ```
 *
 * Exceptions that the server reports do not make the test fail. They are passed to `onError` or, without it, collected in `reports`.
 */
export async function connectInMemory<Env>(
  server: McpServer<Env>,
  options: InMemoryOptions<Env> = {},
): Promise<InMemoryClient> {
  const [serverEnd, clientEnd] = createTransportPair();
  const { version = VERSIONS.at(-1)?.version ?? "", capabilities = {}, onRequest, ...connectOptions } = options;
  const clientInfo = { name: "in-memory", version: "1.0.0" };
  const isModern = findVersion(version)?.era === "modern";
  const envelope = isModern
    ? { [META.protocolVersion]: version, [META.clientInfo]: clientInfo, [META.clientCapabilities]: capabilities }
    : undefined;
  const reports: unknown[] = [];
  const onError = (error: unknown) => {
    reports.push(error);
  };
  const connection = await serveTransport(server, serverEnd, { onError, ...connectOptions });
  const client = new InMemoryClient({ connection, transport: clientEnd, envelope, onRequest, reports });
  await clientEnd.start();
  if (!isModern) {
    await client.request("initialize", { protocolVersion: version, capabilities, clientInfo });
    client.notify("notifications/initialized");
  }
  return client;
}

interface InMemoryParts {
  readonly connection: Connection;
  readonly transport: Transport;
  /** The `_meta` of every request of a modern client. */
  readonly envelope: JsonObject | undefined;
  readonly onRequest: InMemoryOptions["onRequest"];
  readonly reports: readonly unknown[];
}

/** A client in the same process. It records every message that it receives. Created by `connectInMemory`. */
export class InMemoryClient implements AsyncDisposable {
  /** All messages from the server so far, in order. */
  readonly received: JSONRPCMessage[] = [];
  /** The exceptions that the server reported, unless `onError` was passed. */
  readonly reports: readonly unknown[];
  /** The server side of the connection, for example to wait until it is `idle`. */
  readonly connection: Connection;

  readonly #transport: Transport;
  readonly #envelope: JsonObject | undefined;
  readonly #onRequest: InMemoryOptions["onRequest"];
  readonly #waiting = new Map<RequestId, { resolve(response: JSONRPCResponse): void; reject(error: Error): void }>();
  #lastId = 0;

  /** Only `connectInMemory` calls it. @internal */
  constructor({ connection, transport, envelope, onRequest, reports }: InMemoryParts) {
    this.connection = connection;
    this.reports = reports;
    this.#transport = transport;
    this.#envelope = envelope;
    this.#onRequest = onRequest;
    transport.onmessage = (message) => this.#take(message);
    transport.onclose = () => {
      for (const { reject } of this.#waiting.values())
        reject(new Error("The connection was closed before the response."));
    };
  }

  /** The notifications so far, in order. */
  get notifications(): JSONRPCNotification[] {
    return this.received.filter((message) => "method" in message && !("id" in message)) as JSONRPCNotification[];
  }

  /** Sends a request. Resolves with the result. @throws {McpError} if the response is an error. */
  async request(method: string, params: JsonObject = {}): Promise<Record<string, unknown>> {
    const response = await this.ask(method, params);
    if ("result" in response) return response.result;
    const { code, message, data } = response.error;
    throw new McpError(code, message, data);
  }

  /** Sends a request. Resolves with the response, which may be an error. */
  ask(method: string, params: JsonObject = {}): Promise<JSONRPCResultResponse | JSONRPCErrorResponse> {
    this.#lastId += 1;
    const id = this.#lastId;
    const whole = this.#envelope ? { ...params, _meta: { ...this.#envelope, ...(params._meta as object) } } : params;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.send({ jsonrpc: "2.0", id, method, params: whole });
    });
  }

  /** Sends a notification. */
  notify(method: string, params?: JsonObject): void {
    this.send({ jsonrpc: "2.0", method, ...(params ? { params } : {}) });
  }

  /** Sends any value unchanged, even if it is not a valid message. */
  send(message: unknown): void {
    // If the connection is closed, pending requests have already been rejected.
    this.#transport.send(message as JSONRPCMessage).catch(() => undefined);
  }

  /** Closes the connection. Running handlers are cancelled, and pending requests reject. */
  async close(): Promise<void> {
    await this.connection.close();
  }

  /** Calls `close()`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #take(message: JSONRPCMessage): void {
    this.received.push(message);
    if ("method" in message) {
      if ("id" in message) void this.#respond(message);
    } else if (message.id !== undefined) {
      this.#waiting.get(message.id)?.resolve(message);
      this.#waiting.delete(message.id);
    }
  }

  async #respond(request: JSONRPCRequest): Promise<void> {
    if (!this.#onRequest) return;
    const { id } = request;
    try {
      this.send({ jsonrpc: "2.0", id, result: await this.#onRequest(request) });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.send({ jsonrpc: "2.0", id, error: { code: -32603, message } });
    }
  }
}
