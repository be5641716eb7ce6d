/**
 * Compares what two schemas allow for the items of arrays.
 *
 * @module
 */
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import { type Comparison, listOf } from "./comparison.ts";
import { type Place, within } from "./place.ts";

/** Compares `prefixItems`. Items after them are restricted by `items`. */
export function comparePrefixItems(comparison: Comparison, before: JsonObject, after: JsonObject, place: Place): void {
  const [old, now] = [listOf(before.prefixItems), listOf(after.prefixItems)];
  for (let at = 0; at < Math.max(old.length, now.length); at += 1) {
    comparison.compare(old[at] ?? before.items ?? true, now[at] ?? after.items ?? true, within(place, `[${at}]`));
  }
}

/** Compares `contains` with `minContains` and `maxContains`, which have no effect without it. */
export function compareContains(comparison: Comparison, before: JsonObject, after: JsonObject, place: Place): void {
  const at = within(place, " (an item)");
  if (before.contains === undefined && after.contains === undefined) {
    for (const keyword of ["minContains", "maxContains"]) {
      if (before[keyword] !== after[keyword])
        comparison.effect("none", place, `its ${keyword} has changed, without an effect`, after[keyword]);
    }
  } else if (before.contains === undefined) {
    const { contains, minContains, maxContains } = after;
    comparison.effect(hasNoEffect(after) ? "none" : "narrowed", at, "must be contained now", {
      contains,
      minContains,
      maxContains,
    });
  } else if (after.contains === undefined) {
    comparison.effect(hasNoEffect(before) ? "none" : "widened", at, "need no longer be contained");
  } else {
    comparison.keyword("minContains", withMinimum(before), withMinimum(after), place);
    comparison.keyword("maxContains", before, after, place);
    // With a maximum, allowing more items to match means allowing fewer arrays.
    const isExclusive = place.isExclusive || before.maxContains !== undefined || after.maxContains !== undefined;
    comparison.compare(before.contains, after.contains, { ...at, isExclusive });
  }
}

function withMinimum({ minContains }: JsonObject): JsonObject {
  return { minContains: minContains ?? 1 };
}

function hasNoEffect({ minContains, maxContains }: JsonObject): boolean {
  return minContains === 0 && maxContains === undefined;
}
