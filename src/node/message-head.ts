/**
 * Reads the id and method of a message that is too large to be parsed, so that the error can name the request.
 *
 * @module
 */
import { isObject, isRequestId, type RequestId } from "../core/protocol/jsonrpc.ts";

/** The maximum number of bytes kept of a message: its top-level members, without nested values. */
const KEPT_BYTES_MAX = 4_096;
const [QUOTE, BACKSLASH, OPEN, CLOSE, SPACE, ZERO] = [0x22, 0x5c, 0x5b, 0x5d, 0x20, 0x30];
/** The bit by which the character codes of square brackets and braces differ. */
const BRACE = 0x20;

/** The id and method of a message, if they could be read. */
export interface MessageHead {
  readonly id?: RequestId;
  readonly method?: string;
}

/** Reads the bytes of one message and keeps its top-level members. Each nested array or object is replaced with 0. */
export class HeadReader {
  readonly #kept = new Uint8Array(KEPT_BYTES_MAX);
  /** The number of bytes to keep. If it exceeds the size of `#kept`, the top-level members are too large to be read. */
  #length = 0;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  /** Reads the next bytes. */
  feed(bytes: Uint8Array): void {
    for (const byte of bytes) {
      const bracket = byte & ~BRACE;
      const depth = this.#depth;
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isInString && byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) this.#isInString = !this.#isInString;
      else if (!this.#isInString && bracket === OPEN) this.#depth += 1;
      else if (!this.#isInString && bracket === CLOSE) this.#depth -= 1;
      const isNested = depth > 1 || this.#depth > 1;
      if (!isNested && (this.#isInString || byte > SPACE)) this.#keep(byte);
      else if (depth === 1 && this.#depth === 2) this.#keep(ZERO);
    }
  }

  /**
   * Returns the id and method after all bytes were fed; empty if the message is not a JSON object or its members are too large.
   */
  head(): MessageHead {
    if (this.#length > KEPT_BYTES_MAX) return {};
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
    let value: unknown;
    try {
      value = JSON.parse(decoder.decode(this.#kept.subarray(0, this.#length)));
    } catch {
      return {};
    }
    if (!isObject(value)) return {};
    const { id, method } = value;
    return { ...(isRequestId(id) ? { id } : {}), ...(typeof method === "string" ? { method } : {}) };
  }

  #keep(byte: number): void {
    this.#kept[this.#length] = byte;
    this.#length += 1;
  }
}
