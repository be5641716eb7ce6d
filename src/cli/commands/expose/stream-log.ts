/**
 * The streams of one legacy session, kept in memory, so that a client whose connection broke can continue them.
 *
 * Each response that becomes a stream has a number, and each of its events too; `3-0` is the beginning of stream 3. The log
 * ends with the session. When it is full, the oldest events are dropped: a client that asks for them is refused.
 *
 * @module
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */

import { isChange } from "../../../core/protocol/change-notifications.ts";
import type { JSONRPCNotification, JSONRPCRequest } from "../../../core/protocol/jsonrpc.ts";
import { type Disconnectable, EventStream } from "../../../http/event-stream.ts";
import { type PendingStream, type RespondOptions, type Run, toJson, untilStreaming } from "../../../http/respond.ts";
import type { HttpLimits } from "../../../http/response-times.ts";
import { encodeEvent, encodePriming } from "../../../http/sse.ts";

/** The characters that the events of one session may have, so that 32 sessions stay below 64 MiB. */
const CHARS_MAX = 1024 * 1024;
/** The characters for which an event counts beside its own. */
const OVERHEAD = 64;

const NEVER = new AbortController().signal;

export class StreamLog {
  readonly #limits: HttpLimits;
  readonly #onLeft: () => void;
  readonly #charsMax: number;
  readonly #streams = new Map<number, LoggedStream>();
  /** The stream of each event, oldest first. */
  readonly #order: LoggedStream[] = [];
  #chars = 0;
  #lastNumber = 0;
  #general: LoggedStream | undefined;

  /** @param onLeft Called when a client has disconnected from a stream. */
  constructor(limits: HttpLimits, onLeft: () => void, charsMax = CHARS_MAX) {
    this.#limits = limits;
    this.#onLeft = onLeft;
    this.#charsMax = charsMax;
  }

