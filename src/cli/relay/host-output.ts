/**
 * What the bridge writes to its host. A host that stops reading must not fill the memory: then progress and log messages are dropped,
 * changes are told once it reads again, and nothing more is read from the server and from the host until it does.
 *
 * @module
 */
import type { FetchFunction } from "../../client/index.ts";
import { ErrorCode, type JSONRPCMessage, type JSONRPCNotification } from "../../core/protocol/jsonrpc.ts";

/** Characters that wait for the host: more delays notifications, and still more stops the reading. */
const [DELAYED_FROM, STOPPED_FROM] = [1024 * 1024, 8 * 1024 * 1024];
/** The most different notifications that are told later. */
const LATER_MAX = 1_000;
/** Notifications without which the host still gets every result. */
const DROPPED: readonly string[] = ["notifications/progress", "notifications/message"];

export interface HostChannel {
  /** Writes a line. Resolves when the operating system has accepted it. */
  sendText(text: string): Promise<void>;
}

export class HostOutput {
  readonly #channel: HostChannel;
  readonly #note: (text: string) => void;
  /** Called when the reading from the host is to stop, and to go on. */
  readonly #pauseInput: (isPaused: boolean) => void;
  #waiting = 0;
  /** Notifications that are told when the host reads again. */
  readonly #later = new Set<string>();
  #wakes: (() => void)[] = [];
  #hasNoted = false;

  constructor(channel: HostChannel, note: (text: string) => void, pauseInput: (isPaused: boolean) => void) {
    this.#channel = channel;
    this.#note = note;
    this.#pauseInput = pauseInput;
  }

  /** Sends a message. Never throws: an answer that cannot be sent becomes an error with the same id. */
  send(message: JSONRPCMessage): void {
    const text = this.#textOf(message);
    if (text === undefined) return;
    if (this.#waiting > DELAYED_FROM && "method" in message && !("id" in message)) this.#delay(message, text);
    else this.#write(text);
  }

  #textOf(message: JSONRPCMessage): string | undefined {
    try {
      return JSON.stringify(message);
    } catch (error) {
      this.#note(`a message could not be sent: ${error}`);
      if (!("id" in message) || "method" in message) return undefined;
      const failure = { code: ErrorCode.InternalError, message: "The answer of the server could not be passed on." };
      return JSON.stringify({ jsonrpc: "2.0", id: message.id, error: failure });
    }
  }

  /** Resolves when the host has read enough for more messages of the server. */
  async ready(): Promise<void> {
    while (this.#waiting > STOPPED_FROM) await new Promise<void>((resolve) => this.#wakes.push(resolve));
  }

  /** Returns a `fetch` whose responses are not read while the host does not read. */
  throttle(fetch: FetchFunction): FetchFunction {
    return async (url, init) => {
      const response = await fetch(url, init);
      if (!response.body || response.status < 200 || response.status > 599) return response;
      const { status, statusText, headers } = response;
      const slow = new TransformStream<Uint8Array, Uint8Array>({
        transform: async (chunk, controller) => {
          await this.ready();
          controller.enqueue(chunk);
        },
      });
      const copy = new Response(response.body.pipeThrough(slow), { status, statusText, headers });
      return Object.defineProperty(copy, "url", { value: response.url });
    };
  }

  #delay({ method }: JSONRPCNotification, text: string): void {
    if (!this.#hasNoted) this.#note("the host does not read, so progress and log messages are dropped");
    this.#hasNoted = true;
    if (!DROPPED.includes(method) && this.#later.size < LATER_MAX) this.#later.add(text);
  }

  #write(text: string): void {
    const before = this.#waiting;
    this.#waiting += text.length;
    if (before <= STOPPED_FROM && this.#waiting > STOPPED_FROM) this.#pauseInput(true);
    const written = () => this.#onWritten(text.length);
    this.#channel.sendText(text).then(written, written);
  }

  #onWritten(length: number): void {
    const before = this.#waiting;
    this.#waiting -= length;
    if (before > STOPPED_FROM && this.#waiting <= STOPPED_FROM) {
      this.#pauseInput(false);
      for (const wake of this.#wakes.splice(0)) wake();
    }
    if (this.#waiting > DELAYED_FROM || this.#later.size === 0) return;
    this.#hasNoted = false;
    const later = [...this.#later];
    this.#later.clear();
    for (const each of later) this.#write(each);
  }
}
