/** The visible part of the plane, and the curve in it. The server and the view use these functions to draw. */
import type { Curve } from "./formula.ts";

export interface Region {
  readonly xMin: number;
  readonly xMax: number;
  readonly yMin: number;
  readonly yMax: number;
}

/** The minimum and maximum width of a region. Outside of them, numbers are not precise enough for a graph. */
const WIDTH_MIN = 1e-6;
const WIDTH_MAX = 1e9;
const SAMPLES = 400;

/** Moves a region by fractions of its size. */
export function pan({ xMin, xMax, yMin, yMax }: Region, right: number, up: number): Region {
  const [dx, dy] = [(xMax - xMin) * right, (yMax - yMin) * up];
  return { xMin: xMin + dx, xMax: xMax + dx, yMin: yMin + dy, yMax: yMax + dy };
}

/**
 * Makes a region smaller (factor < 1) or larger around a fixed point, which is given in fractions from the left and from the bottom.
 * Returns the region unchanged if the new size is out of bounds.
 */
export function zoom(region: Region, factor: number, atX = 0.5, atY = 0.5): Region {
  const { xMin, xMax, yMin, yMax } = region;
  const [width, height] = [(xMax - xMin) * factor, (yMax - yMin) * factor];
  if (!isFit(width) || !isFit(height)) return region;
  const left = xMin + (xMax - xMin - width) * atX;
  const bottom = yMin + (yMax - yMin - height) * atY;
  return { xMin: left, xMax: left + width, yMin: bottom, yMax: bottom + height };
}

export const isFit = (length: number): boolean => length >= WIDTH_MIN && length <= WIDTH_MAX;

/** Returns a region that shows a curve well between two values of x. It ignores a few very large values. */
export function fitRegion(curve: Curve, xMin: number, xMax: number): Region {
  const values = Array.from({ length: SAMPLES + 1 }, (_, at) => curve(xMin + ((xMax - xMin) * at) / SAMPLES))
    .filter((value) => Math.abs(value) < WIDTH_MAX / 4)
    .toSorted((a, b) => a - b);
  const low = values[Math.floor(values.length * 0.03)] ?? -1;
  const high = values[Math.ceil(values.length * 0.97) - 1] ?? 1;
  // A horizontal line is placed in the middle.
  const margin = high - low > WIDTH_MIN ? (high - low) * 0.1 : Math.max(1, Math.abs(high) / 2);
  return { xMin, xMax, yMin: low - margin, yMax: high + margin };
}

/** Returns about `count` round numbers between two bounds, for grid lines. */
export function listTicks(min: number, max: number, count: number): number[] {
  const rough = (max - min) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((each) => each * power >= rough) ?? 10);
  const first = Math.ceil(min / step);
  const length = Math.max(0, Math.floor(max / step) - first + 1);
  // -0 would be shown as "-0".
  return Array.from({ length }, (_, at) => (first + at) * step + 0);
}

/** Formats a number with five significant digits. */
export const show = (value: number): string => String(Number(value.toPrecision(5)));

export type Point = readonly [x: number, y: number];

/**
 * Returns a curve as lines in a picture of the given size in pixels, with the origin at the top left. A line ends where the curve is
 * undefined, or jumps from above the picture to below it.
 */
export function traceCurve(curve: Curve, region: Region, width: number, height: number): Point[][] {
  const { xMin, xMax, yMin, yMax } = region;
  const lines: Point[][] = [];
  let line: Point[] = [];
  let before = 0;
  for (let x = 0; x <= width; x++) {
    const value = curve(xMin + ((xMax - xMin) * x) / width);
    const y = height * (1 - (value - yMin) / (yMax - yMin));
    const side = y < 0 ? -1 : y > height ? 1 : 0;
    if (!Number.isFinite(y) || side * before === -1) {
      if (line.length > 1) lines.push(line);
      line = [];
    }
    before = side;
    // A canvas cannot draw points with very large coordinates.
    if (Number.isFinite(y)) line.push([x, Math.min(Math.max(y, -height), 2 * height)]);
  }
  if (line.length > 1) lines.push(line);
  return lines;
}

/** Returns where a curve crosses zero, from left to right. Zeros where it only touches the axis are not found. */
export function findZeros(curve: Curve, xMin: number, xMax: number, countMax: number): number[] {
  const zeros: number[] = [];
  const steps = 2_000;
  let [left, before] = [xMin, curve(xMin)];
  if (before === 0) zeros.push(left);
  for (let step = 1; step <= steps && zeros.length < countMax; step++) {
    const right = xMin + ((xMax - xMin) * step) / steps;
    const value = curve(right);
    if (value === 0) zeros.push(right);
    else if (before * value < 0) {
      const zero = bisect(curve, left, right);
      if (zero !== undefined) zeros.push(zero);
    }
    [left, before] = [right, value];
  }
  return zeros;
}

/** Finds a zero in an interval by bisection. Returns undefined if the curve jumps there, as 1/x does at 0. */
function bisect(curve: Curve, left: number, right: number): number | undefined {
  const [start, bound] = [curve(left), Math.max(Math.abs(curve(left)), Math.abs(curve(right)))];
  for (let halving = 0; halving < 60; halving++) {
    const middle = (left + right) / 2;
    if (Math.sign(curve(middle)) === Math.sign(start)) left = middle;
    else right = middle;
  }
  return Math.abs(curve(right)) <= bound ? right : undefined;
}
