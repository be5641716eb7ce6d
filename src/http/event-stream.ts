/**
 * One SSE response. It buffers frames until it is opened, and sends heartbeats while it is idle.
 *
 * When the client disconnects, `cancel` of the stream is called or the signal of the request aborts; runtimes differ,
 * so both are used. Neither happens before the next write, so heartbeats are needed to detect that a client has
 * disconnected.
 *
 * @module
 */
import { encodeText } from "../core/basics/bytes.ts";
import { CancelledError } from "../core/protocol/errors.ts";
import type { HttpLimits } from "./response-times.ts";
import { HEARTBEAT, SSE_HEADERS } from "./sse.ts";

type Controller = ReadableStreamDefaultController<Uint8Array>;

/** The part of a request that reports that its client has disconnected. */
export interface Disconnectable {
  readonly signal: AbortSignal;
}

function nothing(): void {}

/** The frames sent to one client. */
export class EventStream {
  readonly #limits: HttpLimits;
  readonly #held: Uint8Array[] = [];
  /** Bytes that may still be buffered before the stream is opened. */
  #room: number;
  readonly #request: Disconnectable | undefined;
  #gone: AbortController | undefined;
  #announce: () => void = nothing;
  #controller: Controller | undefined;
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  #isOver = false;
  /** Whether anything has been written. */
  hasBegun = false;
  /**
   * Whether only the first part of a frame has been written. Nothing else may be written until the frame is complete.
   */
  #isWithinFrame = false;
  /** Frames to write when that frame is complete. */
  #inserted = "";
  /** The latest frame of each subject, to be written when the client has caught up. */
  readonly #late = new Map<string, string>();
  /** Bytes written that the client had not read at the last check. */
  #queued = 0;
  /** The time of the last check at which the client had read something, or since which data has been waiting for it. */
  #takenAtMs = 0;
  /** Called with the number of bytes that the client has read. */
  onTaken: (bytes: number) => void = nothing;

  /** @param request The request that the stream answers. If undefined, only `cancel` reports a disconnect. */
  constructor(limits: HttpLimits, request?: Disconnectable) {
    this.#limits = limits;
    this.#room = limits.streamBufferBytesMax;
    this.#request = request;
  }

  /**
   * Aborts when the client disconnects before the stream has ended. Created on first use, because most responses do not
   * need it.
   */
  get signal(): AbortSignal {
    if (!this.#gone) {
      this.#gone = new AbortController();
      const client = this.#request?.signal;
      if (client?.aborted) this.#leave();
      client?.addEventListener("abort", () => this.#leave(), { once: true });
    }
    return this.#gone.signal;
  }

  /** Resolves when something is written. Get it before `hasBegun` is true. */
  get begun(): Promise<void> {
    return new Promise((resolve) => {
      this.#announce = resolve;
    });
  }

  /**
   * Sends frames. A frame may be sent in several parts. Droppable frames, such as progress, are dropped when the client
   * is too far behind.
   */
  write(frames: string, isDroppable = false): void {
    if (this.#isOver || frames === "") return;
    const bytes = encodeText(frames);
    if (isDroppable && this.#left < bytes.byteLength) return;
    this.hasBegun = true;
    this.#announce();
    this.#room -= bytes.byteLength;
    this.#isWithinFrame = !frames.endsWith("\n\n");
    if (this.#controller) this.#enqueue(this.#controller, bytes);
    else this.#held.push(bytes);
    if (!this.#isWithinFrame) this.insert("");
  }

  /** Bytes that may still be queued for the client. */
  get #left(): number {
    return (this.#controller ? (this.#controller.desiredSize ?? 0) : this.#room) - this.#inserted.length;
  }

  /**
   * Sends a complete frame about a changing subject. While the client is too far behind, the frame is held back, and a
   * later frame with the same subject replaces it, so at most one frame is held for each subject.
   *
   * @param late Sent in place of a frame that was held back.
   */
  notify(frame: string, subject = frame, late = frame): void {
    if (this.#late.size === 0 && this.#left > 0) this.insert(frame);
    else this.#late.set(subject, late);
  }

  /** Sends complete frames as soon as no other frame is partly written. */
  insert(frames: string): void {
    this.#inserted += frames;
    if (this.#isWithinFrame) return;
    const inserted = this.#inserted;
    this.#inserted = "";
    this.write(inserted);
  }

  /** Creates the response. Call it once. The head and first bytes are sent immediately. */
  respond(): Response {
    void this.signal;
    const highWaterMark = this.#limits.streamBufferBytesMax;
    const size = (chunk?: Uint8Array) => chunk?.byteLength ?? 0;
    const cancel = () => this.#leave();
    const start = (controller: Controller) => this.#begin(controller);
    const pull = (controller: Controller) => this.#checkReader(controller);
    const body = new ReadableStream<Uint8Array>({ start, pull, cancel }, { highWaterMark, size });
    return new Response(body, { headers: SSE_HEADERS });
  }

  /** Ends the stream, even if the client has not read everything yet. */
  end(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#controller?.close();
  }

  /** Ends the stream as if its client had disconnected. */
  abandon(): void {
    if (this.#isOver) return;
    this.#leave();
    this.#controller?.close();
  }

  #begin(controller: Controller): void {
    this.#controller = controller;
    if (this.#held.length === 0) this.#enqueue(controller, HEARTBEAT);
    for (const bytes of this.#held.splice(0)) this.#enqueue(controller, bytes);
    if (this.#isOver) controller.close();
    // Started before the response is returned, because workerd ends a stream without pending work.
    else this.#heartbeat = setInterval(() => this.#beat(), this.#limits.heartbeatMs);
  }

  #enqueue(controller: Controller, bytes: Uint8Array): void {
    if (this.#queued <= 0) this.#takenAtMs = Date.now();
    this.#queued += bytes.byteLength;
    controller.enqueue(bytes);
  }

  /** Measures how much the client has read since the last check. */
  #checkReader({ desiredSize }: Controller): void {
    const queued = this.#limits.streamBufferBytesMax - (desiredSize ?? 0);
    const taken = this.#queued - queued;
    if (taken <= 0) return;
    this.#queued = queued;
    this.#takenAtMs = Date.now();
    for (const [subject, frame] of this.#late) {
      if (this.#left <= 0) break;
      this.#late.delete(subject);
      this.insert(frame);
    }
    this.onTaken(taken);
  }

  #beat(): void {
    const controller = this.#controller;
    if (!controller) return;
    this.#checkReader(controller);
    if (this.#queued > 0 && Date.now() - this.#takenAtMs > this.#limits.slowReaderMs) {
      this.#leave();
      controller.error(new Error("The client has stopped reading."));
    } else if (!this.#isWithinFrame && (controller.desiredSize ?? 0) > 0) this.#enqueue(controller, HEARTBEAT);
  }

  #leave(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#gone?.abort(new CancelledError("it closed the stream"));
  }

  #finish(): void {
    this.#isOver = true;
    clearInterval(this.#heartbeat);
  }
}
