/**
 * Limits the total size of the request bodies that an isolate holds at the same time. `bodyBytesMax` limits a single body
 * only, and many slow bodies together could fill the 128 MB of an isolate.
 *
 * A body is counted from the moment when the endpoint begins to read it, which is after authentication, until the response
 * begins.
 *
 * @module
 */
import type { MiddlewareHandler } from "hono";
import { checkOptions, type OptionTable, SIZE, TIMER } from "../../../core/protocol/check-options.ts";
import * as ErrorCode from "../../../core/protocol/error-codes.ts";
import type { BodyError } from "../../../http/body.ts";
import { invalid, type Refusal, refuse, type WireForm } from "../../../http/refusal.ts";

/** Options of {@link limitBytesInFlight}. */
export interface BytesInFlightOptions {
  /**
   * The maximum total size of the bodies that an isolate reads and processes at the same time, in bytes. A request for
   * which there is no room gets 503 with `Retry-After`; a request whose body exceeds this size gets 413. In the worst case,
   * a body takes 14 times its length in memory while it is parsed: `[{},{},...]` contains an object of 28 bytes for every
   * three bytes.
   *
   * @default 6_291_456 (6 MiB)
   */
  readonly bytesMax?: number;
  /**
   * How long a body may take to arrive, in milliseconds. Stops slow clients from taking up the room for other requests. A
   * body that takes longer gets 408.
   *
   * @default 30_000 (30 seconds)
   */
  readonly bodyTimeoutMs?: number;
}

const OPTIONS: OptionTable<BytesInFlightOptions> = { bytesMax: SIZE, bodyTimeoutMs: TIMER };

/** How long a refused client is asked to wait, in seconds. */
const RETRY_AFTER_S = 1;
/**
 * How long a body is still counted after it has arrived if its request has no response, in milliseconds. The platform ends
 * some requests of disconnected clients without running the code that waits for them.
 * @limit ms How long a body is counted after it has arrived, at most.
 */
const HELD_MS = 60_000;

/**
 * Limits the total size of the bodies that an isolate holds at the same time, as middleware in the option `use` of
 * `edge()`. Endpoints that share one middleware share the limit. A body is counted from when the caller has been
 * authenticated until its response begins.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * import { edge, limitBytesInFlight } from "mcp-edge/worker";
 *
 * export default edge(server, { use: [limitBytesInFlight({ bytesMax: 6 * 1024 * 1024 })] });
 * ```
 */
export function limitBytesInFlight(options: BytesInFlightOptions = {}): MiddlewareHandler {
  checkOptions("limitBytesInFlight(): ", options, OPTIONS);
  const { bytesMax = 6 * 1024 * 1024, bodyTimeoutMs = 30_000 } = options;
  const room = new Room(bytesMax);
  return async (context, next) => {
    const { raw } = context.req;
    if (raw.body === null) return next();
    const body = new CountedBody(raw, room, bodyTimeoutMs);
    context.req.raw = new Request(raw, { body: body.stream });
    try {
      await next();
    } finally {
      body.release();
    }
    // The endpoint responds with this refusal, but a route of the author may have failed. Headers, such as CORS headers, are kept.
    if (body.refusal) context.res = refuse(body.refusal).toResponse();
  };
}

/** The bytes that are currently held. */
class Room {
  readonly bytesMax: number;
  readonly #held = new Map<object, { readonly bytes: number; readonly untilMs: number }>();

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Reserves bytes for a holder, in place of its previous reservation. Returns false if there is not enough room. */
  hold(holder: object, bytes: number, untilMs: number): boolean {
    this.release(holder);
    let sum = bytes;
    for (const [other, held] of this.#held) {
      if (held.untilMs < Date.now()) this.#held.delete(other);
      else sum += held.bytes;
    }
    if (sum > this.bytesMax) return false;
    this.#held.set(holder, { bytes, untilMs });
    return true;
  }

  release(holder: object): void {
    this.#held.delete(holder);
  }
}

/** The body of one request, which is counted while it is read. */
class CountedBody {
  readonly stream: ReadableStream<Uint8Array>;
  /** Why the body could not be read. */
  refusal: Refusal | undefined;

  readonly #room: Room;
  readonly #timeoutMs: number;
  readonly #source: ReadableStreamDefaultReader<Uint8Array>;
  /** The announced length, or the number of bytes that have arrived if it is greater. */
  #bytes: number;
  #arrived = 0;
  #beganAtMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReleased = false;

  constructor({ body, headers }: Request, room: Room, timeoutMs: number) {
    this.#room = room;
    this.#timeoutMs = timeoutMs;
    this.#bytes = Number(headers.get("Content-Length") ?? 0);
    // Only called for requests that have a body.
    this.#source = (body as ReadableStream<Uint8Array>).getReader();
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => this.#pull(controller),
        cancel: async (reason) => {
          clearTimeout(this.#timer);
          await this.#source.cancel(reason);
        },
      },
      // Prevents the stream from reading before the endpoint does.
      { highWaterMark: 0 },
    );
  }

  /** Stops counting the body. */
  release(): void {
    this.#isReleased = true;
    clearTimeout(this.#timer);
    this.#room.release(this);
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    if (this.#beganAtMs === 0) {
      this.#beganAtMs = Date.now();
      if (!this.#hold(controller)) return;
      this.#timer = setTimeout(() => this.#refuse(tooSlow(this.#timeoutMs), controller), this.#timeoutMs);
    }
    const { done, value } = await this.#source.read();
    if (this.refusal) return;
    if (done) {
      clearTimeout(this.#timer);
      controller.close();
      return;
    }
    this.#arrived += value.byteLength;
    this.#bytes = Math.max(this.#bytes, this.#arrived);
    if (this.#hold(controller)) controller.enqueue(value);
  }

  /** Returns false, and ends the body with an error, if there is not enough room for it. */
  #hold(controller: ReadableStreamDefaultController<Uint8Array>): boolean {
    const { bytesMax } = this.#room;
    if (this.#isReleased) return true;
    if (this.#bytes > bytesMax) return this.#refuse({ reason: "body-too-large", bytesMax }, controller);
    const isHeld = this.#room.hold(this, this.#bytes, Date.now() + this.#timeoutMs + HELD_MS);
    return isHeld || this.#refuse(noRoom(bytesMax), controller);
  }

  #refuse(refusal: Refusal, controller: ReadableStreamDefaultController<Uint8Array>): false {
    this.refusal = refusal;
    clearTimeout(this.#timer);
    this.#room.release(this);
    const error: BodyError = Object.assign(new Error("The body is refused."), { refusal });
    controller.error(error);
    this.#source.cancel().catch(() => undefined);
    return false;
  }
}

function noRoom(bytesMax: number): Refusal {
  const reason = "too-many";
  const message = `A limit is reached: the requests that are being served have ${bytesMax} bytes. Try again.`;
  const headers = { "Retry-After": String(RETRY_AFTER_S) };
  const data = { reason, retryAfterMs: RETRY_AFTER_S * 1000 };
  const form: WireForm = { status: 503, code: ErrorCode.InternalError, message, headers, data };
  return { reason, form };
}

function tooSlow(timeoutMs: number): Refusal {
  return { reason: "body-too-slow", form: invalid(408, `The body did not arrive within ${timeoutMs} ms.`) };
}
