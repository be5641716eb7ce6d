/** What `npm run pictures` makes of a terminal and of a screenshot. */
import { crc32, deflateSync, inflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { withPalette } from "../../scripts/pictures/png.ts";
import { terminalPage, toHtml } from "../../scripts/pictures/terminal.ts";

const ESCAPE = "\u001b";

test("styles of a terminal become elements, and its other sequences and markup do not", () => {
  const written = `${ESCAPE}[?25l${ESCAPE}[1mroll${ESCAPE}[22m(<sides>) ${ESCAPE}[32mread-only${ESCAPE}[39m`;
  expect(toHtml(written)).toBe(
    '<span style="font-weight:600">roll</span>(&lt;sides&gt;) <span style="color:light-dark(#1a7f43,#6fdc9b)">read-only</span>',
  );
  expect(toHtml(`${ESCAPE}[2mopen`)).toBe('<span style="color:var(--soft)">open</span>');
  expect(terminalPage([{ typed: "mcp-edge <x>", output: "done\r\n" }])).toContain("mcp-edge &lt;x&gt;\ndone</span>");
});

function chunk(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), body]);
  const numbers = Buffer.alloc(8);
  numbers.writeUInt32BE(body.length);
  numbers.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([numbers.subarray(0, 4), named, numbers.subarray(4)]);
}

/** A picture of one pixel for each row, with filters, in the order of the numbers of the filters. */
function filtered(rows: readonly (readonly number[])[]): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(2);
  header.writeUInt32BE(rows.length, 4);
  header.set([8, 2], 8);
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.from(rows.flat()))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

test("a picture keeps its colours with every filter, and has a palette", () => {
  const png = withPalette(
    filtered([
      [0, 10, 20, 30, 40, 50, 60],
      [1, 10, 20, 30, 30, 30, 30],
      [2, 0, 0, 0, 0, 0, 0],
      [3, 5, 10, 15, 15, 15, 15],
      [4, 0, 0, 0, 0, 0, 0],
    ]),
  );
  const at = (type: string) => png.indexOf(type) + 4;
  const palette = png.subarray(at("PLTE"), at("PLTE") + png.readUInt32BE(at("PLTE") - 8));
  const rows = inflateSync(png.subarray(at("IDAT"), at("IDAT") + png.readUInt32BE(at("IDAT") - 8)));
  const pixel = (x: number, y: number) => [...palette.subarray((rows[y * 3 + 1 + x] ?? 0) * 3).subarray(0, 3)];
  expect([0, 1, 2, 3, 4].map((y) => [pixel(0, y), pixel(1, y)])).toEqual([
    [
      [10, 20, 30],
      [40, 50, 60],
    ],
    [
      [10, 20, 30],
      [40, 50, 60],
    ],
    [
      [10, 20, 30],
      [40, 50, 60],
    ],
    [
      [10, 20, 30],
      [40, 50, 60],
    ],
    [
      [10, 20, 30],
      [40, 50, 60],
    ],
  ]);
  expect(png[25]).toBe(3);
});
