/**
 * Reads a request body within the limits. A body without Content-Length is measured while it arrives.
 *
 * @module
 */
import type { Limits } from "../core/protocol/limits.ts";
import type { Refusal } from "./refusal.ts";

export type BodyResult = { readonly value: unknown; readonly refusal?: undefined } | { readonly refusal: Refusal };

/** An error with which middleware ends a body that it refuses. */
export interface BodyError extends Error {
  readonly refusal: Refusal;
}

const lenient = new TextDecoder();
const STRICT = { fatal: true, ignoreBOM: false };

/** Reads one JSON body. Never throws, whatever the client sends. */
export async function readBody(request: Request, limits: Limits): Promise<BodyResult> {
  const { bodyBytesMax } = limits;
  const length = request.headers.get("Content-Length");
  const tooLarge = { refusal: { reason: "body-too-large", bytesMax: bodyBytesMax } } as const;
  if (Number(length) > bodyBytesMax) return tooLarge;
  try {
    // Read at once if the length is known, because each chunk takes a turn of the event loop.
    const text =
      length === null
        ? await readChunks(request, bodyBytesMax)
        : decodeWhole(await request.arrayBuffer(), bodyBytesMax);
    if (text === undefined) return tooLarge;
    const value: unknown = JSON.parse(text);
    const refusal = findExcess(value, limits);
    return refusal ? { refusal } : { value };
  } catch (error) {
    // Invalid UTF-8, invalid JSON and an incomplete body get the same response.
    return { refusal: (error as Partial<BodyError> | undefined)?.refusal ?? { reason: "not-json" } };
  }
}

/**
 * Returns the text of a body, or undefined when it exceeds the limit although its Content-Length did not.
 *
 * @throws {TypeError} if it is not UTF-8, which JSON must be (RFC 8259, 8.1).
 */
function decodeWhole(bytes: ArrayBuffer, bytesMax: number): string | undefined {
  if (bytes.byteLength > bytesMax) return undefined;
  const text = lenient.decode(bytes);
  // U+FFFD either replaces invalid bytes or was sent by the client. Only the slower strict decoder can tell.
  return text.includes("\ufffd") ? new TextDecoder("utf-8", STRICT).decode(bytes) : text;
}

/** Returns the text of a body without Content-Length, or undefined when it is too large. */
async function readChunks(request: Request, bytesMax: number): Promise<string | undefined> {
  const decoder = new TextDecoder("utf-8", STRICT);
  let [text, bytes] = ["", 0];
  const reader = request.body?.getReader();
  while (reader) {
    const { value } = await reader.read();
    if (!value) break;
    bytes += value.byteLength;
    if (bytes > bytesMax) {
      // Not awaited: on a cloned request this promise settles only after the original body is cancelled too.
      reader.cancel().catch(() => undefined);
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}

/**
 * Returns the refusal of a body that is nested too deeply or has too many values. The JSON parser can read both, but
 * the code that processes the body would use too much stack or time.
 */
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
