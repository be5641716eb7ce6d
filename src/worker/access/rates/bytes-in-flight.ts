/**
 * Bounds the bytes of all request bodies that an isolate holds at the same time. `bodyBytesMax` bounds one body only,
 * and many slow ones together could fill the 128 MB of an isolate.
 *
 * A body is counted from the moment at which the endpoint begins to read it, which is after authentication, until the
 * answer begins.
 *
 * @module
 */
import type { MiddlewareHandler } from "hono";
import { checkOptions, type OptionTable, SIZE, TIMER } from "../../../core/protocol/check-options.ts";
import { ErrorCode } from "../../../core/protocol/jsonrpc.ts";
import type { BodyError } from "../../../http/body.ts";
import { invalid, type Refusal, refuse, type WireForm } from "../../../http/refusal.ts";

/** Options of {@link limitBytesInFlight}. */
export interface BytesInFlightOptions {
  /**
   * The maximum number of bytes of the bodies that an isolate reads and answers at the same time. A request for which
   * there is no room gets 503 with `Retry-After`; one whose body is longer than this gets 413. At its worst, a body
   * takes 14 times its length while it is parsed: `[{},{},...]` has an object of 28 bytes for every three bytes.
   *
   * @default 6_291_456 (6 MiB)
   */
  readonly bytesMax?: number;
  /**
   * The time, in milliseconds, in which a body must arrive. Stops clients that send slowly from taking the room of the
   * others. A later one gets 408.
   *
   * @default 30_000 (30 seconds)
   */
  readonly bodyTimeoutMs?: number;
}

const OPTIONS: OptionTable<BytesInFlightOptions> = { bytesMax: SIZE, bodyTimeoutMs: TIMER };

/** Seconds after which a refused client may try again. */
const RETRY_AFTER_S = 1;
/**
 * Milliseconds after which a body that has arrived is no longer counted, even if its request is not answered. The
 * platform ends some requests of clients that have vanished without running the code that waits for them.
 * @limit ms The time for which a body is counted after it arrived, at most. Then it is no longer counted.
 */
const HELD_MS = 60_000;

/**
 * Bounds the bytes of all bodies that an isolate holds at the same time, as middleware in the option `use` of
 * `edge()`. Endpoints that share one middleware share the bound. A body is counted once the caller is authenticated,
 * until its answer begins.
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
    // The endpoint has answered with this refusal; a route of the author may have failed. Headers, such as those of CORS, are kept.
    if (body.refusal) context.res = refuse(body.refusal).toResponse();
  };
}

/** The bytes that are held. */
class Room {
  readonly bytesMax: number;
  readonly #held = new Map<object, { readonly bytes: number; readonly untilMs: number }>();

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Reserves bytes for a holder in place of what it has reserved. Returns false if there is no room for them. */
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

/** The body of one request, which is counted when it is read. */
class CountedBody {
  readonly stream: ReadableStream<Uint8Array>;
  /** Why the body could not be read. */
  refusal: Refusal | undefined;

  readonly #room: Room;
  readonly #timeoutMs: number;
  readonly #source: ReadableStreamDefaultReader<Uint8Array>;
  /** The bytes that are announced, or that have arrived if that is more. */
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
      // Nothing is read before the endpoint asks for it.
      { highWaterMark: 0 },
    );
  }

  /** Ends the counting. */
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

  /** Returns false, and ends the body with an error, if there is no room for it. */
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
