/**
 * Serves one server on one {@link Transport}: stdio, in memory, or a custom transport. A request with modern `_meta` is
 * independent. Any other request uses the client of the connection's handshake, or the newest legacy version if there
 * was no handshake, for example when requests are piped in manually.
 *
 * @module
 */

import { unavailableAsker } from "../ask/asker.ts";
import { ClientAsker } from "../ask/client-asker.ts";
import { PendingQuestions } from "../ask/pending-questions.ts";
import { quote } from "../basics/quote.ts";
import type { Registry } from "../define/registry.ts";
import { type McpServer, REGISTRY } from "../define/server.ts";
import { isChange } from "../protocol/change-notifications.ts";
import { ClientFacts } from "../protocol/client-facts.ts";
import * as ErrorCode from "../protocol/error-codes.ts";
import type { ErrorReporter } from "../protocol/error-reports.ts";
import { CancelledError, KitError, McpError, toErrorObject } from "../protocol/errors.ts";
import type { Ending, Execution } from "../protocol/execution.ts";
import {
  encodeError,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  parseMessage,
  type RequestId,
} from "../protocol/jsonrpc.ts";
import { findSender, hasEnvelope, negotiate, readEnvelope, readLogLevel, toClient } from "../protocol/lifecycle.ts";
import { type Limits, resolveLimits } from "../protocol/limits.ts";
import type { LoggingLevel } from "../protocol/logging.ts";
import { describeNotification } from "../protocol/request-description.ts";
import type { Transport, UnreadableMessage } from "../protocol/transport.ts";
import { replayRounds } from "../run/replay.ts";
import type { Once } from "../run/request-context.ts";
import { ASK_BY_RETURNING } from "../run/run-rounds.ts";
import { KeyRing } from "../seal/key-ring.ts";
import { dispatch, redact, takeCustomNotification } from "../serve/dispatch.ts";
import { type OutcomeKeeper, onceWith, outcomesInMemory } from "../serve/idempotency.ts";
import { RootsListener } from "../serve/roots.ts";
import { ConnectionNotifications } from "./connection-notifications.ts";

/** Options of {@link serveTransport}. */
export interface ServeTransportOptions<Env> {
  /** The value that handlers see as `ctx.env`. */
  readonly env?: Env;
  /** Limits in place of the defaults. @default DEFAULT_LIMITS */
  readonly limits?: Partial<Limits>;
  /** Stores the outcomes of calls that run once. @default outcomesInMemory(), for this connection */
  readonly outcomes?: OutcomeKeeper;
  /** Receives exceptions and failures of the transport if the server has no `onError`. */
  readonly onError: ErrorReporter;
}

/** A running connection. */
export interface Connection {
  /**
   * Ends subscriptions, and rejects questions because the client can no longer answer them. Call it when no more
   * messages can arrive. Resolves when the responses to all received requests have been passed to the transport.
   */
  idle(): Promise<void>;
  /** Cancels all requests and closes the transport. No timer or pending promise remains. */
  close(): Promise<void>;
}

/** Serves a server on a transport. Resolves when the transport has started, and rejects if it cannot start. */
export async function serveTransport<Env>(
  server: McpServer<Env>,
  transport: Transport,
  options: ServeTransportOptions<Env>,
): Promise<Connection> {
  const connection = new ServerConnection(server[REGISTRY], transport, options);
  await connection.start();
  return connection;
}

class ServerConnection implements Connection {
  readonly #registry: Registry;
  readonly #transport: Transport;
  readonly #options: ServeTransportOptions<unknown>;
  readonly #limits: Limits;
  /** The requests being served, by id, for cancellations. */
  readonly #inFlight = new Map<RequestId, AbortController>();
  readonly #work = new Set<Promise<void>>();
  /**
   * The number of characters that the transport has not accepted yet. It is limited, so that a peer that stops reading
   * cannot fill memory.
   */
  #queuedChars = 0;
  /** Notifications for a slow peer, which are sent when it has caught up: at most one for each kind and resource. */
  readonly #late = new Set<string>();
  #isClosed = false;
  readonly #questions = new PendingQuestions();
  readonly #roots = new RootsListener();
  readonly #once: Once;
  readonly #notifications: ConnectionNotifications;
  /** The client from the handshake. Modern requests never read it. */
  #client: ClientFacts | undefined;

