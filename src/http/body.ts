/**
 * Reading a body within its bounds: too much or too deep is found while it arrives, before it is held whole.
 *
 * @module
 */
import type { Limits } from "../core/limits.ts";
import type { Refusal } from "./refusal.ts";

export type BodyResult = { readonly value: unknown; readonly refusal?: undefined } | { readonly refusal: Refusal };

/** Reads one JSON body. Never throws for what a peer sends. */
export async function readBody(request: Request, limits: Limits): Promise<BodyResult> {
  const { bodyBytesMax, bodyDepthMax } = limits;
  const tooLarge: BodyResult = { refusal: { reason: "body-too-large", bytesMax: bodyBytesMax } };
  if (Number(request.headers.get("Content-Length") ?? 0) > bodyBytesMax) return tooLarge;
  if (!request.body) return { refusal: { reason: "not-json" } };
  // fatal: a body that is not UTF-8 is not JSON (RFC 8259, 8.1); replacement characters would hide that.
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  const depth = new DepthGauge();
  const reader = request.body.getReader();
  let [text, bytes] = ["", 0];
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      bytes += chunk.value.byteLength;
      if (bytes > bodyBytesMax) return await stop(reader, tooLarge);
      if (depth.feed(chunk.value) > bodyDepthMax) {
        return await stop(reader, { refusal: { reason: "body-too-deep", depthMax: bodyDepthMax } });
      }
      text += decoder.decode(chunk.value, { stream: true });
    }
    return { value: JSON.parse(text + decoder.decode()) };
  } catch {
    // Broken UTF-8, broken JSON or a body cut short: to the peer they are the same.
    return { refusal: { reason: "not-json" } };
  }
}

async function stop(reader: ReadableStreamDefaultReader<Uint8Array>, result: BodyResult): Promise<BodyResult> {
  // The refusal stands whether or not the peer can be told to stop sending.
  await reader.cancel().catch(() => undefined);
  return result;
}

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
