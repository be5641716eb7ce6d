/**
 * A picture of coloured pixels, and its encoding as PNG (ISO/IEC 15948), using only web standards. Templates do not share code, so the
 * template "data" has a copy of this file.
 */

export type Color = readonly [red: number, green: number, blue: number];

export class Picture {
  readonly #pixels: Uint8Array;
  readonly width: number;
  readonly height: number;

  constructor(width: number, height: number, background: Color) {
    this.width = width;
    this.height = height;
    this.#pixels = new Uint8Array(width * height * 3);
    this.fill(0, 0, width, height, background);
  }

  /** Fills a rectangle. Parts outside of the picture are ignored. */
  fill(left: number, top: number, width: number, height: number, color: Color): void {
    for (let y = Math.max(0, Math.round(top)); y < Math.min(this.height, Math.round(top + height)); y++) {
      for (let x = Math.max(0, Math.round(left)); x < Math.min(this.width, Math.round(left + width)); x++) {
        this.#pixels.set(color, (y * this.width + x) * 3);
      }
    }
  }

  async toPng(): Promise<Uint8Array> {
    const header = new DataView(new ArrayBuffer(13));
    header.setUint32(0, this.width);
    header.setUint32(4, this.height);
    header.setUint8(8, 8); // bits for each color
    header.setUint8(9, 2); // red, green and blue
    // Each line begins with the type of its filter; 0 means no filter.
    const lines = new Uint8Array(this.height * (this.width * 3 + 1));
    for (let y = 0; y < this.height; y++) {
      lines.set(this.#pixels.subarray(y * this.width * 3, (y + 1) * this.width * 3), y * (this.width * 3 + 1) + 1);
    }
    const parts = [
      new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
      chunk("IHDR", new Uint8Array(header.buffer)),
      chunk("IDAT", await deflate(lines)),
      chunk("IEND", new Uint8Array()),
    ];
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  }
}

async function deflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const compressed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(compressed).arrayBuffer());
}

/** Encodes a chunk: the length of the data, the type, the data, and a checksum of type and data. */
function chunk(type: string, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(data.length + 12);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(new TextEncoder().encode(type), 4);
  bytes.set(data, 8);
  view.setUint32(data.length + 8, crc32(bytes.subarray(4, data.length + 8)));
  return bytes;
}

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