  constructor(registry: Registry, transport: Transport, options: ServeTransportOptions<unknown>) {
    this.#registry = registry;
    this.#transport = transport;
    this.#options = options;
    this.#limits = resolveLimits(options.limits, "serveTransport(): limits.");
    this.#once = onceWith(options.outcomes ?? outcomesInMemory(), crypto.randomUUID());
    this.#notifications = new ConnectionNotifications(registry, {
      send: (notification) => this.#emit(notification),
      env: options.env,
      onError: options.onError,
      limits: this.#limits,
    });
  }

  start(): Promise<void> {
    const transport = this.#transport;
    transport.limits = this.#limits;
    transport.onmessage = (message) => this.#track(this.#receive(message));
    transport.onunreadable = (problem) => this.#track(this.#refuse(problem));
    transport.onclose = () => {
      this.#isClosed = true;
      this.#abortAll();
    };
    transport.onerror = (error) => this.#reportTransport(error);
    return transport.start();
  }

  async idle(): Promise<void> {
    this.#notifications.end();
    this.#questions.interrupt();
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
  }

  async close(): Promise<void> {
    this.#abortAll();
    await this.#transport.close();
  }

  #abortAll(): void {
    this.#notifications.end();
    for (const controller of this.#inFlight.values()) {
      controller.abort(new KitError("transport-closed", "The connection was closed."));
    }
    // Questions of onRootsChanged do not belong to a request.
    this.#questions.interrupt();
  }

  #track(work: Promise<void>, message?: JSONRPCNotification | JSONRPCRequest): void {
    const tracked = work
      .catch((error: unknown) => this.#reportTransport(error, message))
      .finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }

  async #receive(value: unknown): Promise<void> {
    if (Array.isArray(value)) return this.#receiveBatch(value);
    const text = await this.#answer(value);
    if (text !== undefined) await this.#sendText(text);
  }

  /** Responds to a batch with one array. @see MCP 2025-03-26, basic, "Batching" */
  async #receiveBatch(members: readonly unknown[]): Promise<void> {
    const problem = this.#refuseBatch(members);
    if (problem) return this.#sendText(encodeInvalid(undefined, problem));
    const answers = await Promise.all(members.map((member) => this.#answer(member)));
    const texts = answers.filter((text) => text !== undefined);
    if (texts.length > 0) await this.#sendText(`[${texts.join(",")}]`);
  }

  /** Responds to a message that could not be read. If it is the answer to a question, the question fails. */
  async #refuse({ reason, message, id, method }: UnreadableMessage): Promise<void> {
    const code = reason === "not-json" ? ErrorCode.ParseError : ErrorCode.InvalidRequest;
    const error = { code, message, data: { reason } };
    if (id !== undefined && method === undefined) this.#questions.settle({ jsonrpc: "2.0", id, error });
    else await this.#sendText(encodeError(id, error));
  }

  #refuseBatch(members: readonly unknown[]): string | undefined {
    const rules = this.#client?.rules;
    if (!rules?.batch) return "this protocol version does not support batches; send each message separately";
    if (members.length === 0) return "a batch must not be empty";
    if (members.length > this.#limits.batchMax) return `a batch must have at most ${this.#limits.batchMax} messages`;
    return undefined;
  }

  /** Returns the JSON text of the response, or undefined if there is no response. */
  async #answer(value: unknown): Promise<string | undefined> {
    const parsed = parseMessage(value);
    switch (parsed.kind) {
      case "request":
        return this.#serveRequest(parsed.message);
      case "notification":
        return this.#takeNotification(parsed.message);
      case "response":
        this.#questions.settle(parsed.message);
        return undefined;
      case "invalid":
        return parsed.isNotification ? undefined : encodeInvalid(parsed.id, parsed.problem);
    }
  }

  #takeNotification(message: JSONRPCNotification): undefined {
    this.#takeCustomNotification(message);
    if (message.method === "notifications/initialized" && this.#client) this.#notifications.start(this.#client);
    const client = this.#client;
    // The questions of the handler do not belong to a request; they are rejected when the connection ends.
    if (client) this.#roots.take(this.#registry, message, () => this.#call(message, client, new AbortController()));
    if (message.method !== "notifications/cancelled") return;
    const id = message.params?.requestId as RequestId;
    this.#inFlight.get(id)?.abort(new CancelledError(message.params?.reason));
  }

  #takeCustomNotification(message: JSONRPCNotification): void {
    const { env, onError } = this.#options;
    const client = findSender(message, this.#registry.versions, this.#client);
    const common = { env, principal: undefined, execution: this.#execution };
    const context = { ...common, client, limits: this.#limits, onError };
    takeCustomNotification(this.#registry, message, context);
  }

  async #serveRequest(request: JSONRPCRequest): Promise<string | undefined> {
    if (this.#inFlight.has(request.id)) {
      return encodeInvalid(request.id, `a request with id ${quote(String(request.id))} is still being served`);
    }
    const { onError } = this.#options;
    const controller = new AbortController();
    this.#inFlight.set(request.id, controller);
    try {
      const client = this.#clientFor(request);
      if (request.method === "resources/subscribe" && client.era === "legacy") this.#notifications.start(client);
      const registry = await this.#registry.forCaller({ env: this.#options.env, principal: undefined }, onError);
      const answer = await dispatch({ ...this.#call(request, client, controller), registry, request });
      // A hook refused the handshake, so the client may try again.
      if (request.method === "initialize" && answer.errorCode !== undefined && client === this.#client)
        this.#client = undefined;
      // A cancelled request gets no response. The specification does not allow cancelling initialize.
      return CancelledError.is(controller.signal.reason) && request.method !== "initialize" ? undefined : answer.text;
    } catch (error) {
      const known = McpError.is(error)
        ? error
        : redact(error, { registry: this.#registry, request, ending: controller, onError });
      return encodeError(request.id, toErrorObject(known));
    } finally {
      this.#inFlight.delete(request.id);
    }
  }

  /** @throws {McpError} if the request's version is not served, or if it repeats the handshake. */
  #clientFor(request: JSONRPCRequest): ClientFacts {
    const { versions } = this.#registry;
    if (hasEnvelope(request.params)) return toClient(readEnvelope(request.params), versions);
    if (request.method === "initialize") return this.#introduce(request);
    const newest = versions.legacy[0];
    // Without legacy versions, this is a modern request that lacks required fields. The error names them.
    if (!newest) return toClient(readEnvelope(request.params), versions);
    return this.#client ?? new ClientFacts(newest, {});
  }

  #introduce(request: JSONRPCRequest): ClientFacts {
    if (this.#client) {
      throw new McpError(ErrorCode.InvalidRequest, "initialize was already answered on this connection.", {
        reason: "initialized",
      });
    }
    const keeps = { logLevel: true, notifications: true };
    // Set synchronously, because requests that are piped in after the handshake do not wait for its result.
    this.#client = negotiate(this.#registry, request, keeps).client;
    return this.#client;
  }

  #call(request: JSONRPCRequest | JSONRPCNotification, client: ClientFacts, ending: Ending) {
    const { onError, env } = this.#options;
    const emit = (message: JSONRPCNotification | JSONRPCRequest) => this.#emit(message);
    const asker = new ClientAsker(this.#questions, { client, emit, limits: this.#limits });
    const stateKeys = () => this.#stateKeys();
    const common = {
      client,
      env,
      principal: undefined,
      execution: this.#execution,
      limits: this.#limits,
      ending,
      emit,
      onError,
      stateKeys,
      once: this.#once,
      replay: replayRounds,
      methods: this.#notifications.methods(client.era),
      awaitElicitations: (ids: readonly string[]) => this.#notifications.await(ids),
    };
    if (client.era === "modern")
      return { ...common, asker: unavailableAsker(ASK_BY_RETURNING), logLevel: readLogLevel(request) };
    const setLogLevel = (level: LoggingLevel) => {
      this.#notifications.logLevel = level;
    };
    return { ...common, asker, logLevel: this.#notifications.logLevel, setLogLevel };
  }

  #emit(message: JSONRPCNotification | JSONRPCRequest): void {
    this.#notifications.watch(message);
    this.#track(this.#sendMessage(message), message);
  }

  /** Returns keys that are created for this connection, because a state need not outlive the process. */
  #stateKeys(): Promise<KeyRing> {
    this.#ring ??= KeyRing.ephemeral("request state");
    return this.#ring;
  }

  #ring: Promise<KeyRing> | undefined;

  /** Makes `idle` wait for the work of hooks as well. */
  readonly #execution: Execution = { waitUntil: (work) => this.#track(work.then(() => undefined)) };

  async #sendMessage(message: JSONRPCNotification | JSONRPCRequest): Promise<void> {
    const text = JSON.stringify(message);
    const isFull = this.#queuedChars + text.length > this.#limits.streamBufferBytesMax;
    if (isFull && isNews(message)) return;
    if ((isFull || this.#late.size > 0) && isChange(message)) {
      this.#late.add(text);
      this.#sendLate();
    } else await this.#sendQueued(text);
  }

  async #sendQueued(text: string): Promise<void> {
    this.#queuedChars += text.length;
    try {
      await this.#sendText(text);
    } finally {
      this.#queuedChars -= text.length;
      this.#sendLate();
    }
  }

  #sendLate(): void {
    for (const text of this.#late) {
      if (this.#queuedChars > 0 && this.#queuedChars + text.length > this.#limits.streamBufferBytesMax) return;
      this.#late.delete(text);
      this.#track(this.#sendQueued(text));
    }
  }

  /** Sends JSON text. Async, so that a synchronous exception of the transport becomes a rejection. */
  async #sendText(text: string): Promise<void> {
    const { sendText } = this.#transport;
    if (sendText) return sendText.call(this.#transport, text);
    return this.#transport.send(JSON.parse(text) as JSONRPCMessage);
  }

  /** @param message The message that could not be sent, unless it was a response. */
  #reportTransport(error: unknown, message?: JSONRPCNotification | JSONRPCRequest): void {
    // A message that cannot be sent because the connection is closed is not a failure.
    if (this.#isClosed) return;
    this.#registry.report(error, describeNotification(message ?? { method: "(transport)" }), this.#options.onError);
  }
}

/** Whether a message may be dropped if the peer reads slowly: progress and log messages. */
function isNews({ method }: JSONRPCNotification | JSONRPCRequest): boolean {
  return method === "notifications/progress" || method === "notifications/message";
}

function encodeInvalid(id: RequestId | undefined, problem: string): string {
  return encodeError(id, { code: ErrorCode.InvalidRequest, message: `Invalid request: ${problem}.` });
}
