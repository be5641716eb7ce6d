import { oneLine } from "./terminal/terminal.ts";

/** Returns a hint with the known name most similar to a wrong one, or with all names. It begins with a space; empty without a hint. */
export function didYouMean(name: string, known: readonly string[]): string {
  const ranked = known.map((each) => ({ each, distance: computeDistance(name.toLowerCase(), each.toLowerCase()) }));
  const [best] = ranked.sort((a, b) => a.distance - b.distance);
  if (best && best.distance <= Math.max(2, name.length / 3))
    return ` Did you mean ${JSON.stringify(oneLine(best.each))}?`;
  if (known.length === 0 || known.length > 20) return "";
  return ` Known names: ${known.map((each) => oneLine(each)).join(", ")}.`;
}

/** Returns the number of characters to insert, delete or replace to turn one string into the other (Levenshtein distance). */
function computeDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
