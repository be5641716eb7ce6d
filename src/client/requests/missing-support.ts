import { isObject } from "../../core/protocol/jsonrpc.ts";
import { findRequest } from "../../core/protocol/methods.ts";
import type { SpokenVersion } from "../../core/protocol/spoken-versions.ts";
import type { ServerCapabilities } from "./results.ts";

/** The capability that the server lacks. Without `capability`, the version lacks the method. */
export interface MissingSupport {
  readonly capability?: string;
}

/** Returns what a server lacks for a request; undefined if it supports the request. */
export function findMissingSupport(
  method: string,
  { lacks, completionsCapability }: SpokenVersion,
  capabilities: ServerCapabilities,
): MissingSupport | undefined {
  if (lacks.includes(method)) return {};
  const { capability } = findRequest(method) ?? {};
  // In versions without the capability "completions", servers support completion without declaring it.
  if (capability === undefined || (capability === "completions" && !completionsCapability)) return undefined;
  const declared = capability
    .split(".")
    .reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), capabilities);
  return declared === undefined || declared === false ? { capability } : undefined;
}
