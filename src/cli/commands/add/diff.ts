/**
 * Shows the differences between two versions of a file.
 *
 * @module
 */
import { type Paint, visible } from "../../terminal/terminal.ts";

/** The number of unchanged lines shown before and after a change. */
const CONTEXT = 2;
/** The maximum size of the comparison table. Larger files are shown as replaced entirely. */
const CELLS_MAX = 4_000_000;

/** The maximum number of characters shown of the beginning and of the end of a changed line. Generated lines can be very long. */
const [BEGIN_MAX, END_MAX] = [200, 100];
/** The maximum for the beginning of a line in a new file. It is larger, because the user has not read the file before. */
const NEW_MAX = 2_000;

/** One line of a comparison. */
type DiffLine = readonly [mark: " " | "+" | "-", text: string];

/**
 * Returns the added lines marked `+` and the removed lines marked `-`, with a few unchanged lines around them.
 * Characters that cannot be seen are shown as their numbers.
 */
export function diffLines(before: string, after: string, { green, red, dim }: Paint): string {
  const lines = compare(split(before), split(after));
  const isShown = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(([mark]) => mark !== " "),
  );
  const paint = { "+": green, "-": red, " ": dim };
  const shown: string[] = [];
  for (const [at, [mark, text]] of lines.entries()) {
    if (isShown[at])
      shown.push(paint[mark](`${mark} ${visible(shorten(text, before === "" ? NEW_MAX : BEGIN_MAX))}`.trimEnd()));
    else if (isShown[at - 1]) shown.push(dim("  ..."));
  }
  return shown.join("\n");
}

/** Returns the beginning and the end of a long line: the end of a string matters more than its middle. */
function shorten(text: string, beginMax: number): string {
  if (text.length <= beginMax + END_MAX) return text;
  return `${text.slice(0, beginMax)}... (${text.length} characters) ...${text.slice(-END_MAX)}`;
}

function split(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** Computes the smallest set of added and removed lines, by the longest common subsequence. */
function compare(before: readonly string[], after: readonly string[]): DiffLine[] {
  const replaced = (): DiffLine[] => [
    ...before.map((text): DiffLine => ["-", text]),
    ...after.map((text): DiffLine => ["+", text]),
  ];
  if ((before.length + 1) * (after.length + 1) > CELLS_MAX) return replaced();
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const isSame = before[i] === after[j];
      lengths[i * width + j] = isSame ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
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
