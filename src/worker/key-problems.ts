/**
 * Finds missing sealing keys. Only the parts that seal something import this module.
 *
 * @module
 */
import { KEYS_MISSING, readKeyList } from "../core/seal/env-keys.ts";
import type { Problem } from "./problems.ts";

/** Returns the problem of an endpoint without `keys()` if its environment has no keys either. */
export function findKeyProblems(env: unknown): Problem[] {
  return readKeyList(env) ? [] : [`[keys-missing] ${KEYS_MISSING}`];
}
