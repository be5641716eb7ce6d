/**
 * Reads what the params of a request name. Authorization and rates depend on it.
 *
 * @module
 */
import { invalidParams } from "./errors.ts";
import { isObject, type JsonObject } from "./jsonrpc.ts";
import { findRequest, type MethodAndParams, type TargetKind } from "./methods.ts";

/** Something that a request names. */
export interface Target {
  readonly kind: TargetKind;
  /** The name of a tool or prompt, the URI of a resource or template, or the id of a task. */
  readonly name: string;
}

/**
 * Returns the name, URI or id that a request names.
 *
 * @throws {McpError} -32602 if its params do not have it as a string.
 */
export function readTarget({ method, params }: MethodAndParams): string {
  const [, member = ""] = findRequest(method)?.names ?? [];
  const value = params?.[member];
  if (typeof value === "string") return value;
  throw invalidParams(`${method}: params.${member} is not a string.`, { field: member });
}

/** Returns everything that a request names. */
export function listTargets({ method, params }: JsonObject): readonly Target[] {
  const { names } = (typeof method === "string" && findRequest(method)) || {};
  if (!names || !isObject(params)) return [];
  const [kind, member] = names;
  return namesIn(params[member]).map((name) => ({ kind, name }));
}

/** Returns the names in a member of params, which is a string, a reference, or the list of resources to listen to. */
function namesIn(value: unknown): readonly string[] {
  const { name, uri, resourceSubscriptions: uris } = isObject(value) ? value : { name: value };
  return [name, uri, ...(Array.isArray(uris) ? uris : [])].filter((each) => typeof each === "string");
}
