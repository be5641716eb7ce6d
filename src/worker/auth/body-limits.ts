/**
 * The limits for the bodies that an `auth` hook reads.
 *
 * @module
 */
import type { Limits } from "../../core/protocol/limits.ts";

/**
 * Returns limits that allow each body that one of two endpoints allows, for a hook that both use. The hook cannot tell
 * their requests apart; each endpoint applies its own limits afterwards.
 *
 * @param one The limits of the first endpoint. Undefined if there is none yet.
 */
export function wider(one: Limits | undefined, other: Limits): Limits {
  if (!one) return other;
  return {
    ...other,
    bodyBytesMax: Math.max(one.bodyBytesMax, other.bodyBytesMax),
    bodyDepthMax: Math.max(one.bodyDepthMax, other.bodyDepthMax),
    bodyValuesMax: Math.max(one.bodyValuesMax, other.bodyValuesMax),
    batchMax: Math.max(one.batchMax, other.batchMax),
  };
}