  /** Whether a client is connected to one of the streams. */
  get isConnected(): boolean {
    return [...this.#streams.values()].some((stream) => stream.isConnected);
  }

  /** Answers a POST with JSON, or with a stream that can be continued. @param primes Whether it begins with an event id. */
  async respond(run: Run, { form, limits }: RespondOptions, primes: boolean): Promise<Response> {
    const stream = this.#open();
    const running = run(
      (message) => {
        // A client that accepts only JSON receives nothing but the answer.
        if (form !== "json") stream.write(message);
      },
      { signal: NEVER },
    );
    const finished = await untilStreaming(running, stream, { form, limits });
    if (finished) {
      this.#streams.delete(stream.number);
      return toJson(finished);
    }
    void running.then(({ text }) => this.#end(stream, text));
    return stream.connect(undefined, primes);
  }

  /** Opens the stream for messages outside requests, in place of the one before. */
  listen(request: Disconnectable, primes: boolean): Response {
    if (this.#general) this.#end(this.#general);
    this.#general = this.#open();
    return this.#general.connect(request, primes);
  }

  /** Sends a message outside requests. Without a stream nobody can receive it; the client reads everything anew. */
  send(message: JSONRPCNotification | JSONRPCRequest): void {
    this.#general?.write(message);
  }

  /** Continues a stream after an event. Returns undefined if the log does not have what follows. */
  resume(lastEventId: string, request: Disconnectable): Response | undefined {
    const [, number, event] = /^(\d{1,9})-(\d{1,9})$/.exec(lastEventId) ?? [];
    const stream = this.#streams.get(Number(number));
    return stream?.has(Number(event)) ? stream.connect(request, false, Number(event)) : undefined;
  }

  /** Ends all streams. */
  close(): void {
    for (const stream of this.#streams.values()) stream.end();
  }

  #open(): LoggedStream {
    this.#lastNumber += 1;
    const onLogged = (chars: number) => this.#logged(stream, chars);
    const stream = new LoggedStream(this.#lastNumber, this.#limits, onLogged, this.#onLeft);
    this.#streams.set(stream.number, stream);
    return stream;
  }

  #end(stream: LoggedStream, answer?: string): void {
    stream.end(answer);
    if (stream.isForgotten) this.#streams.delete(stream.number);
  }

  #logged(stream: LoggedStream, chars: number): void {
    this.#order.push(stream);
    this.#chars += chars + OVERHEAD;
    while (this.#chars > this.#charsMax) {
      const oldest = this.#order.shift() as LoggedStream;
      this.#chars -= oldest.drop() + OVERHEAD;
      if (oldest.isForgotten) this.#streams.delete(oldest.number);
    }
  }
}

/** One stream: its events, and the connection on which the client reads it. */
class LoggedStream implements PendingStream {
  readonly number: number;
  readonly #limits: HttpLimits;
  readonly #onLogged: (chars: number) => void;
  readonly #onLeft: () => void;
  /** The frames that are kept. The first one has the number `#dropped` + 1. */
  readonly #frames: string[] = [];
  #dropped = 0;
  #isOver = false;
  #connection: EventStream | undefined;
  /** Characters that the client has not read yet, without those that the connection drops by itself when there are too many. */
  #waiting = 0;
  #announce = () => {};
  hasBegun = false;

  constructor(number: number, limits: HttpLimits, onLogged: (chars: number) => void, onLeft: () => void) {
    this.number = number;
    this.#limits = limits;
    this.#onLogged = onLogged;
    this.#onLeft = onLeft;
  }

  get begun(): Promise<void> {
    return new Promise((resolve) => {
      this.#announce = resolve;
    });
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /** Whether nothing is left to continue. */
  get isForgotten(): boolean {
    return this.#isOver && this.#frames.length === 0;
  }

  /** Whether everything after an event is kept. Event 0 is the beginning. */
  has(event: number): boolean {
    return event >= this.#dropped && event <= this.#dropped + this.#frames.length;
  }

  /** Sends a message. Progress may be left out for a client that is too far behind. */
  write(message: JSONRPCNotification | JSONRPCRequest): void {
    if (!this.#isOver) this.#append(JSON.stringify(message), !("id" in message || isChange(message)));
  }

  /** Ends the stream, after an answer if there is one. */
  end(answer?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (answer !== undefined) this.#append(answer, false);
    this.#disconnect();
  }

  #disconnect(): void {
    this.#connection?.end();
    this.#connection = undefined;
  }

  /** Returns a response with everything after an event. A client that connects again has lost the connection before. */
  connect(request: Disconnectable | undefined, primes: boolean, after = this.#dropped): Response {
    this.#connection?.end();
    const connection = new EventStream(this.#limits, request);
    if (primes) connection.write(encodePriming(`${this.number}-${after}`));
    const missed = this.#frames.slice(after - this.#dropped);
    for (const frame of missed) connection.write(frame);
    this.#waiting = missed.reduce((sum, frame) => sum + frame.length, 0);
    connection.onTaken = (bytes) => {
      if (this.#connection === connection) this.#waiting = Math.max(0, this.#waiting - bytes);
    };
    if (this.#isOver) connection.end();
    else this.#connection = connection;
    connection.signal.addEventListener("abort", () => {
      if (this.#connection !== connection) return;
      this.#connection = undefined;
      this.#onLeft();
    });
    return connection.respond();
  }

  #append(text: string, isDroppable: boolean): void {
    const frame = encodeEvent(text, `${this.number}-${this.#dropped + this.#frames.length + 1}`);
    this.#frames.push(frame);
    // A client that is too far behind can continue the stream, as long as the log has what follows.
    if (this.#waiting > this.#limits.streamBufferBytesMax && !this.#isOver && !isDroppable) this.#disconnect();
    this.#connection?.write(frame, isDroppable);
    if (!isDroppable) this.#waiting += frame.length;
    this.hasBegun = true;
    this.#announce();
    this.#onLogged(frame.length);
  }

  /** Drops the oldest event, and returns its number of characters. */
  drop(): number {
    this.#dropped += 1;
    return this.#frames.shift()?.length ?? 0;
  }
}
