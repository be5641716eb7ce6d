import type { JSONRPCMessage } from "../core/protocol/jsonrpc.ts";
import type { Limits } from "../core/protocol/limits.ts";
import type { Transport, UnreadableMessage } from "../core/protocol/transport.ts";
import { MessageLog } from "../core/serve/message-log.ts";

/** A transport that logs each message that it carries. */
export class DebugTransport implements Transport {
  onmessage: ((message: JSONRPCMessage) => void) | undefined;
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onunreadable: ((problem: UnreadableMessage) => void) | undefined;
  limits: Limits | undefined;
  readonly #inner: Transport;
  readonly #log: MessageLog;

  /** @param write Receives a line of JSON for each message. Its exceptions are ignored. */
  constructor(inner: Transport, write: (line: string) => void) {
    this.#inner = inner;
    this.#log = new MessageLog(write, () => undefined);
  }

  start(): Promise<void> {
    const inner = this.#inner;
    inner.limits = this.limits;
    inner.onmessage = (message) => {
      this.#log.add("in", message, lengthOf(message));
      this.onmessage?.(message);
    };
    inner.onunreadable = (problem) => {
      this.#log.add("in", undefined);
      this.onunreadable?.(problem);
    };
    inner.onclose = () => this.onclose?.();
    inner.onerror = (error) => this.onerror?.(error);
    return inner.start();
  }

  send(message: JSONRPCMessage): Promise<void> {
    this.#log.add("out", message, lengthOf(message));
    return this.#inner.send(message);
  }

  sendText(text: string): Promise<void> {
    const message = JSON.parse(text) as JSONRPCMessage;
    this.#log.add("out", message, text.length);
    return this.#inner.sendText?.(text) ?? this.#inner.send(message);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

/** Returns the length of a message as JSON. Undefined if it cannot be encoded, which the transport reports. */
function lengthOf(message: JSONRPCMessage): number | undefined {
  try {
    return JSON.stringify(message).length;
  } catch {
    return undefined;
  }
}
