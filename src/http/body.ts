/**
 * Reading a body within its bounds. One that does not say its length is measured while it arrives, before it is held whole.
 *
 * @module
 */
import type { Limits } from "../core/protocol/limits.ts";
import type { Refusal } from "./refusal.ts";

export type BodyResult = { readonly value: unknown; readonly refusal?: undefined } | { readonly refusal: Refusal };

const lenient = new TextDecoder();
const STRICT = { fatal: true, ignoreBOM: false };

/** Reads one JSON body. Never throws for what a peer sends. */
export async function readBody(request: Request, limits: Limits): Promise<BodyResult> {
  const { bodyBytesMax } = limits;
  const length = request.headers.get("Content-Length");
  const tooLarge = { refusal: { reason: "body-too-large", bytesMax: bodyBytesMax } } as const;
  if (Number(length) > bodyBytesMax) return tooLarge;
  try {
    // Whole where its length is known: each chunk would be a turn of the event loop.
    const text =
      length === null
        ? await readChunks(request, bodyBytesMax)
        : decodeWhole(await request.arrayBuffer(), bodyBytesMax);
    if (text === undefined) return tooLarge;
    const value: unknown = JSON.parse(text);
    const refusal = findExcess(value, limits);
    return refusal ? { refusal } : { value };
  } catch {
    // Broken UTF-8, broken JSON or a body cut short: to the peer they are the same.
    return { refusal: { reason: "not-json" } };
  }
}

/**
 * The text of a whole body; undefined when it is larger than its header said and than is allowed.
 *
 * @throws {TypeError} when it is not UTF-8, as JSON must be (RFC 8259, 8.1).
 */
function decodeWhole(bytes: ArrayBuffer, bytesMax: number): string | undefined {
  if (bytes.byteLength > bytesMax) return undefined;
  const text = lenient.decode(bytes);
  // U+FFFD stands in the place of broken bytes, or is what the client wrote. Only a strict decoder, which is slower, can tell.
  return text.includes("\ufffd") ? new TextDecoder("utf-8", STRICT).decode(bytes) : text;
}

/** Undefined when it is too large. */
async function readChunks(request: Request, bytesMax: number): Promise<string | undefined> {
  const decoder = new TextDecoder("utf-8", STRICT);
  let [text, bytes] = ["", 0];
  // Leaving the loop early cancels the body.
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** What a body has too much of. The parser needs no stack for depth, and no time for numbers; what comes after does. */
function findExcess(body: unknown, { bodyDepthMax, bodyValuesMax }: Limits): Refusal | undefined {
  let values = 0;
  const exceeds = (value: unknown, levels: number): boolean => {
    if (typeof value !== "object" || value === null) return false;
    if (levels === 0) return true;
    const members = Object.values(value);
    values += members.length;
    return values > bodyValuesMax || members.some((member) => exceeds(member, levels - 1));
  };
  if (!exceeds(body, bodyDepthMax)) return undefined;
  return values > bodyValuesMax
    ? { reason: "body-too-many-values", valuesMax: bodyValuesMax }
    : { reason: "body-too-deep", depthMax: bodyDepthMax };
}
