/**
 * Reads the body of an upload, or the stream of a handler, within a time limit.
 *
 * @module
 */

/** The number of bytes that are read and passed on at once. */
export const CHUNK_BYTES: number = 64 * 1024;

/** Reads the chunks of a body, one after the other. A chunk is valid until the next one is read, because they share a buffer. */
export class BodyReader {
  readonly #source: ChunkSource;
  readonly #late = new AbortController();
  readonly #endMs: number;
  readonly #idleMs: number;
  /** When the last read began. */
  #sinceMs = 0;
  /** Ends the read that waits for a chunk, because a read of a client that sends nothing may never end. */
  #reject: ((error: unknown) => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param uploadMs The time limit for the whole body, including the processing of its chunks, in milliseconds.
   * @param idleMs The time limit for each chunk, in milliseconds. Infinity for none.
   */
  constructor(body: ReadableStream<Uint8Array>, uploadMs: number, idleMs: number) {
    this.#source = openSource(body);
    this.#endMs = Date.now() + uploadMs;
    this.#idleMs = idleMs;
    this.#watch();
  }

  /** Aborts when the body has taken too long. */
  get late(): AbortSignal {
    return this.#late.signal;
  }

  /** Whether the body has taken too long. */
  get isLate(): boolean {
    return this.#late.signal.aborted;
  }

  /** Returns the next chunk, and undefined at the end. @throws if the body is cut off, or takes too long. */
  next(): Promise<Uint8Array | undefined> {
    if (this.isLate) return Promise.reject(this.late.reason);
    // A promise of its own for each chunk: a race with one promise for all would keep memory for each chunk.
    return new Promise((resolve, reject) => {
      this.#sinceMs = Date.now();
      this.#reject = reject;
      this.#source.next().then((chunk) => {
        this.#reject = undefined;
        resolve(chunk);
      }, reject);
    });
  }

  /** Reads what is left, without using it. Never rejects. */
  async readRest(): Promise<void> {
    const next = () => this.next().catch(() => undefined);
    for (let chunk = await next(); chunk; chunk = await next());
  }

  /** Ends the reading. What has not been read is dropped. */
  end(): void {
    clearTimeout(this.#timer);
    this.#source.cancel().catch(() => undefined);
  }

  /** Looks whether the body has taken too long, and sets the timer for the next look. */
  #watch = (): void => {
    const nowMs = Date.now();
    const idleEndMs = (this.#reject ? this.#sinceMs : nowMs) + this.#idleMs;
    const untilMs = Math.min(this.#endMs, idleEndMs);
    if (nowMs < untilMs) {
      this.#timer = setTimeout(this.#watch, untilMs - nowMs);
      return;
    }
    this.#late.abort(new Error("The content took too long."));
    this.#reject?.(this.late.reason);
  };
}

/** Reads a body. `cancel` ends it, which its own method cannot do while it has a reader. */
interface ChunkSource {
  next(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

function openSource(body: ReadableStream<Uint8Array>): ChunkSource {
  let shared: ReadableStreamBYOBReader;
  try {
    shared = body.getReader({ mode: "byob" });
  } catch {
    // A stream of a handler may have chunks of any size.
    const reader = body.getReader();
    const next = async () => {
      const { done, value } = await reader.read();
      if (done) return undefined;
      // A string would otherwise be stored as zeros.
      if (!((value as unknown) instanceof Uint8Array)) throw new TypeError("A chunk is not a Uint8Array.");
      return value;
    };
    return { next, cancel: () => reader.cancel() };
  }
  // One buffer for all chunks, because many buffers would have to wait for the garbage collection.
  let buffer = new ArrayBuffer(CHUNK_BYTES);
  const next = async () => {
    const { done, value } = await shared.read(new Uint8Array(buffer));
    if (done || !value) return undefined;
    buffer = value.buffer as ArrayBuffer;
    return value;
  };
  return { next, cancel: () => shared.cancel() };
}
