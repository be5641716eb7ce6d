/**
 * How deep JSON nests, found while its bytes arrive.
 *
 * @module
 */

const [QUOTE, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/** Counts how deep JSON nests while its bytes pass, without parsing. Brackets inside strings do not count. */
export class DepthGauge {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  /** The greatest depth within these bytes, given all before. */
  feed(bytes: Uint8Array): number {
    let deepest = this.#depth;
    for (const byte of bytes) {
      if (this.#isInString) this.#inString(byte);
      else if (byte === QUOTE) this.#isInString = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) deepest = Math.max(deepest, ++this.#depth);
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#depth--;
    }
    return deepest;
  }

  #inString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isInString = false;
  }
}
