/**
 * Reading a body within its bounds. One that does not say its length is measured while it arrives, before it is held whole.
 *
 * @module
 */
import { encodeText } from "../core/bytes.ts";
import type { Limits } from "../core/limits.ts";
import type { Refusal } from "./refusal.ts";

export type BodyResult = { readonly value: unknown; readonly refusal?: undefined } | { readonly refusal: Refusal };

/** Reads one JSON body. Never throws for what a peer sends. */
export async function readBody(request: Request, { bodyBytesMax, bodyDepthMax }: Limits): Promise<BodyResult> {
  const length = request.headers.get("Content-Length");
  const tooLarge = { refusal: { reason: "body-too-large", bytesMax: bodyBytesMax } } as const;
  if (Number(length) > bodyBytesMax) return tooLarge;
  try {
    // Whole where its length is known: each chunk would be a turn of the event loop.
    const text =
      length === null ? await readChunks(request, bodyBytesMax) : unbroken(await request.text(), Number(length));
    if (text === undefined) return tooLarge;
    const value: unknown = JSON.parse(text);
    if (isDeeper(value, bodyDepthMax)) return { refusal: { reason: "body-too-deep", depthMax: bodyDepthMax } };
    return { value };
  } catch {
    // Broken UTF-8, broken JSON or a body cut short: to the peer they are the same.
    return { refusal: { reason: "not-json" } };
  }
}

/**
 * A body that is not UTF-8 is not JSON (RFC 8259, 8.1). As text it has U+FFFD in the place of what is broken, mostly
 * longer than that was: so it shows, all but a character of four bytes that lacks the last, which stays U+FFFD.
 *
 * @throws {SyntaxError} when it shows.
 */
function unbroken(text: string, length: number): string {
  if (text.includes("\ufffd") && encodeText(text).byteLength > length) throw new SyntaxError("not UTF-8");
  return text;
}

/** Undefined when it is too large. */
async function readChunks(request: Request, bytesMax: number): Promise<string | undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  let [text, bytes] = ["", 0];
  // Leaving the loop early cancels the body.
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Whether arrays and objects nest deeper than so many levels. The parser needs no stack for them; what comes after does. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const member of Object.values(value)) if (isDeeper(member, levels - 1)) return true;
  return false;
}
