/**
 * Questions of the server to a legacy host. They are sent as requests on the stream of the call that they belong to.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { McpError } from "../../core/protocol/errors.ts";
import type { JSONRPCRequest, JsonObject } from "../../core/protocol/jsonrpc.ts";
import { type JSONRPCResponse, notification, type Sink } from "./messages.ts";

/** The request of the host that a question or a notification belongs to. */
export interface Origin {
  readonly request: JSONRPCRequest;
  readonly sink: Sink;
  readonly signal: AbortSignal;
}

interface SentQuestion {
  resolve(result: JsonObject): void;
  reject(error: unknown): void;
}

export class HostQuestions {
  readonly #general: Sink;
  readonly #open = new Map<unknown, SentQuestion>();
  /** The host's request that the current code belongs to. The client calls its handlers in the async context of their request. */
  readonly #origin = new AsyncLocalStorage<Origin>();
  readonly #serving = new Set<Origin>();
  #lastId = 0;

  constructor(general: Sink) {
    this.#general = general;
  }

  /** Runs a request of the host. Questions and notifications that arrive in its async context belong to it. */
  async during<T>(origin: Origin, run: () => Promise<T>): Promise<T> {
    this.#serving.add(origin);
    try {
      return await this.#origin.run(origin, run);
    } finally {
      this.#serving.delete(origin);
    }
  }

  /** Returns the request that a question of the server belongs to. Over stdio, it is known only while a single request is open. */
  asking(): Origin | undefined {
    const known = this.#origin.getStore();
    if (known && this.#serving.has(known)) return known;
    const [only, ...others] = this.#serving;
    return others.length === 0 ? only : undefined;
  }

  /** Asks the host a question. Resolves with its answer. */
  ask(method: string, params: JsonObject, signal: AbortSignal, sink = this.#general): Promise<JsonObject> {
    this.#lastId += 1;
    const id = `mcp-edge-${this.#lastId}`;
    return new Promise((resolve, reject) => {
      const withdraw = () => {
        this.#open.delete(id);
        sink.send(notification("notifications/cancelled", { requestId: id }));
        reject(signal.reason);
      };
      const settle = () => {
        this.#open.delete(id);
        signal.removeEventListener("abort", withdraw);
      };
      this.#open.set(id, {
        resolve: (result) => {
          settle();
          resolve(result);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
      signal.addEventListener("abort", withdraw, { once: true });
      try {
        sink.send({ jsonrpc: "2.0", id, method, ...(Object.keys(params).length === 0 ? {} : { params }) });
      } catch (error) {
        settle();
        reject(error);
      }
    });
  }

  /** Handles a response of the host. A response to a question that is not open is ignored. */
  answer(response: JSONRPCResponse): void {
    const open = this.#open.get(response.id);
    if (!open) return;
    if ("result" in response) open.resolve(response.result);
    else open.reject(new McpError(response.error.code, response.error.message, response.error.data));
  }

  close(reason: Error): void {
    for (const open of [...this.#open.values()]) open.reject(reason);
  }
}
