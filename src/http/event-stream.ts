/**
 * One SSE response: frames are held until it is opened, heartbeats go out while nothing happens.
 *
 * When the client goes away the stream's `cancel` or the request's signal fires (both are listened to, since runtimes
 * differ), never earlier than the next write: heartbeats are what finds a vanished client.
 *
 * @module
 */
import type { Limits } from "../core/limits.ts";
import { encodeText, HEARTBEAT, SSE_HEADERS } from "./sse.ts";

/** Frames on their way to one client. */
export class EventStream {
  readonly #limits: Limits;
  readonly #held: Uint8Array[] = [];
  /** Bytes that may still be held for a stream that is not open yet. */
  #room: number;
  readonly #gone = new AbortController();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  #isOver = false;

  /** @param clientGone Fires when the client of the HTTP request is gone. */
  constructor(limits: Limits, clientGone?: AbortSignal) {
    this.#limits = limits;
    this.#room = limits.streamBufferBytesMax;
    clientGone?.addEventListener("abort", () => this.#leave(), { once: true });
  }

  /** Aborts when the client is gone before the stream has ended. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Sends frames. Droppable ones are dropped when the client is too far behind: they are news, not results. */
  write(frames: string, isDroppable = false): void {
    if (this.#isOver) return;
    const bytes = encodeText(frames);
    const room = this.#controller ? (this.#controller.desiredSize ?? 0) : this.#room;
    if (isDroppable && room < bytes.byteLength) return;
    this.#room -= bytes.byteLength;
    if (this.#controller) this.#controller.enqueue(bytes);
    else this.#held.push(bytes);
  }

  /** The response, to be made once. Its head and first bytes go out at once. */
  respond(): Response {
    const highWaterMark = this.#limits.streamBufferBytesMax;
    const size = (chunk?: Uint8Array) => chunk?.byteLength ?? 0;
    const cancel = () => this.#leave();
    const start = (controller: ReadableStreamDefaultController<Uint8Array>) => this.#begin(controller);
    const body = new ReadableStream<Uint8Array>({ start, cancel }, { highWaterMark, size });
    return new Response(body, { headers: SSE_HEADERS });
  }

  /** Ends the stream, however far behind the client is. */
  end(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#controller?.close();
  }

  #begin(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    if (this.#held.length === 0) controller.enqueue(HEARTBEAT);
    for (const bytes of this.#held.splice(0)) controller.enqueue(bytes);
    if (this.#isOver) controller.close();
    // Armed before the response is returned: workerd ends a stream behind which nothing is pending.
    else this.#heartbeat = setInterval(() => this.#beat(), this.#limits.heartbeatMs);
  }

  #beat(): void {
    // A reader that has not taken a whole window gets no more bytes; the connection itself is found dead by TCP.
    if ((this.#controller?.desiredSize ?? 0) > 0) this.#controller?.enqueue(HEARTBEAT);
  }

  #leave(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#gone.abort(new Error("The client closed the stream."));
  }

  #finish(): void {
    this.#isOver = true;
    clearInterval(this.#heartbeat);
  }
}
