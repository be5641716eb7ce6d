/**
 * Reading a body within its bounds: too much or too deep is found while it arrives, before it is held whole.
 *
 * @module
 */
import { DepthGauge } from "../core/depth-gauge.ts";
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
