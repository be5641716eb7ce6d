/**
 * Small files in the arguments of a call, as data URLs.
 *
 * @module
 * @see RFC 2397
 */
import { decodeBase64, isBase64 } from "../core/basics/bytes.ts";
import { formatBytes } from "./format-bytes.ts";

/**
 * @limit bytes A file in the arguments of a call, in base64. Hosts cut arguments at about 137 KB, and part of a file would look
 * like a whole one, so a larger file has to be uploaded.
 */
export const ARGUMENT_BYTES_MAX = 96_000;

/** The maximum number of characters of a data URL that are read: its base64, with its media type. @limit internal */
const CHARS_MAX = 140_000;

/** The parts of a data URL, or why it is refused. */
export type DataUrl =
  | { readonly bytes: Uint8Array<ArrayBuffer>; readonly declared: string; readonly problem?: undefined }
  | { readonly problem: string };

/** Whether a reference is a data URL. */
export function isDataUrl(reference: string): boolean {
  return reference.slice(0, 5).toLowerCase() === "data:";
}

/** Reads a data URL. Only base64 is accepted, because models often encode other forms wrongly. */
export function readDataUrl(url: string): DataUrl {
  if (url.length > CHARS_MAX) return TOO_LARGE;
  const comma = url.indexOf(",");
  const head = comma === -1 ? "" : url.slice("data:".length, comma);
  if (!/;\s*base64$/i.test(head))
    return { problem: "it is not a data: URL in base64, such as data:text/csv;base64,YSxiCg==" };
  const text = url
    .slice(comma + 1)
    .replace(/\s+/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/");
  // More than two characters of padding are not base64. The bound also keeps the time linear.
  const bare = text.replace(/(?:%3d|=){1,2}$/i, "");
  const padded = bare.padEnd(Math.ceil(bare.length / 4) * 4, "=");
  if (!isBase64(padded)) return { problem: "its base64 is not valid, perhaps because it was cut off" };
  const bytes = decodeBase64(padded);
  return bytes.length > ARGUMENT_BYTES_MAX ? TOO_LARGE : { bytes, declared: head.replace(/;.*$/s, "") };
}

const TOO_LARGE: DataUrl = {
  problem: `a data: URL has at most ${formatBytes(ARGUMENT_BYTES_MAX)}, because hosts cut off larger arguments`,
};
