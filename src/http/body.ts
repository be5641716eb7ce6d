/**
 * Reading a body within its bounds. One that does not say its length is measured while it arrives, before it is held whole.
 *
 * @module
 */
import { DepthGauge } from "../core/depth-gauge.ts";
import type { Limits } from "../core/limits.ts";
import type { Refusal } from "./refusal.ts";

export type BodyResult = { readonly value: unknown; readonly refusal?: undefined } | { readonly refusal: Refusal };

/** fatal: a body that is not UTF-8 is not JSON (RFC 8259, 8.1); replacement characters would hide that. */
const FATAL = { fatal: true, ignoreBOM: false };
/** Of whole texts only, so it has no state. */
const WHOLE = new TextDecoder("utf-8", FATAL);

/** Reads one JSON body. Never throws for what a peer sends. */
export async function readBody(request: Request, limits: Limits): Promise<BodyResult> {
  const length = request.headers.get("Content-Length");
  if (Number(length) > limits.bodyBytesMax) return tooLarge(limits);
  try {
    if (length === null) return await readChunks(request, limits);
    // Whole where its length is known: each chunk would be a turn of the event loop.
    const bytes = new Uint8Array(await request.arrayBuffer());
    return check(bytes, bytes.byteLength, new DepthGauge(), limits) ?? { value: JSON.parse(WHOLE.decode(bytes)) };
  } catch {
    // Broken UTF-8, broken JSON or a body cut short: to the peer they are the same.
    return { refusal: { reason: "not-json" } };
  }
}

async function readChunks(request: Request, limits: Limits): Promise<BodyResult> {
  const decoder = new TextDecoder("utf-8", FATAL);
  const depth = new DepthGauge();
  let [text, bytes] = ["", 0];
  // Leaving the loop early cancels the body.
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    const refused = check(chunk, bytes, depth, limits);
    if (refused) return refused;
    text += decoder.decode(chunk, { stream: true });
  }
  return { value: JSON.parse(text + decoder.decode()) };
}

/** Why what came next is too much. @param bytes All that have come. */
function check(chunk: Uint8Array, bytes: number, depth: DepthGauge, limits: Limits): BodyResult | undefined {
  if (bytes > limits.bodyBytesMax) return tooLarge(limits);
  const { bodyDepthMax } = limits;
  return depth.feed(chunk) > bodyDepthMax
    ? { refusal: { reason: "body-too-deep", depthMax: bodyDepthMax } }
    : undefined;
}

function tooLarge({ bodyBytesMax }: Limits): BodyResult {
  return { refusal: { reason: "body-too-large", bytesMax: bodyBytesMax } };
}
