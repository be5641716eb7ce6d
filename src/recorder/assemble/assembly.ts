/**
 * The interface of the recorder that the two sources of an entry use: the proxy and the tail Worker.
 *
 * @module
 */
import type { Redactor } from "../redact/redactor.ts";
import type { OnsetEvent } from "../tail/tail-event.ts";
import type { BoundedMap } from "./bounded-map.ts";
import type { Links } from "./links.ts";
import type { LiveEntry } from "./live-entry.ts";
import type { LiveInvocation } from "./live-invocation.ts";

/** The recorder, as its parts see it. */
export interface Assembly {
  readonly redactor: Redactor;
  readonly links: Links;
  /** The roles of objects, by their ids. */
  readonly roles: BoundedMap<string>;
  /** The path of the endpoint. */
  readonly endpointPath: string;
  readonly workerName: string | undefined;
  /** Returns a keyed hash in hexadecimal. */
  readonly hash: (text: string) => string;
  readonly mapStack: (stack: string) => string;
  /**
   * Checks a value against a JSON Schema. Returns the JSON Pointer of a violation, such as `/rows/0`. Undefined if the value is
   * valid or cannot be checked.
   */
  readonly checkOutput: (schema: unknown, value: unknown) => string | undefined;
  /** Returns a stored entry. */
  find(id: string): LiveEntry | undefined;
  /** Reports that an entry has changed. */
  touch(entry: LiveEntry): void;
  /** Reports that another entry was linked to an entry, so that its findings may change. */
  related(entry: LiveEntry): void;
  /** Adds to the size of an entry, in characters. */
  grow(entry: LiveEntry, characters: number): void;
  /** Returns the entry to which a new trace belongs. Undefined if it is not recorded. */
  entryOfTrace(onset: OnsetEvent, atMs: number): LiveEntry | undefined;
  /** Marks an entry as work of the test harness. */
  markAsControl(entry: LiveEntry): void;
  invocationEnded(entry: LiveEntry, invocation: LiveInvocation): void;
  /** Reports that the last byte of the exchange was sent. */
  exchangeEnded(entry: LiveEntry): void;
  /** Reports the name and version of the server, when a response contains them. */
  introduced(server: { readonly name: string; readonly version: string }): void;
}
