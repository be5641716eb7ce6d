/**
 * Finds endpoints with a plugin that needs objects, but without a part that creates their class.
 *
 * @module
 */
import { type ObjectPlace, ownsClass } from "../../bindings.ts";
import { objectsNeeded, type Problem } from "../../problems.ts";

/** @param what The function that needs objects. @param place Undefined before it has joined an endpoint. */
export function findMissingObjects(what: string, place: ObjectPlace | undefined): Problem[] {
  if (!place || ownsClass(place)) return [];
  return [objectsNeeded(what, place.className)];
}
