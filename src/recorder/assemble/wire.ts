/**
 * The parts of an exchange that the proxy reports.
 *
 * @module
 */
import { findSpoken } from "../../core/protocol/spoken-versions.ts";
import type { Header } from "../entry.ts";

/** The method, path and headers of a request. */
export interface WireRequest {
  readonly atMs: number;
  readonly method: string;
  /** The path and query, as they were sent. */
  readonly path: string;
  readonly headers: readonly Header[];
  /** False for a message that is sent without HTTP, such as over stdio. @default true */
  readonly isHttp?: boolean;
  /** Facts of the connection, which are known after its handshake. */
  readonly known?: ConnectionFacts;
}

/** Facts that all messages of a connection share. */
export interface ConnectionFacts {
  readonly client?: { readonly name: string; readonly version: string };
  readonly version?: string;
  readonly era?: "legacy" | "modern";
}

/** A body: its JSON, or only its size if it is not JSON or too large. */
export type WireBody = { readonly json: unknown; readonly characters: number } | { readonly bytes: number };

/** How a connection was lost before the response was complete. */
export type Cut = "cut-by-client" | "cut-by-server" | "cut-on-purpose";

/** Returns the first value of a header. */
export function findHeader(headers: readonly Header[], name: string): string | undefined {
  return headers.find(([each]) => each.toLowerCase() === name)?.[1];
}

/** Returns a version and its era, if the version is known or looks like one. */
export function toVersion(version: string): { readonly version?: string; readonly era?: "legacy" | "modern" } {
  const known = findSpoken(version);
  if (known) return { version, era: known.era };
  return /^\d{4}-\d{2}-\d{2}$/.test(version) ? { version } : {};
}
