/**
 * Checks that bytes match their media type.
 *
 * @module
 * @see WHATWG MIME Sniffing Standard, "Matching a MIME type pattern"
 */
import { checkOptions, type OptionTable, SIZE } from "../core/protocol/check-options.ts";
import type { AudioContent, ImageContent } from "../core/protocol/content.ts";
import { RefusedError } from "./refused.ts";

/** The first bytes of a file as Latin-1 characters. A dot matches any byte. */
type Signature = readonly [mediaType: string, start: string];

/** The maximum number of bytes of a signature. @limit internal */
const SIGNATURE_MAX = 64;

const SIGNATURES: readonly Signature[] = [
  ["image/png", "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", "\xff\xd8\xff"],
  ["image/gif", "GIF87a"],
  ["image/gif", "GIF89a"],
  ["image/webp", "RIFF....WEBPVP8"],
  ["image/bmp", "BM....\0\0\0\0"],
  ["image/tiff", "II*\0"],
  ["image/tiff", "MM\0*"],
  ["image/x-icon", "\0\0\x01\0"],
  ["image/avif", "....ftypavif"],
  ["image/avif", "....ftypavis"],
  ["image/heic", "....ftypheic"],
  ["image/heic", "....ftypheix"],
  ["audio/wav", "RIFF....WAVE"],
  ["audio/flac", "fLaC"],
  ["audio/ogg", "OggS"],
  ["audio/mpeg", "ID3"],
  ["audio/mp4", "....ftypM4A"],
  ["audio/aac", "\xff\xf1"],
  ["audio/aac", "\xff\xf9"],
  ["audio/midi", "MThd"],
  ["audio/aiff", "FORM....AIFF"],
  ["video/mp4", "....ftypisom"],
  ["video/mp4", "....ftypmp42"],
  ["video/webm", "\x1aE\xdf\xa3"],
  ["application/pdf", "%PDF-"],
  ["application/zip", "PK\x03\x04"],
  ["application/gzip", "\x1f\x8b\x08"],
];

/** Alternative names of media types, and media types whose files can have several signatures. */
const SAME: Readonly<Record<string, readonly string[]>> = {
  "image/jpg": ["image/jpeg"],
  "image/vnd.microsoft.icon": ["image/x-icon"],
  "image/heif": ["image/heic"],
  "audio/x-wav": ["audio/wav"],
  "audio/wave": ["audio/wav"],
  "audio/vnd.wave": ["audio/wav"],
  "audio/mp3": ["audio/mpeg"],
  "audio/x-flac": ["audio/flac"],
  "audio/x-m4a": ["audio/mp4"],
  "audio/m4a": ["audio/mp4"],
  "audio/mp4": ["audio/mp4", "video/mp4"],
  "audio/opus": ["audio/ogg"],
  "audio/vorbis": ["audio/ogg"],
  "audio/webm": ["video/webm"],
  "video/ogg": ["audio/ogg"],
  "application/x-pdf": ["application/pdf"],
};

/**
 * Detects the media type from the first bytes: images (PNG, JPEG, GIF, WebP, AVIF, HEIC, BMP, TIFF, ICO), audio (WAV, MP3, AAC,
 * M4A, Ogg, FLAC, AIFF, MIDI), MP4, WebM, PDF, ZIP and gzip. Returns undefined for all other types, including text formats such as
 * SVG and HTML.
 */
export function detectMediaType(bytes: Uint8Array): string | undefined {
  const start = String.fromCharCode(...bytes.subarray(0, SIGNATURE_MAX));
  const found = SIGNATURES.find(([, signature]) => {
    return signature.length <= start.length && [...signature].every((byte, at) => byte === "." || byte === start[at]);
  });
  return found?.[0] ?? (isMpegAudio(bytes) ? "audio/mpeg" : undefined);
}

/**
 * Detects an MP3 file without tags, which begins with a frame header: 11 synchronization bits, and no reserved values. The bytes
 * FF FE would be a header of layer I, which is no longer used, but are the byte order mark of a text in UTF-16.
 */
function isMpegAudio([first = 0, second = 0, third = 0]: Uint8Array): boolean {
  if (second === 0xfe) return false;
  const [version, layer] = [(second >> 3) & 3, (second >> 1) & 3];
  return (
    first === 0xff && second >= 0xe0 && version !== 1 && layer !== 0 && third >> 4 !== 15 && ((third >> 2) & 3) !== 3
  );
}

/**
 * Checks that the first bytes match a media type.
 *
 * @throws {RefusedError} `media-type` if they do not match, or if `detectMediaType` does not support the media type.
 */
export function checkMediaBytes(bytes: Uint8Array, mediaType: string): void {
  const wanted = (mediaType.split(";")[0] ?? "").trim().toLowerCase();
  const detected = detectMediaType(bytes);
  if (detected !== undefined && signaturesOf(wanted).includes(detected)) return;
  throw new RefusedError(
    "media-type",
    `The data was refused: it is declared as ${wanted}, but its bytes show ${detected ?? "another type"}.`,
  );
}

/** Returns the results of `detectMediaType` that are accepted for a media type, in lower case and without parameters. */
export function signaturesOf(mediaType: string): readonly string[] {
  return (Object.hasOwn(SAME, mediaType) ? SAME[mediaType] : undefined) ?? [mediaType];
}

/** Whether `detectMediaType` can return a media type that is accepted for this one. */
export function isDetectable(mediaType: string): boolean {
  return SIGNATURES.some(([detected]) => signaturesOf(mediaType).includes(detected));
}

/** Options of {@link imageContent} and {@link audioContent}. */
export interface MediaContentOptions {
  /** The declared media type. @default the detected media type */
  readonly mimeType?: string;
  /** The maximum number of bytes. @default 10 MiB */
  readonly bytesMax?: number;
}

const OPTIONS: OptionTable<MediaContentOptions> = { mimeType: null, bytesMax: SIZE };

/**
 * Creates a content block for an image. SVG is refused, because it may contain scripts.
 *
 * @throws {RefusedError} `media-type` if the bytes are not an image of the declared type; `too-large`.
 */
export function imageContent(bytes: Uint8Array, options: MediaContentOptions = {}): ImageContent {
  return { type: "image", data: bytes, mimeType: checkedType("image/", bytes, options) };
}

/**
 * Creates a content block for audio.
 *
 * @throws {RefusedError} `media-type` if the bytes are not audio of the declared type; `too-large`.
 */
export function audioContent(bytes: Uint8Array, options: MediaContentOptions = {}): AudioContent {
  return { type: "audio", data: bytes, mimeType: checkedType("audio/", bytes, options) };
}

function checkedType(family: string, bytes: Uint8Array, options: MediaContentOptions): string {
  checkOptions(family === "image/" ? "imageContent(): " : "audioContent(): ", options, OPTIONS);
  const { mimeType = detectMediaType(bytes) ?? "", bytesMax = 10 * 1024 * 1024 } = options;
  if (bytes.length > bytesMax)
    throw new RefusedError("too-large", `The data has ${bytes.length} bytes; at most ${bytesMax} are allowed.`);
  if (!mimeType.toLowerCase().startsWith(family)) {
    throw new RefusedError(
      "media-type",
      `The data was refused: it is not ${family === "image/" ? "an image" : "audio"}.`,
    );
  }
  checkMediaBytes(bytes, mimeType);
  return mimeType;
}
