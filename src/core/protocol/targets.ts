/**
 * What the params of each method name. Authorization and rates depend on it, so a method without a row does not compile.
 *
 * @module
 */
import { isObject, type JsonObject } from "./jsonrpc.ts";
import { isMethodName, type MethodName } from "./methods.ts";

/** What a request can name. A `reference` is a prompt, a resource or a resource template. */
export type TargetKind = "tool" | "prompt" | "resource" | "reference" | "task";

/** A kind, and the member of the params that names it. */
type Row = readonly [kind: TargetKind, member: string] | null;

const RESOURCE = ["resource", "uri"] as const;
const TASK = ["task", "taskId"] as const;

const ROWS: Readonly<Record<MethodName, Row>> = {
  initialize: null,
  ping: null,
  "server/discover": null,
  "tools/list": null,
  "tools/call": ["tool", "name"],
  "prompts/list": null,
  "prompts/get": ["prompt", "name"],
  "resources/list": null,
  "resources/templates/list": null,
  "resources/read": RESOURCE,
  "resources/subscribe": RESOURCE,
  // Whoever may no longer read a resource may still end its subscription.
  "resources/unsubscribe": null,
  "subscriptions/listen": ["resource", "notifications"],
  "completion/complete": ["reference", "ref"],
  "logging/setLevel": null,
  "sampling/createMessage": null,
  "roots/list": null,
  "elicitation/create": null,
  "tasks/get": TASK,
  "tasks/result": TASK,
  "tasks/cancel": TASK,
  "tasks/list": null,
  "tasks/update": TASK,
};

/** Something that a request names. */
export interface Target {
  readonly kind: TargetKind;
  /** The name of a tool or prompt, the URI of a resource or template, or the id of a task. */
  readonly name: string;
}

/** Returns everything that a request names. */
export function listTargets({ method, params }: JsonObject): readonly Target[] {
  const row = typeof method === "string" && isMethodName(method) ? ROWS[method] : null;
  if (!row || !isObject(params)) return [];
  const [kind, member] = row;
  return namesIn(params[member]).map((name) => ({ kind, name }));
}

/** Returns the names in a member: itself, that of a reference, or those of the resources to listen to. */
function namesIn(value: unknown): readonly string[] {
  const { name, uri, resourceSubscriptions: uris } = isObject(value) ? value : { name: value };
  return [name, uri, ...(Array.isArray(uris) ? uris : [])].filter((each) => typeof each === "string");
}
