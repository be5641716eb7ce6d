/**
 * Shows the difference between two versions of a file.
 *
 * @module
 */
import type { Paint } from "./terminal.ts";

/** The number of unchanged lines shown before and after a change. */
const CONTEXT = 2;
/** The maximum number of cells of the comparison. A part with more is shown as replaced entirely. */
const CELLS_MAX = 4_000_000;

type Line = readonly [mark: " " | "+" | "-", text: string];

/** Returns the changed lines with a few lines around them. */
export function diff(before: string, after: string, { green, red, dim }: Paint): string {
  const lines = compare(before.split(/\r?\n/), after.split(/\r?\n/));
  const isNear = (at: number) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(([mark]) => mark !== " ");
  const paint = { "+": green, "-": red, " ": dim };
  const shown: string[] = [];
  let wasShown = true;
  for (const [at, [mark, text]] of lines.entries()) {
    const isShown = isNear(at);
    if (isShown) shown.push(paint[mark](`${mark} ${text}`.trimEnd()));
    else if (wasShown && shown.length > 0) shown.push(dim("  ..."));
    wasShown = isShown;
  }
  return shown.join("\n");
}

/** Compares the lines between the common start and the common end. */
function compare(before: readonly string[], after: readonly string[]): Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end))
    end += 1;
  const same = (lines: readonly string[]) => lines.map((text): Line => [" ", text]);
  const middle = compareMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end));
  return [...same(before.slice(0, start)), ...middle, ...same(before.slice(before.length - end))];
}

function compareMiddle(before: readonly string[], after: readonly string[]): Line[] {
  const width = after.length + 1;
  if ((before.length + 1) * width > CELLS_MAX) {
    return [...before.map((text): Line => ["-", text]), ...after.map((text): Line => ["+", text])];
  }
  const lengths = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push([" ", before[i] ?? ""]);
      i += 1;
      j += 1;
    } else if (j >= after.length || (i < before.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push(["-", before[i] ?? ""]);
      i += 1;
    } else {
      lines.push(["+", after[j] ?? ""]);
      j += 1;
    }
  }
  return lines;
}
