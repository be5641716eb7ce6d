import type { JSONRPCMessage, Transport } from "../core/index.ts";

/** One end of a channel in memory. */
class End implements Transport {
  peer: End | undefined;
  onmessage: ((message: JSONRPCMessage) => void) | undefined;
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  #isClosed = false;

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw new Error("closed");
    // As text, so that neither side sees the other's objects and what has no JSON does not travel.
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
 * Two ends of a channel in memory: hand one to `connect`, talk through the other. What one sends the other gets, in
 * order, in a later turn, as a copy made through JSON. Closing one closes both.
 */
export function createPair(): [Transport, Transport] {
  const [one, other] = [new End(), new End()];
  one.peer = other;
  other.peer = one;
  return [one, other];
}
