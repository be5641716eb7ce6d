/**
 * What the two sides of an entry need of the recorder that owns it: the wire and the tail.
 *
 * @module
 */
import type { Redactor } from "../redact/redactor.ts";
import type { OnsetEvent } from "../tail/tail-event.ts";
import type { BoundedMap } from "./bounded-map.ts";
import type { Links } from "./links.ts";
import type { LiveEntry } from "./live-entry.ts";
import type { LiveInvocation } from "./live-invocation.ts";

/** The recorder, for its parts. */
export interface Assembly {
  readonly redactor: Redactor;
  readonly links: Links;
  /** The roles of objects, by their ids. */
  readonly roles: BoundedMap<string>;
  /** The path of the endpoint. */
  readonly endpointPath: string;
  readonly workerName: string | undefined;
  /** Returns a keyed hash as hexadecimal digits. */
  readonly hash: (text: string) => string;
  readonly mapStack: (stack: string) => string;
  /** Returns the place, such as `/rows/0`, at which a value does not fit a JSON Schema. Undefined if it fits, or cannot be checked. */
  readonly checkOutput: (schema: unknown, value: unknown) => string | undefined;
  /** Returns an entry that is stored. */
  find(id: string): LiveEntry | undefined;
  /** Reports that an entry has changed. */
  touch(entry: LiveEntry): void;
  /** Reports that another entry belongs to an entry, so that its findings may change. */
  related(entry: LiveEntry): void;
  /** Adds to the size of an entry, in characters. */
  grow(entry: LiveEntry, characters: number): void;
  /** Returns the entry to which a new trace belongs. Undefined if it is not recorded. */
  entryOfTrace(onset: OnsetEvent, atMs: number): LiveEntry | undefined;
  /** Marks the work of an entry as work of the test harness. */
  markAsControl(entry: LiveEntry): void;
  invocationEnded(entry: LiveEntry, invocation: LiveInvocation): void;
  /** The last byte of the exchange has passed. */
  exchangeEnded(entry: LiveEntry): void;
  /** The server has introduced itself. */
  introduced(server: { readonly name: string; readonly version: string }): void;
}
