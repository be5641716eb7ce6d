/**
 * The connection to a host over stdio, where all messages share one channel. A notification cancels a request.
 *
 * @module
 */
import { DEPTH_MAX } from "../../client/transports/received.ts";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import {
  type JSONRPCNotification,
  type JSONRPCRequest,
  parseMessage,
  type RequestId,
} from "../../core/protocol/jsonrpc.ts";
import { DEFAULT_LIMITS } from "../../core/protocol/limits.ts";
import type { UnreadableMessage } from "../../core/protocol/transport.ts";
import type { StdioServerTransport } from "../../node/index.ts";
import type { Gate } from "./back-pressure.ts";
import { HostOutput } from "./host-output.ts";
import { type ConnectToServer, Relay } from "./relay.ts";

/**
 * The maximum size of a message from the host, in bytes. It equals the client's default `messageBytesMax` for messages from the
 * server.
 */
const MESSAGE_BYTES_MAX = 32 * 1024 * 1024;

/** Returns a function that opens connections to the server. They read data only while the gate is open. */
export type OpenHeld = (gate: Gate) => ConnectToServer;

export class HostConnection {
  readonly #relay: Relay;
  readonly #output: HostOutput;
  readonly #note: (text: string) => void;
  readonly #serving = new Map<RequestId, AbortController>();
  /** The open requests that {@link HostConnection.idle} waits for. */
  readonly #awaited = new Set<JSONRPCRequest>();
  #wake = () => {};

  /** @param stdio The channel. The caller starts it afterwards. @param note Receives lines for the user. */
  constructor(stdio: StdioServerTransport, open: OpenHeld, note: (text: string) => void) {
    this.#output = new HostOutput(stdio);
    this.#relay = new Relay(open(this.#output), this.#output, note);
    this.#note = note;
    stdio.limits = {
      ...DEFAULT_LIMITS,
      bodyBytesMax: MESSAGE_BYTES_MAX,
      bodyValuesMax: MESSAGE_BYTES_MAX,
      bodyDepthMax: DEPTH_MAX,
    };
    stdio.onmessage = (message) => this.#receive(message);
    stdio.onunreadable = (problem) => this.#refuse(problem);
  }

  /**
   * Resolves when no request is open, except for `subscriptions/listen`, which does not end by itself. So requests that were piped in
   * by hand are answered before the program exits.
   */
  async idle(): Promise<void> {
    while (this.#awaited.size > 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Closes the connection to the server. */
  close(): Promise<void> {
    return this.#relay.close();
  }

  /** Handles a message of the host, or a batch of messages (2025-03-26). */
  #receive(value: unknown): void {
    if (Array.isArray(value)) {
      for (const each of value) this.#receive(each);
      return;
    }
    const parsed = parseMessage(value);
    if (parsed.kind === "request") void this.#relayRequest(parsed.message);
    else if (parsed.kind === "response") this.#relay.answer(parsed.message);
    else if (parsed.kind === "notification") this.#notification(parsed.message);
    else if (!parsed.isNotification) this.#answerInvalid(parsed.id, parsed.problem);
  }

  /** Sends an error for a message that cannot be read. If the message is the response to a question, the question fails instead. */
  #refuse({ reason, message, id, method }: UnreadableMessage): void {
    this.#note(message);
    const code = reason === "not-json" ? ErrorCode.ParseError : ErrorCode.InvalidRequest;
    if (id !== undefined && method === undefined) this.#relay.answer({ jsonrpc: "2.0", id, error: { code, message } });
    else this.#answerInvalid(id, message, code);
  }

  #answerInvalid(id: RequestId | undefined, message: string, code: number = ErrorCode.InvalidRequest): void {
    this.#output.respond({ jsonrpc: "2.0", ...(id === undefined ? {} : { id }), error: { code, message } });
  }

  async #relayRequest(request: JSONRPCRequest): Promise<void> {
    const abort = new AbortController();
    this.#serving.set(request.id, abort);
    if (request.method !== "subscriptions/listen") this.#awaited.add(request);
    const response = await this.#relay.handleRequest(request, this.#output, abort.signal);
    this.#serving.delete(request.id);
    this.#awaited.delete(request);
    if (response) this.#output.respond(response);
    this.#wake();
  }

  #notification(message: JSONRPCNotification): void {
    const { method, params = {} } = message;
    if (method === "notifications/cancelled") {
      this.#serving.get(params.requestId as RequestId)?.abort(new Error("The host cancelled the request."));
    }
    void this.#relay.notification(message);
  }
}
