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
import type { Answer, Link, LinkReceiver, SendOptions } from "./link.ts";
import { readReceived } from "./received.ts";

interface Pending {
  readonly method: string;
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/**
 * A link over a {@link Transport}: one channel for all messages, so answers are matched by their id, and a request is
 * cancelled by a notification.
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
      // A failure to start is the error of start().
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

  async request(request: JSONRPCRequest, { signal }: SendOptions): Promise<Answer> {
    const { id, method } = request;
    signal.throwIfAborted();
    const answer = new Promise<Answer>((resolve, reject) => this.#pending.set(id, { method, resolve, reject }));
    // The send may fail after the channel has closed and has rejected the answer; only one of the errors is thrown.
    answer.catch(() => undefined);
    const onAbort = () => this.#cancel(request, signal.reason);
    signal.addEventListener("abort", onAbort);
    try {
      // Over HTTP+SSE, the answer may arrive before the response to the POST.
      return await Promise.race([answer, this.#send(request, method).then(() => answer)]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#pending.delete(id);
    }
  }

  async send(message: JSONRPCNotification | Answer): Promise<void> {
    await this.#send(message, "method" in message ? message.method : "an answer");
  }

  listen(): void {
    // Everything arrives on the one channel.
  }

  retire(): void {
    // There is no session that could be lost without the channel.
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
    // The specification forbids it for initialize, and a server that does not know a modern request would not expect it.
    if (method === "initialize") return;
    const params = { requestId: id, reason: toText(reason) };
    // The request is given up in any case, so a failure changes nothing.
    this.send({ jsonrpc: "2.0", method: "notifications/cancelled", params }).catch(() => undefined);
  }

  /** Takes a message that cannot be read. If it is the answer to a request, the request has failed. */
  #refuse({ reason, message, id, method }: UnreadableMessage): void {
    const pending = id !== undefined && method === undefined ? this.#pending.get(id) : undefined;
    if (!pending) this.#receiver?.report({ type: "warning", message });
    const code = reason === "too-large" ? "message-too-large" : "answer-invalid";
    pending?.reject(new ClientError(code, message, { mayHaveRun: true }));
  }

  #take(value: unknown): void {
    // Some servers of 2025-03-26 answer with batches.
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
    // An unknown id is the late answer to a request that was given up.
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
    // The reason why a process has ended, for example.
    const cause = this.#lastError;
    for (const { method, reject } of this.#pending.values()) {
      const whole = [text, `${method} was not answered.`, cause?.message].filter(Boolean).join(" ");
      reject(new ClientError("closed", whole, { mayHaveRun: true, cause }));
    }
    this.#pending.clear();
  }
}

function describeIgnored(parsed: ParsedMessage): string {
  const problem = parsed.kind === "invalid" ? parsed.problem : JSON.stringify(parsed.message);
  return `A message of the server was ignored: ${problem}.`;
}
