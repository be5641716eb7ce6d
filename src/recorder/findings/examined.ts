/**
 * What findings are looked for in: an entry, and what is known besides.
 *
 * @module
 */
import type { LiveEntry } from "../assemble/live-entry.ts";
import type { LiveInvocation, LiveSpan } from "../assemble/live-invocation.ts";
import type { KnownTool } from "../redact/schemas.ts";
import type { Thresholds } from "./thresholds.ts";

/** An entry, and what is known besides. */
export interface Examined {
  readonly entry: LiveEntry;
  readonly nowMs: number;
  readonly thresholds: Thresholds;
  /** The tool that was called, if the server has listed it. */
  readonly tool: KnownTool | undefined;
  /** Whether results can be shown. */
  readonly contents: boolean;
  /** Returns another entry. */
  readonly find: (id: string) => LiveEntry | undefined;
}

/** Describes where an invocation runs: the Worker, or a class and a role. */
export function placeOf(invocation: LiveInvocation): string {
  const { isObject, entrypoint, objectId } = invocation.onset;
  if (!isObject) return "the Worker";
  const role = invocation.role === undefined ? "" : `, ${invocation.role}`;
  return `${entrypoint ?? "an object"} ${objectId?.slice(0, 8) ?? ""}${role}`.trim();
}

/** Describes a span: what it does, and to what. */
export function describeSpan({ name, text }: LiveSpan): string {
  return text === undefined ? name : `${name} ${text}`;
}

/**
 * Whether a span is work of the author's code. Storage in objects of an endpoint belongs to the kit, and so do calls of the kit to these
 * objects.
 */
export function isOfAuthor(span: LiveSpan, { isOfEndpoint, role }: LiveInvocation): boolean {
  return !isCallOfKit(span) && !((isOfEndpoint || role !== undefined) && OBJECT_STORAGE.test(span.name));
}

/** Spans of an object's own storage. */
const OBJECT_STORAGE = /^(?:exec|kv_\w+|get\w*|put|delete\w*|setAlarm|list)$/;

/** Whether a span is a call of the kit to its own objects. A call whose method is not reported yet may be one too. */
function isCallOfKit({ name, text = "" }: LiveSpan): boolean {
  return name === "object" && (text === "" || text === "callRole" || text.includes("https://object/"));
}

/** The time at which a span ended, or now. */
export function endOf(span: LiveSpan, nowMs: number): number {
  return span.endedAtMs ?? nowMs;
}

/** The invocation of the Worker, which answers the client. */
export function findRoot({ invocations }: LiveEntry): LiveInvocation | undefined {
  return invocations.find(({ isRoot, onset }) => isRoot && !onset.isObject);
}
