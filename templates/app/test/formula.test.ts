/** Tests the code that the server and the view share: the parser of formulas, the region and the curve. */
import { describe, expect, test } from "vitest";
import { parseFormula } from "../src/formula.ts";
import { findZeros, fitRegion, listTicks, pan, traceCurve, zoom } from "../src/region.ts";

test.each([
  ["2 + 3 * 4", 14],
  ["2x", 6],
  ["2x sin(pi/2)", 6],
  ["(x + 1)(x - 1)", 8],
  ["x(x+1)", 12],
  ["-x^2", -9],
  ["2^3^2", 512],
  ["2^-x", 0.125],
  ["1/2x", 1.5],
  ["8 - 3 - 2", 3],
  ["--x", 3],
  ["1.5e3", 1500],
  ["ln(e^x)", 3],
  ["log(1000)", 3],
  ["SQRT(Abs(-9))", 3],
  ["cbrt(27) + sign(-x) + floor(0.9) + ceil(0.1) + round(0.4)", 3],
  ["1/0", Infinity],
])("%s is %d at x = 3", (formula, value) => {
  expect(parseFormula(formula)(3)).toBeCloseTo(value, 12);
});

test.each([
  ["", "is empty"],
  ["2 +", "is incomplete"],
  ["(x", "The parenthesis at 1 is not closed"],
  ["sin x", "Write a parenthesis after sin"],
  ["x)", '")" at 2 is not expected there'],
  ["x * / 2", '"/" at 5 is not expected there'],
  ["1.2.3", '"1.2.3" at 1 is not a number'],
  ["x + sine(x)", '"sine" at 5 is unknown. Supported names: x, pi, e, sin,'],
  ["constructor(x)", '"constructor" at 1 is unknown'],
  ["toString", '"tostring" at 1 is unknown'],
  ["alert`1`", '"`" at 6 is not expected there'],
  ["x; 1", '";" at 2 is not expected there'],
  [`x${"+x".repeat(100)}`, "at most 200 characters"],
])("%s is refused with the reason", (formula, reason) => {
  expect(() => parseFormula(formula)).toThrow(reason);
});

test("the most deeply nested formula of the maximum length can be parsed", () => {
  const formula = `${"(".repeat(99)}x${")".repeat(99)}`;
  expect(parseFormula(formula)(3)).toBe(3);
});

const SQUARE = { xMin: -10, xMax: 10, yMin: -10, yMax: 10 };

describe("a region", () => {
  test("moves by fractions of its size", () => {
    expect(pan(SQUARE, 0.5, -0.1)).toEqual({ xMin: 0, xMax: 20, yMin: -12, yMax: 8 });
  });

  test("zooms around a fixed point", () => {
    expect(zoom(SQUARE, 0.5)).toEqual({ xMin: -5, xMax: 5, yMin: -5, yMax: 5 });
    expect(zoom(SQUARE, 0.5, 0, 1)).toEqual({ xMin: -10, xMax: 0, yMin: 0, yMax: 10 });
  });

  test("is not zoomed beyond the precision of numbers", () => {
    let region = SQUARE;
    for (let step = 0; step < 1_000; step++) region = zoom(region, 0.5);
    expect(region.xMax - region.xMin).toBeGreaterThanOrEqual(1e-6);
    for (let step = 0; step < 1_000; step++) region = zoom(region, 2);
    expect(region.xMax - region.xMin).toBeLessThanOrEqual(1e9);
  });

  test("fits a curve with a margin, even if the curve has poles or is undefined everywhere", () => {
    const parabola = fitRegion((x) => x * x, -10, 10);
    expect(parabola.yMin).toBeLessThan(0);
    expect(parabola.yMax).toBeGreaterThan(90);
    expect(fitRegion((x) => 1 / x, -10, 10).yMax).toBeLessThan(10);
    expect(fitRegion(() => Number.NaN, -10, 10)).toMatchObject({ yMin: -1.2, yMax: 1.2 });
    expect(fitRegion(() => 7, -10, 10)).toMatchObject({ yMin: 3.5, yMax: 10.5 });
  });
});

test.each([
  [-10, 10, 8, [-10, -5, 0, 5, 10]],
  [0, 1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1]],
  [-0.5, 1000, 3, [0, 500, 1000]],
])("the lines of a grid between %d and %d are round numbers", (min, max, count, expected) => {
  const ticks = listTicks(min, max, count);
  expect(ticks.map((tick) => Number(tick.toPrecision(6)))).toEqual(expected);
});

test("a curve is a single line, which ends where the curve is undefined or jumps", () => {
  expect(traceCurve((x) => x, SQUARE, 100, 100)).toHaveLength(1);
  const root = traceCurve(Math.sqrt, SQUARE, 100, 100);
  expect(root).toHaveLength(1);
  expect(root[0]?.[0]?.[0]).toBe(50);
  const tangent = traceCurve(Math.tan, { ...SQUARE, xMin: -4, xMax: 4 }, 400, 100);
  expect(tangent).toHaveLength(3);
  for (const [, y] of tangent.flat()) expect(Math.abs(y)).toBeLessThanOrEqual(200);
});

test.each([
  ["sin(x)", -4, 4, [-Math.PI, 0, Math.PI]],
  ["x^2 - 2", 0, 2, [Math.SQRT2]],
  ["x^2 + 1", -10, 10, []],
  ["1/x", -1, 1.001, []],
  ["tan(x)", -1, 2, [0]],
])("the zeros of %s between %d and %d are found", (formula, xMin, xMax, expected) => {
  const zeros = findZeros(parseFormula(formula), xMin, xMax, 100);
  expect(zeros).toHaveLength(expected.length);
  for (const [at, zero] of expected.entries()) expect(zeros[at]).toBeCloseTo(zero, 9);
});
