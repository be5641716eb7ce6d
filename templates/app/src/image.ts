/** Draws the graph as PNG, for hosts that do not show views. */
import type { Curve } from "./formula.ts";
import { type Color, Picture } from "./png.ts";
import { listTicks, type Region, show, traceCurve } from "./region.ts";

const WIDTH = 640;
const HEIGHT = 400;
const WHITE: Color = [255, 255, 255];
const GRID: Color = [225, 225, 225];
const INK: Color = [85, 85, 85];
const BLUE: Color = [0, 95, 184];

export async function drawGraph(curve: Curve, region: Region): Promise<Uint8Array> {
  const { xMin, xMax, yMin, yMax } = region;
  const picture = new Picture(WIDTH, HEIGHT, WHITE);
  const toX = (x: number) => (WIDTH * (x - xMin)) / (xMax - xMin);
  const toY = (y: number) => HEIGHT * (1 - (y - yMin) / (yMax - yMin));
  for (const x of listTicks(xMin, xMax, 8)) {
    picture.fill(toX(x), 0, 1, HEIGHT, x === 0 ? INK : GRID);
    write(picture, show(x), toX(x) + 3, HEIGHT - 14);
  }
  for (const y of listTicks(yMin, yMax, 6)) {
    picture.fill(0, toY(y), WIDTH, 1, y === 0 ? INK : GRID);
    write(picture, show(y), 3, toY(y) + 3);
  }
  for (const line of traceCurve(curve, region, WIDTH, HEIGHT)) {
    for (const [at, [x, y]] of line.entries()) {
      // In each column, the curve is a bar from the previous value to the current one.
      const previous = line[at - 1]?.[1] ?? y;
      picture.fill(x - 1, Math.min(previous, y) - 1, 2, Math.abs(y - previous) + 2, BLUE);
    }
  }
  return picture.toPng();
}

/** Characters of three by five dots. Each digit is one line, from top to bottom, and each of its three bits is a dot. */
const GLYPHS: Readonly<Record<string, string>> = {
  "0": "75557",
  "1": "26227",
  "2": "71747",
  "3": "71717",
  "4": "55711",
  "5": "74717",
  "6": "74757",
  "7": "71122",
  "8": "75757",
  "9": "75717",
  "-": "00700",
  "+": "02720",
  ".": "00002",
  e: "07647",
};
const DOT = 2;

function write(picture: Picture, text: string, left: number, top: number): void {
  for (const [at, character] of [...text].entries()) {
    for (const [line, digit] of [...(GLYPHS[character] ?? "")].entries()) {
      for (let column = 0; column < 3; column++) {
        if ((Number(digit) & (4 >> column)) === 0) continue;
        picture.fill(left + (at * 4 + column) * DOT, top + line * DOT, DOT, DOT, INK);
      }
    }
  }
}
