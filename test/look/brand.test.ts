/** The author's colour, which must be readable in light and dark mode. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { accentStyle } from "../../src/look/brand.ts";
import { BASE } from "../../src/look/style.ts";

type Color = readonly [red: number, green: number, blue: number];

/** Returns the relative luminance as WCAG defines it. */
function luminance(color: Color): number {
  const [red = 0, green = 0, blue = 0] = color.map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: Color, other: Color): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function fromHex(hex: string): Color {
  const long = hex.length === 4 ? hex.replace(/[\da-f]/g, "$&$&") : hex;
  return [1, 3, 5].map((at) => Number.parseInt(long.slice(at, at + 2), 16)) as unknown as Color;
}

/** Returns the values of a design token in light and dark mode. */
function token(name: string): readonly Color[] {
  const [, light = "", dark = ""] = new RegExp(`--${name}:light-dark\\((#[\\da-f]+),(#[\\da-f]+)\\)`).exec(BASE) ?? [];
  return [fromHex(light), fromHex(dark)];
}

test("every accent colour is readable on both backgrounds, and text on it is readable", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffffff }), (value) => {
      const style = accentStyle(`#${value.toString(16).padStart(6, "0")}`);
      const colors = [...style.matchAll(/rgb\((\d+) (\d+) (\d+)\)/g)].map((found) => found.slice(1).map(Number));
      expect(colors).toHaveLength(2);
      for (const [mode, color] of colors.entries()) {
        for (const background of ["back", "side"]) {
          expect(contrast(color as unknown as Color, token(background)[mode] as Color)).toBeGreaterThanOrEqual(4.5);
        }
      }
    }),
    { numRuns: 2_000, examples: [[0], [0xffffff], [0xffff00], [0x0000ff], [0x00ff80], [0x777777]] },
  );
});

test("a readable colour is not changed", () => {
  expect(accentStyle("#0f766e")).toContain("light-dark(rgb(15 118 110),");
});

test.each(["text", "soft", "accent"])("the token %s is readable on both backgrounds", (name) => {
  for (const mode of [0, 1]) {
    for (const background of ["back", "side"]) {
      expect(contrast(token(name)[mode] as Color, token(background)[mode] as Color)).toBeGreaterThanOrEqual(4.5);
    }
  }
});
