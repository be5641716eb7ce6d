/**
 * One SSE response: frames are held until it is opened, heartbeats go out while nothing happens.
 *
 * When the client goes away the stream's `cancel` or the request's signal fires (both are listened to, since runtimes
 * differ), never earlier than the next write: heartbeats are what finds a vanished client.
 *
 * @module
 */
import { encodeText } from "../core/protocol/bytes.ts";
import { CancelledError } from "../core/protocol/errors.ts";
import type { Limits } from "../core/protocol/limits.ts";
import { HEARTBEAT, SSE_HEADERS } from "./sse.ts";

type Controller = ReadableStreamDefaultController<Uint8Array>;

/** The part of a request that tells when its client is gone. */
export interface Watched {
  readonly signal: AbortSignal;
}

function nothing(): void {}

/** Frames on their way to one client. */
export class EventStream {
  readonly #limits: Limits;
  readonly #held: Uint8Array[] = [];
  /** Bytes that may still be held for a stream that is not open yet. */
  #room: number;
  readonly #request: Watched | undefined;
  #gone: AbortController | undefined;
  #announce: () => void = nothing;
  #controller: Controller | undefined;
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  #isOver = false;
  /** Whether anything was written. */
  hasBegun = false;
  /** A part of a frame was written, and its rest was not: nothing else may go between. */
  #isWithinFrame = false;
  /** Frames that wait for its end. */
  #inserted = "";
  /** Frames that wait until the client is no longer far behind: the latest of each subject. */
  readonly #late = new Map<string, string>();
  /** Bytes written that the client had not taken when last looked at, and when that last became less. */
  #queued = 0;
  #takenAtMs = 0;
  /** Told of bytes the client has taken. */
  onTaken: (bytes: number) => void = nothing;

  /** @param request Whose client takes the stream; undefined: nobody is watched. */
  constructor(limits: Limits, request?: Watched) {
    this.#limits = limits;
    this.#room = limits.streamBufferBytesMax;
    this.#request = request;
  }

  /** Aborts when the client is gone before the stream has ended. Made for those who ask: most answers need none. */
  get signal(): AbortSignal {
    if (!this.#gone) {
      this.#gone = new AbortController();
      const client = this.#request?.signal;
      if (client?.aborted) this.#leave();
      client?.addEventListener("abort", () => this.#leave(), { once: true });
    }
    return this.#gone.signal;
  }

  /** Resolves when something is, for one who looks before. */
  get begun(): Promise<void> {
    return new Promise((resolve) => {
      this.#announce = resolve;
    });
  }

  /**
   * Sends frames; a frame may come in several parts. Droppable ones are dropped when the client is too far behind: they
   * are news, not results.
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

  /** Bytes that may still wait for the client. */
  get #left(): number {
    return (this.#controller ? (this.#controller.desiredSize ?? 0) : this.#room) - this.#inserted.length;
  }

  /**
   * Sends a whole frame about something that changes, between the others. While the client is too far behind it waits,
   * and a later one about the same takes its place: so no more is kept than there are subjects.
   *
   * @param late What is sent instead of a frame that had to wait.
   */
  notify(frame: string, subject = frame, late = frame): void {
    if (this.#late.size === 0 && this.#left > 0) this.insert(frame);
    else this.#late.set(subject, late);
  }

  /** Whole frames that have no place among the others, such as hints: next, but never into one of them. */
  insert(frames: string): void {
    this.#inserted += frames;
    if (this.#isWithinFrame) return;
    const inserted = this.#inserted;
    this.#inserted = "";
    this.write(inserted);
  }

  /** The response, to be made once. Its head and first bytes go out at once. */
  respond(): Response {
    void this.signal;
    const highWaterMark = this.#limits.streamBufferBytesMax;
    const size = (chunk?: Uint8Array) => chunk?.byteLength ?? 0;
    const cancel = () => this.#leave();
    const start = (controller: Controller) => this.#begin(controller);
    const pull = (controller: Controller) => this.#look(controller);
    const body = new ReadableStream<Uint8Array>({ start, pull, cancel }, { highWaterMark, size });
    return new Response(body, { headers: SSE_HEADERS });
  }

  /** Ends the stream, however far behind the client is. */
  end(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#controller?.close();
  }

  #begin(controller: Controller): void {
    this.#controller = controller;
    this.#takenAtMs = Date.now();
    if (this.#held.length === 0) this.#enqueue(controller, HEARTBEAT);
    for (const bytes of this.#held.splice(0)) this.#enqueue(controller, bytes);
    if (this.#isOver) controller.close();
    // Armed before the response is returned: workerd ends a stream behind which nothing is pending.
    else this.#heartbeat = setInterval(() => this.#beat(), this.#limits.heartbeatMs);
  }

  #enqueue(controller: Controller, bytes: Uint8Array): void {
    this.#queued += bytes.byteLength;
    controller.enqueue(bytes);
  }

  /** Finds out what the client has taken since last time. */
  #look({ desiredSize }: Controller): void {
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
    this.#look(controller);
    if ((controller.desiredSize ?? 0) > 0) {
      if (!this.#isWithinFrame) this.#enqueue(controller, HEARTBEAT);
    } else if (Date.now() - this.#takenAtMs > this.#limits.slowReaderMs) {
      // A reader that has not taken a whole window gets no more bytes, and not for ever.
      this.#leave();
      controller.error(new Error("The client has stopped reading."));
    }
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
