/** Draws the graph on a canvas, in the colors of its box. */
import type { Curve } from "../src/formula.ts";
import { listTicks, type Region, show, traceCurve } from "../src/region.ts";

export interface Picture {
  readonly curve: Curve | undefined;
  readonly region: Region;
  /** The values of x to mark on the axis. */
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
  const toX = (x: number) => (width * (x - xMin)) / (xMax - xMin);
  const toY = (y: number) => height * (1 - (y - yMin) / (yMax - yMin));

  context.font = `11px ${fontFamily}`;
  context.fillStyle = ink;
  for (const x of listTicks(xMin, xMax, Math.max(2, width / 80))) {
    stroke(context, x === 0 ? ink : grid, 1, [
      [toX(x), 0],
      [toX(x), height],
    ]);
    context.fillText(show(x), toX(x) + 3, height - 4);
  }
  for (const y of listTicks(yMin, yMax, Math.max(2, height / 60))) {
    stroke(context, y === 0 ? ink : grid, 1, [
      [0, toY(y)],
      [width, toY(y)],
    ]);
    context.fillText(show(y), 3, toY(y) - 3);
  }
  if (curve) for (const line of traceCurve(curve, region, width, height)) stroke(context, caretColor, 2, line);
  context.fillStyle = caretColor;
  for (const mark of marks) {
    context.beginPath();
    context.arc(toX(mark), toY(0), 4, 0, 2 * Math.PI);
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
