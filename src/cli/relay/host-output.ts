/**
 * The messages to a host over stdio. A host may read slowly, or not at all, so what waits for it is bounded: first progress
 * and log messages are dropped and changes are told later, then nothing more is read from the server, and at last nothing from the
 * host itself.
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
 * The characters that may wait for the host before progress and log messages are dropped, and the characters of the changes that are
 * told later.
 */
const NEWS_CHARS_MAX = DEFAULT_LIMITS.streamBufferBytesMax;
/** The characters that may wait for the host before nothing more is read from the server. */
const SERVER_CHARS_MAX = 4 * NEWS_CHARS_MAX;
/**
 * The characters that may wait for the host before nothing more is read from it. There are so many because a host may
 * first write everything and then read.
 */
const HOST_CHARS_MAX = 64 * NEWS_CHARS_MAX;

/** The part of a stdio transport that is needed. */
export interface HostChannel {
  sendText(text: string): Promise<void>;
  pause(): void;
  resume(): void;
}

export class HostOutput implements Sink, Gate {
  readonly #channel: HostChannel;
  /** The characters that the operating system has not taken yet. */
  #waitingChars = 0;
  #isHostHeld = false;
  #opened: PromiseWithResolvers<void> | undefined;
  /** Changes that are told when the host has caught up, each once. */
  readonly #late = new Set<string>();
  #lateChars = 0;

  constructor(channel: HostChannel) {
    this.#channel = channel;
  }

  /** Sends a message outside of answers. While the host is behind, news are dropped, and equal changes are told once. */
  send(message: JSONRPCNotification | JSONRPCRequest): void {
    const text = JSON.stringify(message);
    const isBehind = this.#waitingChars + text.length > NEWS_CHARS_MAX;
    if (isBehind && isNews(message)) return;
    if (!isBehind || !isChange(message) || !this.#delay(text)) this.#write(text);
  }

  /** Returns whether a change is told later. */
  #delay(text: string): boolean {
    if (this.#late.has(text)) return true;
    if (this.#lateChars + text.length > NEWS_CHARS_MAX) return false;
    this.#late.add(text);
    this.#lateChars += text.length;
    return true;
  }

  /** Sends an answer. */
  answer(answer: JSONRPCResponse): void {
    this.#write(encodeResponse(answer));
  }

  opened(): Promise<void> | undefined {
    if (this.#waitingChars <= SERVER_CHARS_MAX) return undefined;
    this.#opened ??= Promise.withResolvers();
    return this.#opened.promise;
  }

  #write(text: string): void {
    this.#waitingChars += text.length;
    if (this.#waitingChars > HOST_CHARS_MAX) this.#holdHost(true);
    // A host that has closed the channel gets nothing more, and nothing waits for it.
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

/** Returns a function that writes lines for the user, and drops them while more than 1 MiB waits on a stream that nobody reads. */
export function whileRead(stream: Pick<Writable, "writableLength">, write: (text: string) => void) {
  return (text: string): void => {
    if (stream.writableLength <= NEWS_CHARS_MAX) write(text);
  };
}

/** Nothing depends on progress and log messages. */
function isNews({ method }: JSONRPCNotification | JSONRPCRequest): boolean {
  return method === "notifications/progress" || method === "notifications/message";
}
