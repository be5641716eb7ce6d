/**
 * Measures how deep JSON nests and how many values it has, while its bytes arrive.
 *
 * @module
 */

const [QUOTE, COMMA, BACKSLASH, OPEN, CLOSE] = [0x22, 0x2c, 0x5c, 0x5b, 0x5d];
/** The bit by which the character codes of brackets and braces differ. */
const BRACE = 0x20;

/** Measures the nesting depth of JSON without parsing it. Brackets and commas inside strings do not count. */
export class DepthGauge {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** The members of all arrays and objects so far. An empty array or object counts as one. */
  values = 0;

  /** Reads the next bytes and returns the greatest depth within them. */
  feed(bytes: Uint8Array): number {
    let deepest = this.#depth;
    for (const byte of bytes) {
      const bracket = byte & ~BRACE;
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === QUOTE) this.#isInString = !this.#isInString;
      else if (this.#isInString) this.#isEscaped = byte === BACKSLASH;
      else if (bracket === OPEN) {
        this.values += 1;
        deepest = Math.max(deepest, ++this.#depth);
      } else if (bracket === CLOSE) this.#depth--;
      else if (byte === COMMA) this.values += 1;
    }
    return deepest;
  }
}
