import { isObject } from "../../core/protocol/jsonrpc.ts";
import type { SpokenVersion } from "../../core/protocol/spoken-versions.ts";
import type { ServerCapabilities } from "./results.ts";

/** Returns the capability that a method requires, as a path; undefined if there is none. */
function findCapability(method: string): string | undefined {
  if (/^resources\/(un)?subscribe$/.test(method)) return "resources.subscribe";
  if (method === "completion/complete") return "completions";
  if (method === "logging/setLevel") return "logging";
  return /^(tools|prompts|resources)\/(list|call|get|read|templates\/list)$/.exec(method)?.[1];
}

/** Methods that only one era has. Their replacements are in refused-requests.ts. */
const ERA_ONLY = {
  legacy: /^(initialize|ping|logging\/setLevel|resources\/(un)?subscribe)$/,
  modern: /^(server\/discover|subscriptions\/listen)$/,
};

/** The capability that the server lacks. Without `capability`, the version lacks the method. */
export interface MissingSupport {
  readonly capability?: string;
}

/** Returns what a server lacks for a request; undefined if it supports the request. */
export function findMissingSupport(
  method: string,
  { era, completionsCapability }: SpokenVersion,
  capabilities: ServerCapabilities,
): MissingSupport | undefined {
  if (ERA_ONLY[era === "modern" ? "legacy" : "modern"].test(method)) return {};
  const capability = findCapability(method);
  // In versions without the capability "completions", servers support completion without declaring it.
  if (capability === undefined || (capability === "completions" && !completionsCapability)) return undefined;
  const declared = capability
    .split(".")
    .reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), capabilities);
  return declared === undefined || declared === false ? { capability } : undefined;
}
