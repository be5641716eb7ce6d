import {
  isRequestId,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type ParsedMessage,
  type RequestId,
} from "../../core/protocol/jsonrpc.ts";
import type { SpokenVersion } from "../../core/protocol/spoken-versions.ts";
import type { Transport, UnreadableMessage } from "../../core/protocol/transport.ts";
import { ClientError, invalidAnswer, toText } from "../basics/errors.ts";
import type { JSONRPCResponse, Link, LinkReceiver, SendOptions } from "./link.ts";
import { readReceived } from "./received.ts";

interface Pending {
  readonly method: string;
  resolve(response: JSONRPCResponse): void;
  reject(error: Error): void;
}

/**
 * A link over a {@link Transport}. All messages share one channel, so responses are matched by their id, and a request is cancelled
 * with a notification.
 */
export class TransportLink implements Link {
  readonly transport: "http-sse" | "pipe";
  rules: SpokenVersion | undefined;
  readonly #channel: Transport;
  readonly #pending = new Map<RequestId, Pending>();
  #receiver: LinkReceiver | undefined;
  #isStarted = false;
  #isClosed = false;
  #lastError: Error | undefined;

  constructor(channel: Transport, transport: "http-sse" | "pipe" = "pipe") {
    this.#channel = channel;
    this.transport = transport;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  async start(receiver: LinkReceiver): Promise<void> {
    this.#receiver = receiver;
    const channel = this.#channel;
    channel.onmessage = (message) => this.#take(message);
    channel.onclose = () => this.#onClose();
    channel.onerror = (error) => {
      this.#lastError = error;
      // An error before the transport has started is thrown by start().
      if (this.#isStarted) receiver.report({ type: "warning", message: `The transport reports: ${error.message}` });
    };
    channel.onunreadable = (problem) => this.#refuse(problem);
    try {
      await channel.start();
      this.#isStarted = true;
    } catch (cause) {
      if (ClientError.is(cause)) throw cause;
      throw new ClientError("unreachable", `The transport could not be started: ${toText(cause)}`, { cause });
    }
  }

  async request(request: JSONRPCRequest, { signal }: SendOptions): Promise<JSONRPCResponse> {
    const { id, method } = request;
    signal.throwIfAborted();
    const response = new Promise<JSONRPCResponse>((resolve, reject) =>
      this.#pending.set(id, { method, resolve, reject }),
    );
    // If the channel closes, both this promise and the send can reject. Only one of the errors is thrown.
    response.catch(() => undefined);
    const onAbort = () => this.#cancel(request, signal.reason);
    signal.addEventListener("abort", onAbort);
    try {
      // Over HTTP+SSE, the JSON-RPC response can arrive before the HTTP response to the POST.
      return await Promise.race([response, this.#send(request, method).then(() => response)]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#pending.delete(id);
    }
  }

  async send(message: JSONRPCNotification | JSONRPCResponse): Promise<void> {
    await this.#send(message, "method" in message ? message.method : "a response");
  }

  listen(): void {
    // All messages arrive on the one channel, which is already open.
  }

  retire(): void {
    // There is no separate stream to close.
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#rejectAll("The client is closed.");
    await this.#channel.close();
  }

  async #send(message: JSONRPCMessage, what: string): Promise<void> {
    if (this.#isClosed) throw new ClientError("closed", `The connection is closed, so ${what} was not sent.`);
    try {
      await this.#channel.send(message);
    } catch (cause) {
      if (ClientError.is(cause)) throw cause;
      const text = `${what} could not be sent: ${toText(cause)}`;
      throw new ClientError(this.#isClosed ? "closed" : "unreachable", text, { cause, mayHaveRun: true });
    }
  }

  #cancel({ id, method }: JSONRPCRequest, reason: unknown): void {
    if (!this.#pending.delete(id)) return;
    // The specification forbids cancelling initialize.
    if (method === "initialize") return;
    const params = { requestId: id, reason: toText(reason) };
    // The caller no longer waits for the request, so a failure to cancel it has no effect.
    this.send({ jsonrpc: "2.0", method: "notifications/cancelled", params }).catch(() => undefined);
  }

  /** Handles a message that cannot be read. If it is the response to a request, the request fails. */
  #refuse({ reason, message, id, method }: UnreadableMessage): void {
    const pending = id !== undefined && method === undefined ? this.#pending.get(id) : undefined;
    if (!pending) this.#receiver?.report({ type: "warning", message });
    const code = reason === "too-large" ? "message-too-large" : "answer-invalid";
    pending?.reject(new ClientError(code, message, { mayHaveRun: true }));
  }

  #take(value: unknown): void {
    // Some servers of 2025-03-26 send batches.
    if (Array.isArray(value)) {
      for (const each of value) this.#take(each);
      return;
    }
    const parsed = readReceived(value);
    if (parsed.kind === "request" || parsed.kind === "notification") {
      this.#receiver?.message(parsed.message, undefined);
      return;
    }
    const id = parsed.kind === "response" ? parsed.message.id : parsed.id;
    const pending = isRequestId(id) ? this.#pending.get(id) : undefined;
    // A response with an unknown id belongs to a request that was cancelled.
    if (pending && parsed.kind === "response") pending.resolve(parsed.message);
    else if (pending && parsed.kind === "invalid") pending.reject(invalidAnswer(pending.method, parsed.problem));
    else if (id === undefined) this.#receiver?.report({ type: "warning", message: describeIgnored(parsed) });
  }

  #onClose(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#rejectAll("The connection has closed.");
    this.#receiver?.closed(this.#lastError);
  }

  #rejectAll(text: string): void {
    // For example the reason why the process ended.
    const cause = this.#lastError;
    for (const { method, reject } of this.#pending.values()) {
      const whole = [text, `${method} got no response.`, cause?.message].filter(Boolean).join(" ");
      reject(new ClientError("closed", whole, { mayHaveRun: true, cause }));
    }
    this.#pending.clear();
  }
}

function describeIgnored(parsed: ParsedMessage): string {
  const problem = parsed.kind === "invalid" ? parsed.problem : JSON.stringify(parsed.message);
  return `A message of the server was ignored: ${problem}.`;
}
