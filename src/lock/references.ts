/**
 * References within one schema. References to other documents are never followed.
 *
 * @module
 */
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import type { Budget } from "./budget.ts";
import { ANNOTATIONS } from "./keywords.ts";
import { findTarget } from "./schema-pointer.ts";

/** The maximum number of references that lead directly to one another. @limit internal */
const HOPS_MAX = 16;
/** The number of characters of a reference that cost one unit of work. */
const UNIT_CHARS = 20;

/** A schema whose reference was followed. */
export interface Followed {
  /** The target; undefined if there is no reference, it cannot be followed, or it has other conditions beside it. */
  readonly target: JsonObject | undefined;
  /** Whether the reference has other conditions beside it, and became a condition in `allOf`. */
  readonly isWrapped: boolean;
  /** The annotations beside the reference. */
  readonly beside: JsonObject;
  /** Returns the schema without the reference, if it could be followed. */
  merged(): JsonObject;
}

/**
 * Follows the reference of a schema. Annotations beside it take precedence over the annotations of the target. If other keywords are
 * beside it, the reference becomes a condition in `allOf`, because these keywords do not see the properties of the target.
 *
 * @param reached Receives the targets that were followed.
 * @throws {ExhaustedError}
 */
export function follow(schema: JsonObject, root: JsonObject, budget: Budget, reached: Set<unknown>): Followed {
  const asIs: Followed = { target: undefined, isWrapped: false, beside: {}, merged: () => schema };
  const hops: JsonObject[] = [];
  let beside: JsonObject = {};
  for (let at = schema; ; ) {
    const { $ref: reference, ...rest } = at;
    if (typeof reference !== "string") {
      if (hops.length === 0) return asIs;
      for (const hop of hops) reached.add(hop);
      return { target: at, isWrapped: false, beside, merged: () => merged(at, beside, budget) };
    }
    budget.charge(1 + Object.keys(rest).length + Math.floor(reference.length / UNIT_CHARS));
    if (Object.keys(rest).some((name) => !ANNOTATIONS.includes(name))) {
      for (const hop of hops) reached.add(hop);
      return { ...asIs, isWrapped: true, merged: () => ({ ...wrap(at), ...beside }) };
    }
    const target = findTarget(reference, root);
    if (!isObject(target) || hops.length >= HOPS_MAX) return asIs;
    hops.push(target);
    beside = { ...rest, ...beside };
    at = target;
  }
}

/** Returns a schema whose reference is a condition in `allOf`. */
export function wrap({ $ref, allOf, ...rest }: JsonObject): JsonObject {
  return { ...rest, allOf: [{ $ref }, ...(Array.isArray(allOf) ? allOf : [])] };
}

function merged(target: JsonObject, beside: JsonObject, budget: Budget): JsonObject {
  if (Object.keys(beside).length === 0) return target;
  budget.charge(Object.keys(target).length);
  return { ...target, ...beside };
}
