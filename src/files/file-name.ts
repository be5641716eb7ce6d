/**
 * Names of files that strangers have chosen.
 *
 * @module
 */
import { encodeText } from "../core/basics/bytes.ts";
import { cleanText } from "../safe/clean-text.ts";

/** @limit bytes The name of a file, in UTF-8. A longer name is shortened before its extension. */
export const NAME_BYTES_MAX = 255;
/** The maximum number of characters of a name that are read at all. @limit internal */
const NAME_CHARS_MAX = 4_096;
/** The maximum number of characters of an extension that survives shortening, with its dot. @limit internal */
const EXTENSION_MAX = 16;

/** Names of devices on Windows, with any extension. */
const DEVICE = /^(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³]) *(\.|$)/i;

/**
 * Returns a name that is safe to show and to use for a file in any folder: without folders, control characters, invisible
 * characters, marks that reorder text, leading dots, and characters that a file system or shell treats specially. At most
 * 255 bytes of UTF-8.
 */
export function cleanFileName(given: string): string {
  const last = cleanText(given.slice(-NAME_CHARS_MAX)).split(/[/\\]/).at(-1) ?? "";
  const plain = last
    .normalize("NFC")
    .replace(/\s+/g, " ")
    .replace(/[<>:"|?*`$;&'%]/g, "_")
    .replace(/^[. ~-]+/, "");
  const name = shortenFileName(withoutEnd(plain), NAME_BYTES_MAX);
  if (name === "") return "file";
  return DEVICE.test(name) ? shortenFileName(`_${name}`, NAME_BYTES_MAX) : name;
}

/** Removes dots and spaces from the end, which Windows ignores. A regular expression would need quadratic time. */
function withoutEnd(name: string): string {
  let end = name.length;
  while (end > 0 && ". ".includes(name.charAt(end - 1))) end -= 1;
  return name.slice(0, end);
}

/**
 * Shortens a name before its extension, by whole characters.
 *
 * @param bytesMax The maximum number of bytes of UTF-8.
 */
export function shortenFileName(name: string, bytesMax: number): string {
  if (encodeText(name).length <= bytesMax) return name;
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && name.length - dot <= EXTENSION_MAX ? name.slice(dot) : "";
  let left = bytesMax - encodeText(extension).length;
  let kept = "";
  for (const character of name.slice(0, name.length - extension.length)) {
    left -= encodeText(character).length;
    if (left < 0) break;
    kept += character;
  }
  return withoutEnd(kept + extension);
}

/**
 * Returns the value of Content-Disposition that makes a browser store the file, and never show it.
 *
 * @param name A result of {@link cleanFileName}, so it has neither quotes nor backslashes.
 * @see RFC 6266, RFC 8187
 */
export function contentDisposition(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]/g, "_");
  const encoded = encodeURIComponent(name).replace(
    /[!'()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
