/**
 * Finds missing sealing keys. Only parts that seal values import this module.
 *
 * @module
 */
import { KEYS_MISSING, readKeyList } from "../core/seal/env-keys.ts";
import type { Problem } from "./problems.ts";

/** Returns a problem if an endpoint has neither `keys()` nor keys in its environment. */
export function findKeyProblems(env: unknown): Problem[] {
  return readKeyList(env) ? [] : [`[keys-missing] ${KEYS_MISSING}`];
}
