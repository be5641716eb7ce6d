/**
 * A host on a channel that all messages share: answers are sent on it, and requests are cancelled by a notification.
 *
 * @module
 */
import { DEPTH_MAX } from "../../client/transports/received.ts";
import {
  ErrorCode,
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
 * The largest message of the host, in bytes: as large as the client's `messageBytesMax` allows those of the server to
 * be.
 */
const MESSAGE_BYTES_MAX = 32 * 1024 * 1024;

/** Returns a function that opens connections, which read what their server sends only while the gate is open. */
export type OpenHeld = (gate: Gate) => ConnectToServer;

export class HostConnection {
  readonly #relay: Relay;
  readonly #output: HostOutput;
  readonly #note: (text: string) => void;
  readonly #serving = new Map<RequestId, AbortController>();
  /** The requests that are answered before the end. */
  readonly #awaited = new Set<JSONRPCRequest>();
  #wake = () => {};

  /** @param stdio The channel, which is started afterwards. @param note Receives lines for the user. */
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
   * Resolves when no request is left, except listens, which do not end by themselves. Requests that were piped in by
   * hand are answered before the end.
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

  /** Takes a message of the host, or a batch of them (2025-03-26). */
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

  /** Answers a message that cannot be read. If it is the answer to a question, the question has failed. */
  #refuse({ reason, message, id, method }: UnreadableMessage): void {
    this.#note(message);
    const code = reason === "not-json" ? ErrorCode.ParseError : ErrorCode.InvalidRequest;
    if (id !== undefined && method === undefined) this.#relay.answer({ jsonrpc: "2.0", id, error: { code, message } });
    else this.#answerInvalid(id, message, code);
  }

  #answerInvalid(id: RequestId | undefined, message: string, code: number = ErrorCode.InvalidRequest): void {
    this.#output.answer({ jsonrpc: "2.0", ...(id === undefined ? {} : { id }), error: { code, message } });
  }

  async #relayRequest(request: JSONRPCRequest): Promise<void> {
    const abort = new AbortController();
    this.#serving.set(request.id, abort);
    if (request.method !== "subscriptions/listen") this.#awaited.add(request);
    const answer = await this.#relay.handleRequest(request, this.#output, abort.signal);
    this.#serving.delete(request.id);
    this.#awaited.delete(request);
    if (answer) this.#output.answer(answer);
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
