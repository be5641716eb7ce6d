/** Draws bar charts and line charts with labels. */
import { type Color, Picture } from "./png.ts";

export interface Point {
  readonly label: string;
  readonly value: number;
}

const WIDTH = 640;
const HEIGHT = 360;
const PLOT = { left: 72, top: 40, width: 552, height: 268 };
const WHITE: Color = [255, 255, 255];
const INK: Color = [51, 51, 51];
const GRID: Color = [221, 221, 221];
const BLUE: Color = [31, 119, 180];
const GRID_LINES = 4;

/** Returns a chart of at least one point, as PNG. The axis always includes zero, so that lengths can be compared. */
export async function drawChart(title: string, kind: "bar" | "line", points: readonly Point[]): Promise<Uint8Array> {
  const picture = new Picture(WIDTH, HEIGHT, WHITE);
  const low = Math.min(0, ...points.map(({ value }) => value));
  const high = Math.max(0, ...points.map(({ value }) => value));
  const range = high - low || 1;
  const toY = (value: number) => PLOT.top + PLOT.height * (1 - (value - low) / range);

  write(picture, title, PLOT.left, 14, (WIDTH - PLOT.left) / CHARACTER_WIDTH);
  for (let line = 0; line <= GRID_LINES; line++) {
    const value = low + (range * line) / GRID_LINES;
    picture.fill(PLOT.left, toY(value), PLOT.width, 1, GRID);
    write(picture, formatNumber(value), 4, toY(value) - 5, 8);
  }

  const slot = PLOT.width / points.length;
  const centers = points.map((_, at) => PLOT.left + slot * (at + 0.5));
  for (const [at, { value }] of points.entries()) {
    const x = centers[at] ?? 0;
    const previous = points[at - 1];
    if (kind === "bar") {
      const width = Math.max(1, slot * 0.7);
      picture.fill(x - width / 2, Math.min(toY(value), toY(0)), width, Math.abs(toY(value) - toY(0)), BLUE);
    } else if (previous) {
      connect(picture, centers[at - 1] ?? 0, toY(previous.value), x, toY(value));
    } else {
      picture.fill(x - 2, toY(value) - 2, 4, 4, BLUE);
    }
  }
  picture.fill(PLOT.left, toY(0), PLOT.width, 1, INK);

  // Draw only as many labels as fit, each cut to the available width.
  const step = Math.ceil(points.length / 12);
  for (let at = 0; at < points.length; at += step) {
    const length = Math.max(2, Math.floor((slot * step) / CHARACTER_WIDTH) - 1);
    write(picture, points[at]?.label ?? "", PLOT.left + slot * at + 2, HEIGHT - 38, length);
  }
  return picture.toPng();
}

/** Draws a line as a series of squares. */
function connect(picture: Picture, x1: number, y1: number, x2: number, y2: number): void {
  const steps = Math.ceil(Math.max(Math.abs(x2 - x1), Math.abs(y2 - y1), 1));
  for (let step = 0; step <= steps; step++) {
    picture.fill(x1 + ((x2 - x1) * step) / steps - 1, y1 + ((y2 - y1) * step) / steps - 1, 3, 3, BLUE);
  }
}

const formatNumber = (value: number) =>
  new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 }).format(value);

/**
 * Characters of three by five dots. Each digit is one line, from top to bottom, and each of its three bits is a dot: 5 means a dot on
 * the left and a dot on the right.
 */
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
  A: "25755",
  B: "65656",
  C: "34443",
  D: "65556",
  E: "74647",
  F: "74644",
  G: "34553",
  H: "55755",
  I: "72227",
  J: "11152",
  K: "55655",
  L: "44447",
  M: "57755",
  N: "65555",
  O: "25552",
  P: "65644",
  Q: "25573",
  R: "65655",
  S: "34216",
  T: "72222",
  U: "55557",
  V: "55552",
  W: "55775",
  X: "55255",
  Y: "55222",
  Z: "71247",
  " ": "00000",
  "-": "00700",
  ".": "00002",
  ",": "00024",
  ":": "02020",
  "/": "11244",
  _: "00007",
  "%": "51245",
  "(": "12221",
  ")": "42224",
  "+": "02720",
};
const UNKNOWN = "71202";
const DOT = 2;
const CHARACTER_WIDTH = 4 * DOT;

/** Writes text in capital letters, cut after a number of characters. */
function write(picture: Picture, text: string, left: number, top: number, charactersMax: number): void {
  const plain = text.normalize("NFD").replaceAll(/\p{M}/gu, "").toUpperCase();
  for (const [at, character] of [...plain].slice(0, charactersMax).entries()) {
    for (const [line, digit] of [...(GLYPHS[character] ?? UNKNOWN)].entries()) {
      for (let column = 0; column < 3; column++) {
        if ((Number(digit) & (4 >> column)) === 0) continue;
        picture.fill(left + at * CHARACTER_WIDTH + column * DOT, top + line * DOT, DOT, DOT, INK);
      }
    }
  }
}
