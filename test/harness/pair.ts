import type { JSONRPCMessage, Transport } from "../../src/core/index.ts";

/** One end of an in-memory channel. */
class End implements Transport {
  peer: End | undefined;
  onmessage: ((message: JSONRPCMessage) => void) | undefined;
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  #isClosed = false;

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw new Error("closed");
    // Sent as text, so that the sides share no objects and values without a JSON form are dropped.
    const text = JSON.stringify(message);
    queueMicrotask(() => this.peer?.onmessage?.(JSON.parse(text) as JSONRPCMessage));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
    await this.peer?.close();
  }
}

/**
 * Creates the two ends of an in-memory channel that passes on everything, so that a test can send messages which are not valid. A pair of
 * `createTransportPair` refuses them. Messages arrive in order, asynchronously, as JSON copies. Closing one end closes both.
 */
export function createPair(): [Transport, Transport] {
  const [one, other] = [new End(), new End()];
  one.peer = other;
  other.peer = one;
  return [one, other];
}
