/** Draws the graph on a canvas, in the colors of its box. */
import type { Curve } from "../src/formula.ts";
import { linesOf, type Region, show, ticksOf } from "../src/region.ts";

export interface Picture {
  readonly curve: Curve | undefined;
  readonly region: Region;
  /** Places on the x axis to mark. */
  readonly marks: readonly number[];
}

export function draw(box: HTMLElement, canvas: HTMLCanvasElement, { curve, region, marks }: Picture): void {
  const context = canvas.getContext("2d");
  const { clientWidth: width, clientHeight: height } = canvas;
  if (!context || width === 0) return;
  const scale = devicePixelRatio;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  context.scale(scale, scale);
  const { color: ink, borderTopColor: grid, caretColor, fontFamily } = getComputedStyle(box);
  const { xMin, xMax, yMin, yMax } = region;
  const xOf = (x: number) => (width * (x - xMin)) / (xMax - xMin);
  const yOf = (y: number) => height * (1 - (y - yMin) / (yMax - yMin));

  context.font = `11px ${fontFamily}`;
  context.fillStyle = ink;
  for (const x of ticksOf(xMin, xMax, Math.max(2, width / 80))) {
    stroke(context, x === 0 ? ink : grid, 1, [
      [xOf(x), 0],
      [xOf(x), height],
    ]);
    context.fillText(show(x), xOf(x) + 3, height - 4);
  }
  for (const y of ticksOf(yMin, yMax, Math.max(2, height / 60))) {
    stroke(context, y === 0 ? ink : grid, 1, [
      [0, yOf(y)],
      [width, yOf(y)],
    ]);
    context.fillText(show(y), 3, yOf(y) - 3);
  }
  if (curve) for (const line of linesOf(curve, region, width, height)) stroke(context, caretColor, 2, line);
  context.fillStyle = caretColor;
  for (const mark of marks) {
    context.beginPath();
    context.arc(xOf(mark), yOf(0), 4, 0, 2 * Math.PI);
    context.fill();
  }
}

function stroke(
  context: CanvasRenderingContext2D,
  color: string,
  lineWidth: number,
  points: readonly (readonly [number, number])[],
): void {
  context.strokeStyle = color;
  context.lineWidth = lineWidth;
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y);
  context.stroke();
}
