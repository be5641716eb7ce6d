/**
 * Two transports that are connected in memory.
 *
 * @module
 */
import { KitError } from "../protocol/errors.ts";
import { type JSONRPCMessage, parseMessage } from "../protocol/jsonrpc.ts";
import type { Transport } from "../protocol/transport.ts";

/** One end of the channel. */
class End implements Transport {
  onmessage: ((message: JSONRPCMessage) => void) | undefined;
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  peer: End | undefined;
  /** Messages that arrived before `start`. */
  #waiting: string[] | undefined = [];
  #isClosed = false;

  async start(): Promise<void> {
    if (this.#isClosed) throw this.#failed("transport-closed", "The transport is closed.");
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const text of waiting) this.#deliver(text);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw this.#failed("transport-closed", "The transport is closed.");
    const parsed = parseMessage(message);
    if (parsed.kind === "invalid") throw this.#failed("message-invalid", `Not a JSON-RPC message: ${parsed.problem}.`);
    // Sent as JSON text, so that the sides do not share objects, and values that JSON cannot express are dropped.
    this.peer?.take(JSON.stringify(message));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
    await this.peer?.close();
  }

  take(text: string): void {
    if (this.#waiting) this.#waiting.push(text);
    else this.#deliver(text);
  }

  #deliver(text: string): void {
    queueMicrotask(() => {
      if (!this.#isClosed) this.onmessage?.(JSON.parse(text) as JSONRPCMessage);
    });
  }

  #failed(code: "transport-closed" | "message-invalid", text: string): KitError {
    const error = new KitError(code, text);
    this.onerror?.(error);
    return error;
  }
}

/**
 * Creates the two ends of a channel in memory, for a client and a server in one process: pass one end to
 * `serveTransport` of `mcp-edge`, and the other end to `connect` of `mcp-edge/client`. Clients and servers of the
 * official SDK accept them as well.
 *
 * Messages arrive in order, asynchronously, as JSON copies. Messages that arrive before `start` wait for it. Closing
 * one end closes both.
 */
export function createTransportPair(): [Transport, Transport] {
  const [one, other] = [new End(), new End()];
  one.peer = other;
  other.peer = one;
  return [one, other];
}
