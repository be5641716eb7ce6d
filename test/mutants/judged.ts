/**
 * The generated mutants that no test must notice: `npm run long -- mutate` lists the others. An entry for code that has
 * changed no longer applies and does no harm.
 */
import type { Survivor } from "../../scripts/mutate/mutate-room.ts";

/** Why mutants of a file may survive, by the text that they replace. */
const JUDGED: Readonly<Record<string, Readonly<Record<string, string>>>> = {};

/** Whether a person has decided that no test needs to notice this mutant. */
export function judged({ place, original }: Survivor): boolean {
  return JUDGED[place.replace(/:\d+$/, "")]?.[original] !== undefined;
}
