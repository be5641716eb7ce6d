/**
 * The messages to a host over stdio. A host may read slowly or not at all, so the number of characters that wait for it is bounded.
 * At the first threshold, progress and log messages are dropped, and change notifications are delayed. At the second, reading from
 * the server stops. At the third, reading from the host stops as well.
 *
 * @module
 */
import type { Writable } from "node:stream";
import { isChange } from "../../core/protocol/change-notifications.ts";
import type { JSONRPCNotification, JSONRPCRequest } from "../../core/protocol/jsonrpc.ts";
import { DEFAULT_LIMITS } from "../../core/protocol/limits.ts";
import type { Gate } from "./back-pressure.ts";
import { encodeResponse, type JSONRPCResponse, type Sink } from "./messages.ts";

/**
 * The number of characters that may wait before progress and log messages are dropped; also the maximum number of characters of
 * delayed change notifications.
 */
const NEWS_CHARS_MAX = DEFAULT_LIMITS.streamBufferBytesMax;
/** The number of characters that may wait before reading from the server stops. */
const SERVER_CHARS_MAX = 4 * NEWS_CHARS_MAX;
/**
 * The number of characters that may wait before reading from the host stops. It is large because a host may write all its requests
 * before it reads.
 */
const HOST_CHARS_MAX = 64 * NEWS_CHARS_MAX;

/** The part of a stdio transport that {@link HostOutput} uses. */
export interface HostChannel {
  sendText(text: string): Promise<void>;
  pause(): void;
  resume(): void;
}

export class HostOutput implements Sink, Gate {
  readonly #channel: HostChannel;
  /** The number of characters that the operating system has not accepted yet. */
  #waitingChars = 0;
  #isHostHeld = false;
  #opened: PromiseWithResolvers<void> | undefined;
  /** Change notifications to send once the host has caught up, without duplicates. */
  readonly #late = new Set<string>();
  #lateChars = 0;

  constructor(channel: HostChannel) {
    this.#channel = channel;
  }

  /** Sends a request or notification. While the host is behind, progress and log messages are dropped, and equal changes merged. */
  send(message: JSONRPCNotification | JSONRPCRequest): void {
    const text = JSON.stringify(message);
    const isBehind = this.#waitingChars + text.length > NEWS_CHARS_MAX;
    if (isBehind && isNews(message)) return;
    if (!isBehind || !isChange(message) || !this.#delay(text)) this.#write(text);
  }

  /** Delays a change notification. Returns false if there is no room for it. */
  #delay(text: string): boolean {
    if (this.#late.has(text)) return true;
    if (this.#lateChars + text.length > NEWS_CHARS_MAX) return false;
    this.#late.add(text);
    this.#lateChars += text.length;
    return true;
  }

  /** Sends a response. */
  respond(response: JSONRPCResponse): void {
    this.#write(encodeResponse(response));
  }

  opened(): Promise<void> | undefined {
    if (this.#waitingChars <= SERVER_CHARS_MAX) return undefined;
    this.#opened ??= Promise.withResolvers();
    return this.#opened.promise;
  }

  #write(text: string): void {
    this.#waitingChars += text.length;
    if (this.#waitingChars > HOST_CHARS_MAX) this.#holdHost(true);
    // If the host has closed the channel, the text is discarded and no longer counts as waiting.
    this.#channel.sendText(text).then(
      () => this.#written(text),
      () => this.#written(text),
    );
  }

  #holdHost(isHeld: boolean): void {
    if (isHeld === this.#isHostHeld) return;
    this.#isHostHeld = isHeld;
    if (isHeld) this.#channel.pause();
    else this.#channel.resume();
  }

  #written({ length }: string): void {
    this.#waitingChars -= length;
    if (this.#waitingChars <= HOST_CHARS_MAX) this.#holdHost(false);
    if (this.#waitingChars > SERVER_CHARS_MAX) return;
    this.#opened?.resolve();
    this.#opened = undefined;
    if (this.#waitingChars > 0) return;
    const late = [...this.#late];
    this.#late.clear();
    this.#lateChars = 0;
    for (const each of late) this.#write(each);
  }
}

/** Returns a function that writes lines for the user. It drops them while more than 1 MiB waits on a stream that no one reads. */
export function whileRead(stream: Pick<Writable, "writableLength">, write: (text: string) => void) {
  return (text: string): void => {
    if (stream.writableLength <= NEWS_CHARS_MAX) write(text);
  };
}

/** Whether a message is progress or a log message, which can be dropped safely. */
function isNews({ method }: JSONRPCNotification | JSONRPCRequest): boolean {
  return method === "notifications/progress" || method === "notifications/message";
}
