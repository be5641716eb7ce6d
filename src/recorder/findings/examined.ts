/**
 * The input of the functions that look for findings.
 *
 * @module
 */
import type { LiveEntry } from "../assemble/live-entry.ts";
import type { LiveInvocation, LiveSpan } from "../assemble/live-invocation.ts";
import type { ListedTool } from "../redact/schemas.ts";
import type { Thresholds } from "./thresholds.ts";

/** An entry that is being examined, with its context. */
export interface Examined {
  readonly entry: LiveEntry;
  readonly nowMs: number;
  readonly thresholds: Thresholds;
  /** The called tool, if it was in a `tools/list` result. */
  readonly tool: ListedTool | undefined;
  /** Whether arguments and results are recorded without redaction. */
  readonly contents: boolean;
  /** Returns an entry by its id. */
  readonly find: (id: string) => LiveEntry | undefined;
}

/** Describes where an invocation runs: in the Worker, or in an object with its class and role. */
export function placeOf(invocation: LiveInvocation): string {
  const { isObject, entrypoint, objectId } = invocation.onset;
  if (!isObject) return "the Worker";
  const role = invocation.role === undefined ? "" : `, ${invocation.role}`;
  return `${entrypoint ?? "an object"} ${objectId?.slice(0, 8) ?? ""}${role}`.trim();
}

/** Describes the operation of a span and its target. */
export function describeSpan({ name, text }: LiveSpan): string {
  return text === undefined ? name : `${name} ${text}`;
}

/**
 * Returns whether a span comes from the code of the Worker's author. The storage operations of an endpoint's objects, and the
 * calls to these objects, come from mcp-edge itself.
 */
export function isAuthorWork(span: LiveSpan, { isOfEndpoint, role }: LiveInvocation): boolean {
  return !isInternalCall(span) && !((isOfEndpoint || role !== undefined) && OBJECT_STORAGE.test(span.name));
}

/** Names of the spans of an object's own storage. */
const OBJECT_STORAGE = /^(?:exec|kv_\w+|get\w*|put|delete\w*|setAlarm|list)$/;

/** Returns whether a span is a call of mcp-edge to its own objects. A call without a reported method is assumed to be one. */
function isInternalCall({ name, text = "" }: LiveSpan): boolean {
  return name === "object" && (text === "" || text === "callRole" || text.includes("https://object/"));
}

/** Returns when a span ended, or the current time if it is open. */
export function endOf(span: LiveSpan, nowMs: number): number {
  return span.endedAtMs ?? nowMs;
}

/** Returns the invocation of the Worker that responds to the client. */
export function findRoot({ invocations }: LiveEntry): LiveInvocation | undefined {
  return invocations.find(({ isRoot, onset }) => isRoot && !onset.isObject);
}
