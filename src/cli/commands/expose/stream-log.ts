/**
 * The streams of one legacy session, kept in memory so that a client can resume them after its connection broke.
 *
 * Each stream has a number, and so has each of its events: `3-2` is the second event of stream 3, and `3-0` its beginning. The log
 * is kept until the session ends. When it is full, the oldest events are dropped; a request to resume before them is refused.
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

/** The maximum number of characters of the events of one session, so that 32 sessions stay under 64 MiB. */
const CHARS_MAX = 1024 * 1024;
/** The number of characters added to the size of each event, for its bookkeeping. */
const OVERHEAD = 64;

const NEVER = new AbortController().signal;

export class StreamLog {
  readonly #limits: HttpLimits;
  readonly #onLeft: () => void;
  readonly #charsMax: number;
  readonly #streams = new Map<number, SessionStream>();
  /** The stream of each event, oldest first. */
  readonly #order: SessionStream[] = [];
  #chars = 0;
  #lastNumber = 0;
  #general: SessionStream | undefined;

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

  /** Responds to a POST with JSON, or with a stream that can be resumed. @param primes Whether the stream begins with an event id. */
  async respond(run: Run, { form, limits }: RespondOptions, primes: boolean): Promise<Response> {
    const stream = this.#open();
    const running = run(
      (message) => {
        // A client that accepts only JSON receives only the response.
        if (form !== "json") stream.write(message);
      },
      { signal: NEVER },
    );
    const finished = await untilStreaming(running, stream, form, limits);
    if (finished) {
      this.#streams.delete(stream.number);
      return toJson(finished);
    }
    void running.then(({ text }) => this.#end(stream, text));
    return stream.connect(undefined, primes);
  }

  /** Opens the stream for messages that do not belong to a request. It replaces an earlier one. */
  listen(request: Disconnectable, primes: boolean): Response {
    if (this.#general) this.#end(this.#general);
    this.#general = this.#open();
    return this.#general.connect(request, primes);
  }

  /** Sends a message that does not belong to a request. It is dropped if the client has not opened the stream for such messages. */
  send(message: JSONRPCNotification | JSONRPCRequest): void {
    this.#general?.write(message);
  }

  /** Resumes a stream after an event. Returns undefined if the log no longer has the events that follow. */
  resume(lastEventId: string, request: Disconnectable): Response | undefined {
    const [, number, event] = /^(\d{1,9})-(\d{1,9})$/.exec(lastEventId) ?? [];
    const stream = this.#streams.get(Number(number));
    return stream?.has(Number(event)) ? stream.connect(request, false, Number(event)) : undefined;
  }

  /** Ends all streams. */
  close(): void {
    for (const stream of this.#streams.values()) stream.end();
  }

  #open(): SessionStream {
    this.#lastNumber += 1;
    const onLogged = (chars: number) => this.#logged(stream, chars);
    const stream = new SessionStream(this.#lastNumber, this.#limits, onLogged, this.#onLeft);
    this.#streams.set(stream.number, stream);
    return stream;
  }

  #end(stream: SessionStream, answer?: string): void {
    stream.end(answer);
    if (stream.isEmpty) this.#streams.delete(stream.number);
  }

  #logged(stream: SessionStream, chars: number): void {
    this.#order.push(stream);
    this.#chars += chars + OVERHEAD;
    while (this.#chars > this.#charsMax) {
      const oldest = this.#order.shift() as SessionStream;
      this.#chars -= oldest.drop() + OVERHEAD;
      if (oldest.isEmpty) this.#streams.delete(oldest.number);
    }
  }
}

/** One stream: its events, and the connection on which the client reads them. */
class SessionStream implements PendingStream {
  readonly number: number;
  readonly #limits: HttpLimits;
  readonly #onLogged: (chars: number) => void;
  readonly #onLeft: () => void;
  /** The frames of the kept events. The first one has the number `#dropped` + 1. */
  readonly #frames: string[] = [];
  #dropped = 0;
  #isOver = false;
  #connection: EventStream | undefined;
  /** The number of characters that the client has not read yet, apart from events that the connection may drop by itself. */
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

  /** Whether the stream has ended and none of its events are kept. */
  get isEmpty(): boolean {
    return this.#isOver && this.#frames.length === 0;
  }

  /** Whether all events after this one are kept. Event 0 is the beginning of the stream. */
  has(event: number): boolean {
    return event >= this.#dropped && event <= this.#dropped + this.#frames.length;
  }

  /** Sends a message. Progress and log messages may be dropped for a client that reads too slowly. */
  write(message: JSONRPCNotification | JSONRPCRequest): void {
    if (!this.#isOver) this.#append(JSON.stringify(message), !("id" in message || isChange(message)));
  }

  /** Ends the stream, after the response if there is one. */
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

  /** Returns a response with all events after this one. It replaces an earlier connection, which the client must have lost. */
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
    // A client that reads too slowly is disconnected. It can resume the stream as long as the log has the events.
    if (this.#waiting > this.#limits.streamBufferBytesMax && !this.#isOver && !isDroppable) this.#disconnect();
    this.#connection?.write(frame, isDroppable);
    if (!isDroppable) this.#waiting += frame.length;
    this.hasBegun = true;
    this.#announce();
    this.#onLogged(frame.length);
  }

  /** Drops the oldest event. Returns its number of characters. */
  drop(): number {
    this.#dropped += 1;
    return this.#frames.shift()?.length ?? 0;
  }
}
