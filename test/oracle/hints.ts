/** Hints of a transport about a message, and facts that the message itself contains. */

import { ASSUMED_VERSION, isModern, LEGACY, NEWEST, NEWEST_LEGACY, type Side } from "./methods.ts";
import { isJson, type Json } from "./spec.ts";

/** Facts that the transport knows about a message. All are optional: stdio has none. */
export interface Hint {
  /** The version that the transport names (a header, a session). Several if it is ambiguous: one of them must match. */
  readonly version?: string | readonly string[] | undefined;
  /** The scope in which ids are unique: one POST in HTTP, the whole connection in stdio. */
  readonly scope?: string | undefined;
  /** Identifies the peer if several share an oracle. Finds a request whose response comes on another stream. */
  readonly session?: string | undefined;
  /** An error without an id is correct here whatever was requested (a GET, an unreadable body). */
  readonly unreadableId?: boolean | undefined;
  /** The message is intentionally invalid: it is tracked but not judged. */
  readonly deliberatelyBad?: boolean | undefined;
  /** The stream was resumed, so a response may be repeated. */
  readonly replay?: boolean | undefined;
}

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
const SHOWN = 600;

/**
 * Returns the version that a message in the modern form names, or the newest version if it names an unknown one. Undefined if the message
 * does not have the modern form.
 */
export function namedVersion(message: unknown): string | undefined {
  if (!isJson(message) || !isJson(message.params) || !isJson(message.params._meta)) return undefined;
  const version = message.params._meta[VERSION_KEY];
  if (typeof version !== "string") return undefined;
  return isModern(version) ? version : NEWEST;
}

/** The versions that a header can mean: that version, or any that a server may assume for an unknown name. */
export function versionsOfHeader(header: string, sessionVersion: string | undefined): readonly string[] {
  if (isLegacy(header) || isModern(header)) return [header];
  return unique([sessionVersion ?? ASSUMED_VERSION, NEWEST, NEWEST_LEGACY]);
}

export function initializeVersion(message: Json): string {
  const asked = isJson(message.params) ? message.params.protocolVersion : undefined;
  return typeof asked === "string" && isLegacy(asked) ? asked : NEWEST_LEGACY;
}

export function isLegacy(version: string): boolean {
  return LEGACY.some((each) => each === version);
}

export function isId(id: unknown): boolean {
  return typeof id === "string" || (typeof id === "number" && Number.isInteger(id));
}

export function keyOf(from: Side, id: unknown): string {
  return `${from} ${typeof id} ${String(id)}`;
}

export function tokenOf(params: unknown): unknown {
  return isJson(params) && isJson(params._meta) ? params._meta.progressToken : undefined;
}

export function list(version: string | readonly string[] | undefined): readonly string[] {
  if (version === undefined) return [];
  return typeof version === "string" ? [version] : version;
}

export function unique(versions: readonly string[]): readonly string[] {
  return [...new Set(versions)];
}

export function shorten(message: unknown): string {
  const text = JSON.stringify(message) ?? String(message);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)} … (${text.length} characters)` : text;
}
