import { isObject } from "../core/protocol/jsonrpc.ts";
import type { SpokenVersion } from "../core/protocol/spoken-versions.ts";
import { ClientError } from "./errors.ts";
import type { ServerCapabilities } from "./results.ts";

/** Returns the capability that a method needs, as a path; undefined if it needs none. */
function capabilityOf(method: string): string | undefined {
  if (/^resources\/(un)?subscribe$/.test(method)) return "resources.subscribe";
  if (method === "completion/complete") return "completions";
  if (method === "logging/setLevel") return "logging";
  return /^(tools|prompts|resources)\/(list|call|get|read|templates\/list)$/.exec(method)?.[1];
}

/** Methods that only one era has, with the replacement in the other. */
const ERA_ONLY: Readonly<Record<SpokenVersion["era"], Readonly<Record<string, string>>>> = {
  legacy: {
    initialize: "connect() has sent it",
    ping: "send server/discover",
    "logging/setLevel": "use client.setLevel()",
    "resources/subscribe": "use client.subscribe()",
    "resources/unsubscribe": "use client.unsubscribe()",
  },
  modern: {
    "server/discover": "read client.server",
    "subscriptions/listen": "use client.subscribe()",
  },
};

/**
 * Checks that a server supports a method before the request is sent.
 *
 * @throws {ClientError} `method-missing` or `capability-missing`, with the replacement or the capability.
 */
export function checkSupported(method: string, rules: SpokenVersion, capabilities: ServerCapabilities): void {
  const other = rules.era === "modern" ? "legacy" : "modern";
  const instead = Object.hasOwn(ERA_ONLY[other], method) ? ERA_ONLY[other][method] : undefined;
  if (instead !== undefined) {
    throw new ClientError("method-missing", `${method} does not exist in ${rules.version}: ${instead}.`);
  }
  const needed = capabilityOf(method);
  if (needed === undefined) return;
  // Servers of versions without this capability complete without declaring it.
  if (needed === "completions" && !rules.completionsCapability) return;
  const declared = needed.split(".").reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), capabilities);
  if (declared !== undefined && declared !== false) return;
  throw new ClientError("capability-missing", `The server has not declared "${needed}", which ${method} needs.`);
}
