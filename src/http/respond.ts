/**
 * One answer, as JSON or as an SSE stream: JSON until the first emission or `limits.jsonWaitMs`, SSE after it.
 *
 * On the wire of a stream: the frames emitted so far, heartbeats while nothing happens, the response, the end. When
 * the client goes away the stream's `cancel` or the request's signal fires (both are listened to, since runtimes
 * differ), never earlier than the next write: heartbeats are what finds a vanished client.
 *
 * @module
 */
import type { JSONRPCNotification, JSONRPCRequest } from "../core/jsonrpc.ts";
import type { Limits } from "../core/limits.ts";
import type { AcceptedForm } from "./headers.ts";
import { encodeEvent, HEARTBEAT, SSE_HEADERS } from "./sse.ts";

/** What a run ends with. `text` undefined: no answer is due, since the request was cancelled. */
export interface Outcome {
  readonly text: string | undefined;
  /** HTTP status when the answer is JSON. A stream has begun with 200 by then. */
  readonly status: number;
}

/** Does the work. Never rejects. */
export type Run = (
  emit: (message: JSONRPCNotification | JSONRPCRequest) => void,
  signal: AbortSignal,
) => Promise<Outcome>;

export interface RespondOptions {
  readonly form: AcceptedForm;
  readonly limits: Limits;
  /** Fires when the client of the HTTP request is gone. */
  readonly clientGone: AbortSignal | undefined;
  /** Whether a vanished client cancels the run: yes in the modern era, no in the legacy one. */
  readonly cancelsWithClient: boolean;
}

/** Runs and answers. */
export async function respond(run: Run, options: RespondOptions): Promise<Response> {
  const { form, limits } = options;
  const cancellation = new AbortController();
  const clientGone = () => {
    if (options.cancelsWithClient) cancellation.abort(new Error("The client closed the stream."));
  };
  options.clientGone?.addEventListener("abort", clientGone, { once: true });
  const stream = new EventStream(limits, clientGone);
  const running = run((message) => {
    // A client that takes only JSON has no place for anything but the answer. Questions are never dropped.
    if (form !== "json") stream.emit(JSON.stringify(message), !("id" in message));
  }, cancellation.signal);
  const finished = await untilStreaming(running, stream, options);
  if (finished) {
    options.clientGone?.removeEventListener("abort", clientGone);
    return toJson(finished);
  }
  void running.then(({ text }) => {
    options.clientGone?.removeEventListener("abort", clientGone);
    stream.end(text);
  });
  return new Response(stream.open(), { headers: SSE_HEADERS });
}

/** The outcome when the answer is to be JSON, undefined when the stream is to begin. */
async function untilStreaming(running: Promise<Outcome>, stream: EventStream, options: RespondOptions) {
  if (options.form === "json") return running;
  if (options.form === "sse") return undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waited = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), options.limits.jsonWaitMs);
  });
  const finished = await Promise.race([running, stream.firstEmission, waited]);
  clearTimeout(timer);
  return stream.hasEmitted ? undefined : finished;
}

function toJson({ text, status }: Outcome): Response {
  if (text === undefined) return new Response(null, { status: 202 });
  return new Response(text, { status, headers: { "Content-Type": "application/json" } });
}

/** Frames on their way to one client: held until the stream is opened, bounded while the client reads slowly. */
class EventStream {
  readonly #limits: Limits;
  readonly #onCancel: () => void;
  readonly #held: Uint8Array[] = [];
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  #isOver = false;
  #announce: (value: undefined) => void = () => undefined;
  /** Resolves at the first emission. */
  readonly firstEmission: Promise<undefined>;
  hasEmitted = false;

  constructor(limits: Limits, onCancel: () => void) {
    this.#limits = limits;
    this.#onCancel = onCancel;
    this.firstEmission = new Promise((resolve) => {
      this.#announce = resolve;
    });
  }

  /** Sends a message; a droppable one is dropped when the client is too far behind: it is news about a call, not its result. */
  emit(text: string, isDroppable: boolean): void {
    const frame = encodeEvent(text);
    if (this.#isOver) return;
    if (this.#controller) {
      const hasRoom = (this.#controller.desiredSize ?? 0) >= frame.byteLength;
      if (hasRoom || !isDroppable) this.#controller.enqueue(frame);
      return;
    }
    this.#held.push(frame);
    this.hasEmitted = true;
    this.#announce(undefined);
  }

  open(): ReadableStream<Uint8Array> {
    const strategy = {
      highWaterMark: this.#limits.streamBufferBytesMax,
      size: (chunk?: Uint8Array) => chunk?.byteLength ?? 0,
    };
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
          if (this.#held.length === 0) controller.enqueue(HEARTBEAT);
          for (const frame of this.#held.splice(0)) controller.enqueue(frame);
          // Armed before the response is returned: workerd ends a stream behind which nothing is pending.
          this.#heartbeat = setInterval(() => this.#beat(), this.#limits.heartbeatMs);
        },
        cancel: () => {
          this.#finish();
          this.#onCancel();
        },
      },
      strategy,
    );
  }

  /** Sends the response, however far behind the client is, and ends the stream. */
  end(text: string | undefined): void {
    if (this.#isOver) return;
    this.#finish();
    if (text !== undefined) this.#controller?.enqueue(encodeEvent(text));
    this.#controller?.close();
  }

  #beat(): void {
    // A reader that has not taken a whole window gets no more bytes; the connection itself is found dead by TCP.
    if ((this.#controller?.desiredSize ?? 0) > 0) this.#controller?.enqueue(HEARTBEAT);
  }

  #finish(): void {
    this.#isOver = true;
    clearInterval(this.#heartbeat);
  }
}
