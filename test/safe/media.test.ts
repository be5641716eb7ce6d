/** Media types checked against bytes. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { audioContent, checkMediaBytes, detectMediaType, imageContent, RefusedError } from "../../src/safe/index.ts";

const latin = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

const FILES: readonly (readonly [mediaType: string, bytes: string])[] = [
  ["image/png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"],
  ["image/jpeg", "\xff\xd8\xff\xe0\0\x10JFIF"],
  ["image/gif", "GIF89a\x01\0"],
  ["image/gif", "GIF87a\x01\0"],
  ["image/webp", "RIFF\x24\0\0\0WEBPVP8 "],
  ["image/avif", "\0\0\0\x20ftypavif\0\0\0\0"],
  ["image/heic", "\0\0\0\x18ftypheic\0\0\0\0"],
  ["image/bmp", "BM\x46\0\0\0\0\0\0\0\x36\0"],
  ["image/tiff", "II*\0\x08\0\0\0"],
  ["image/tiff", "MM\0*\0\0\0\x08"],
  ["image/x-icon", "\0\0\x01\0\x01\0"],
  ["audio/wav", "RIFF\x24\0\0\0WAVEfmt "],
  ["audio/mpeg", "ID3\x04\0\0"],
  ["audio/mpeg", "\xff\xfb\x90\x64"],
  ["audio/mpeg", "\xff\xf3\x40\xc4"],
  ["audio/aac", "\xff\xf1\x50\x80"],
  ["audio/mp4", "\0\0\0\x20ftypM4A \0\0\0\0"],
  ["audio/ogg", "OggS\0\x02"],
  ["audio/flac", "fLaC\0\0\0\x22"],
  ["audio/aiff", "FORM\0\0\0\0AIFFCOMM"],
  ["audio/midi", "MThd\0\0\0\x06"],
  ["video/mp4", "\0\0\0\x18ftypmp42\0\0\0\0"],
  ["video/webm", "\x1aE\xdf\xa3\x9fB"],
  ["application/pdf", "%PDF-1.7\n"],
  ["application/zip", "PK\x03\x04\x14\0"],
  ["application/gzip", "\x1f\x8b\x08\0"],
];

describe("detectMediaType", () => {
  test.each(FILES)("recognises %s by %j", (mediaType, bytes) => {
    expect(detectMediaType(latin(bytes))).toBe(mediaType);
    expect(() => checkMediaBytes(latin(bytes), mediaType)).not.toThrow();
    expect(() => checkMediaBytes(latin(bytes), `${mediaType.toUpperCase()}; a=b`)).not.toThrow();
  });

  test.each([
    "",
    "<svg xmlns='http://www.w3.org/2000/svg'>",
    "<html>",
    "\xff\xd8",
    "RIFF....AVI ",
    "\xff\xff\xff\xff",
    "GIF88a",
    "text",
  ])("does not recognise %j", (bytes) => {
    expect(detectMediaType(latin(bytes))).toBeUndefined();
  });

  test("never accepts a file of one type as another family", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...FILES),
        fc.constantFrom(...FILES),
        fc.uint8Array(),
        ([type, bytes], [other], rest) => {
          const file = Uint8Array.of(...latin(bytes), ...rest);
          const accepts = (wanted: string) => {
            try {
              checkMediaBytes(file, wanted);
              return true;
            } catch (error) {
              expect(error).toBeInstanceOf(RefusedError);
              return false;
            }
          };
          expect(accepts(type)).toBe(true);
          // An M4A file is an MP4 file as well.
          if (other !== type && ![other, type].includes("video/mp4")) expect(accepts(other)).toBe(false);
        },
      ),
    );
  });
});

describe("imageContent and audioContent", () => {
  const png = latin("\x89PNG\r\n\x1a\n");
  const wav = latin("RIFF\x24\0\0\0WAVE");

  test("return content blocks with the type that the bytes have", () => {
    expect(imageContent(png)).toEqual({ type: "image", data: png, mimeType: "image/png" });
    expect(audioContent(wav, { mimeType: "audio/x-wav" })).toEqual({
      type: "audio",
      data: wav,
      mimeType: "audio/x-wav",
    });
  });

  test.each([
    ["HTML declared as an image", () => imageContent(latin("<html>"), { mimeType: "image/png" })],
    ["SVG", () => imageContent(latin("<svg>"), { mimeType: "image/svg+xml" })],
    ["a sound as an image", () => imageContent(wav)],
    ["an image as a sound", () => audioContent(png)],
    ["an image with the type of a page", () => imageContent(png, { mimeType: "text/html" })],
    ["a JPEG declared as PNG", () => imageContent(latin("\xff\xd8\xff\xe0"), { mimeType: "image/png" })],
    ["nothing", () => imageContent(new Uint8Array())],
    ["too many bytes", () => imageContent(png, { bytesMax: 7 })],
  ])("refuse %s", (_what, make) => {
    expect(make).toThrow(RefusedError);
  });

  test("throw for a misspelt option", () => {
    expect(() => imageContent(png, { mimetype: "image/png" } as object)).toThrow('Did you mean "mimeType"?');
  });

  test("can be returned by a tool", () => {
    expect(() => new McpServer({ name: "a", version: "1" }).tool("a", {}, () => imageContent(png))).not.toThrow();
  });
});
