/** Makes a picture of a page smaller: at most 256 colours, which is enough for text and areas. */
import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS_MAX = 256;

/** The pixels of a picture as numbers `0xrrggbb`, row by row. */
interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array;
}

/** Returns the picture with a palette. Colours that are not in it become the most similar one. */
export function withPalette(png: Uint8Array): Buffer {
  const { width, height, pixels } = decode(Buffer.from(png));
  const counts = new Map<number, number>();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const palette = paletteOf(counts);
  const indexOf = new Map([...counts.keys()].map((colour) => [colour, nearest(colour, palette)]));
  const rows = Buffer.alloc((width + 1) * height);
  for (const [at, pixel] of pixels.entries()) {
    rows[at + Math.floor(at / width) + 1] = indexOf.get(pixel) ?? 0;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits, with a palette.
  header.set([8, 3], 8);
  const colours = Buffer.from(palette.flatMap(channels));
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/**
 * Chooses the colours: half of them because they are frequent, such as the shades of a gradient, and the rest because nothing similar was
 * chosen, such as the colour of a small icon.
 */
function paletteOf(counts: ReadonlyMap<number, number>): number[] {
  const colours = [...counts.keys()].sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0));
  const palette = colours.splice(0, COLOURS_MAX / 2);
  const rest = colours.map((colour) => ({
    colour,
    count: counts.get(colour) ?? 0,
    gap: Math.min(...palette.map((each) => distance(colour, each))),
  }));
  while (palette.length < COLOURS_MAX) {
    const [chosen] = rest.sort((a, b) => b.gap * b.count - a.gap * a.count);
    if (!chosen || chosen.gap === 0) break;
    palette.push(chosen.colour);
    for (const each of rest) each.gap = Math.min(each.gap, distance(each.colour, chosen.colour));
  }
  return palette;
}

/** Reads a picture as Chromium writes it: 8 bits for each channel, not interlaced. */
function decode(png: Buffer): Picture {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const size = png[25] === 6 ? 4 : 3;
  const data = inflateSync(
    Buffer.concat([...chunks(png)].flatMap(({ type, body }) => (type === "IDAT" ? [body] : []))),
  );
  const stride = width * size;
  const pixels = new Uint32Array(width * height);
  let above = new Uint8Array(stride);
  for (let y = 0; y < height; y += 1) {
    const start = y * (stride + 1);
    const line = unfilter(data[start] ?? 0, data.subarray(start + 1, start + 1 + stride), above, size);
    for (let x = 0; x < width; x += 1) {
      const [red = 0, green = 0, blue = 0] = line.subarray(x * size, x * size + 3);
      pixels[y * width + x] = (red << 16) | (green << 8) | blue;
    }
    above = line;
  }
  return { width, height, pixels };
}

/** Returns the bytes of a row. @see PNG, section 9 */
function unfilter(filter: number, line: Uint8Array, above: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(line.length);
  for (let at = 0; at < line.length; at += 1) {
    const [left, up, corner] = [bytes[at - size] ?? 0, above[at] ?? 0, above[at - size] ?? 0];
    const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
    bytes[at] = (line[at] ?? 0) + predicted;
  }
  return bytes;
}

function paeth(left: number, up: number, corner: number): number {
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

function* chunks(png: Buffer): Generator<{ readonly type: string; readonly body: Buffer }> {
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    yield { type: png.toString("latin1", at + 4, at + 8), body: png.subarray(at + 8, at + 8 + length) };
    at += length + 12;
  }
}

function chunk(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), body]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(body.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** Returns the index of the most similar colour. */
function nearest(colour: number, palette: readonly number[]): number {
  const distances = palette.map((each) => distance(colour, each));
  return distances.indexOf(Math.min(...distances));
}

/** Returns how much two colours differ, as a square. */
function distance(one: number, other: number): number {
  const there = channels(other);
  return channels(one).reduce((sum, channel, at) => sum + (channel - (there[at] ?? 0)) ** 2, 0);
}

function channels(colour: number): [number, number, number] {
  return [colour >> 16, (colour >> 8) & 255, colour & 255];
}
