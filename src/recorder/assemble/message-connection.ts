/**
 * Records the messages of a connection without HTTP, such as stdio. Each message of the client is an entry.
 *
 * @module
 */
import { isObject, type JsonObject, parseMessage, type RequestId } from "../../core/protocol/jsonrpc.ts";
import type { Recorder } from "../recorder.ts";
import type { ConnectionFacts } from "./wire.ts";
import type { WireExchange } from "./wire-exchange.ts";

/** A request that has not been answered yet. */
interface Running {
  readonly exchange: WireExchange;
  readonly progressToken: unknown;
}

/** The maximum number of pending requests. The oldest are assumed to be lost. */
const RUNNING_MAX = 10_000;

export class MessageConnection {
  readonly #recorder: Recorder;
  readonly #running = new Map<RequestId, Running>();
  /** The entry for messages that the server sends outside of any request. */
  #stream: WireExchange | undefined;
  #known: ConnectionFacts = {};

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
  }

  /** Records a message of the client, or a batch. @param characters The size of its JSON. */
  fromClient(json: unknown, atMs: number, characters: number): void {
    const messages: readonly unknown[] = Array.isArray(json) ? json : [json];
    for (const message of messages) this.#takeOfClient(message, atMs, characters / messages.length);
  }

  /** Records a message of the server, or a batch. */
  fromServer(json: unknown, atMs: number, characters: number): void {
    const messages: readonly unknown[] = Array.isArray(json) ? json : [json];
    for (const message of messages) this.#takeOfServer(message, atMs, characters / messages.length);
  }

  /** Ends all entries of the connection. */
  end(how: "cut-by-client" | "cut-by-server", atMs: number): void {
    for (const { exchange } of this.#running.values()) exchange.cut(how, atMs);
    this.#running.clear();
    this.#stream?.complete(atMs);
    this.#stream = undefined;
  }

  #takeOfClient(message: unknown, atMs: number, characters: number): void {
    const exchange = this.#recorder.begin({
      atMs,
      method: "POST",
      path: "",
      headers: [],
      isHttp: false,
      known: this.#known,
    });
    exchange.requestBody({ json: message, characters });
    const parsed = parseMessage(message);
    if (parsed.kind !== "request") {
      exchange.response(200, []);
      exchange.complete(atMs);
      return;
    }
    const { params } = parsed.message;
    const meta = isObject(params?._meta) ? params._meta : {};
    this.#running.set(parsed.message.id, { exchange, progressToken: meta.progressToken });
    const [oldest] = this.#running.keys();
    if (this.#running.size > RUNNING_MAX && oldest !== undefined) this.#running.delete(oldest);
  }

  #takeOfServer(message: unknown, atMs: number, characters: number): void {
    const parsed = parseMessage(message);
    const answered =
      parsed.kind === "response" && parsed.message.id !== undefined ? this.#running.get(parsed.message.id) : undefined;
    const exchange = answered?.exchange ?? this.#exchangeOf(message, atMs);
    exchange.message(message, atMs, characters);
    if (!answered || parsed.kind !== "response" || parsed.message.id === undefined) return;
    this.#running.delete(parsed.message.id);
    exchange.response(200, []);
    exchange.complete(atMs);
    const { client, version, era, method } = exchange.entry.facts;
    if (method !== "initialize") return;
    this.#known = {
      ...(client ? { client } : {}),
      ...(version === undefined ? {} : { version }),
      ...(era ? { era } : {}),
    };
  }

  /** Finds the request of a server message: by its progress token, or for a question, the newest. The default is the stream. */
  #exchangeOf(message: unknown, atMs: number): WireExchange {
    const token = isObject(message) ? readToken(message) : undefined;
    const running = [...this.#running.values()];
    const named = token === undefined ? undefined : running.find(({ progressToken }) => progressToken === token);
    const isQuestion = isObject(message) && "method" in message && "id" in message;
    const found = named ?? (isQuestion ? running.at(-1) : undefined);
    if (found) return found.exchange;
    this.#stream ??= this.#openStream(atMs);
    return this.#stream;
  }

  #openStream(atMs: number): WireExchange {
    const exchange = this.#recorder.begin({
      atMs,
      method: "GET",
      path: "",
      headers: [],
      isHttp: false,
      known: this.#known,
    });
    exchange.entry.kind = "stream";
    exchange.response(200, []);
    return exchange;
  }
}

function readToken({ method, params }: JsonObject): unknown {
  return method === "notifications/progress" && isObject(params) ? params.progressToken : undefined;
}
