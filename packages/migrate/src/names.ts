/**
 * Names for new variables.
 *
 * @module
 */
import { SyntaxKind } from "ts-morph";
import type { Unit } from "./unit.ts";

/** Returns the first name that the file does not use yet. */
export function freeName(unit: Unit, candidates: readonly [string, ...string[]]): string {
  const used = new Set(unit.file.getDescendantsOfKind(SyntaxKind.Identifier).map((each) => each.getText()));
  const free = candidates.find((name) => !used.has(name));
  if (free !== undefined) return free;
  let number = 2;
  while (used.has(`${candidates[0]}${number}`)) number += 1;
  return `${candidates[0]}${number}`;
}

/** Removes indentation from all lines after the first one. Text with a template literal of several lines is not changed. */
export function dedent(text: string, levels: number, unit: string): string {
  if (/`[^`]*\n[^`]*`/.test(text)) return text;
  const prefix = unit.repeat(levels);
  return text
    .split("\n")
    .map((line, at) => (at > 0 && line.startsWith(prefix) ? line.slice(prefix.length) : line))
    .join("\n");
}
