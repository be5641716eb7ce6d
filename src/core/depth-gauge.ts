/**
 * How deep JSON nests, found while its bytes arrive.
 *
 * @module
 */

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x5b, 0x5d];
/** What brackets and braces differ by. */
const BRACE = 0x20;

/** Counts how deep JSON nests while its bytes pass, without parsing. Brackets inside strings do not count. */
export class DepthGauge {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  /** The greatest depth within these bytes, given all before. */
  feed(bytes: Uint8Array): number {
    let deepest = this.#depth;
    for (const byte of bytes) {
      const bracket = byte & ~BRACE;
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === QUOTE) this.#isInString = !this.#isInString;
      else if (this.#isInString) this.#isEscaped = byte === BACKSLASH;
      else if (bracket === OPEN) deepest = Math.max(deepest, ++this.#depth);
      else if (bracket === CLOSE) this.#depth--;
    }
    return deepest;
  }
}
