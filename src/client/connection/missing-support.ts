import { isObject } from "../../core/protocol/jsonrpc.ts";
import { findRequest } from "../../core/protocol/methods.ts";
import type { SpokenVersion } from "../../core/protocol/spoken-versions.ts";
import type { ServerCapabilities } from "../requests/results.ts";

/** What a server lacks for a request: the method itself, or a capability that the method needs. */
export interface MissingSupport {
  readonly capability?: string;
}

/** Returns what the server lacks for a request; undefined if it supports it. */
export function missingSupport(
  method: string,
  { era, completionsCapability }: SpokenVersion,
  capabilities: ServerCapabilities,
): MissingSupport | undefined {
  const { era: only = era, capability } = findRequest(method) ?? {};
  if (only !== era) return {};
  // Servers of versions without the capability "completions" complete without declaring it.
  if (capability === undefined || (capability === "completions" && !completionsCapability)) return undefined;
  const declared = capability
    .split(".")
    .reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), capabilities);
  return declared === undefined || declared === false ? { capability } : undefined;
}
