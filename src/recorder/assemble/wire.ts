/**
 * What the wire reports of an exchange.
 *
 * @module
 */
import { SPOKEN_VERSIONS } from "../../core/protocol/spoken-versions.ts";
import type { Header } from "../entry.ts";

/** The head of a request. */
export interface WireRequest {
  readonly atMs: number;
  readonly method: string;
  /** The path with its query, as it was sent. */
  readonly path: string;
  readonly headers: readonly Header[];
  /** False for a message that is sent without HTTP, as over stdio. @default true */
  readonly isHttp?: boolean;
  /** What is known of the connection: client and version, if a handshake has said it. */
  readonly known?: ConnectionFacts;
}

/** What the messages of a connection have in common. */
export interface ConnectionFacts {
  readonly client?: { readonly name: string; readonly version: string };
  readonly version?: string;
  readonly era?: "legacy" | "modern";
}

/** The content of a body: JSON, or its size if it is something else or too large. */
export type WireBody = { readonly json: unknown; readonly characters: number } | { readonly bytes: number };

/** How a connection was lost before the response was complete. */
export type Cut = "cut-by-client" | "cut-by-server" | "cut-on-purpose";

/** Returns the first value of a header. */
export function findHeader(headers: readonly Header[], name: string): string | undefined {
  return headers.find(([each]) => each.toLowerCase() === name)?.[1];
}

/** Returns a version and its era, if the version is known or looks like one. */
export function toVersion(version: string): { readonly version?: string; readonly era?: "legacy" | "modern" } {
  const known = SPOKEN_VERSIONS.find((each) => each.version === version);
  if (known) return { version, era: known.era };
  return /^\d{4}-\d{2}-\d{2}$/.test(version) ? { version } : {};
}
