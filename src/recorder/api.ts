/**
 * The API of `mcp-edge dev` for its page: the JSON that the routes in `/__mcp-edge/api/` accept and return.
 *
 * @module
 */
import type { Entry } from "./entry.ts";

/** The path of the page, and the prefix of all routes of the recorder. */
export const RECORDER_PATH = "/__mcp-edge/";

/** The header that every state-changing request must have, so that a form on another site cannot send one. */
export const DEV_HEADER = "Mcp-Edge-Dev";

/** The response to `GET info`. */
export interface RecorderInfo {
  /** The command that records: `mcp-edge dev` for a Worker, or `mcp-edge record` for any server. */
  readonly mode: "dev" | "record";
  /** The URL and the path of the endpoint. */
  readonly endpoint: { readonly url: string; readonly path: string };
  /** The name and version of the server, once a response has contained them. */
  readonly server?: { readonly name: string; readonly version: string };
  /** Whether arguments, results and log lines are recorded without redaction. */
  readonly contents: boolean;
  /** Whether the faults that require `--faults` can be injected. */
  readonly faults: boolean;
  /** The version of mcp-edge. */
  readonly version: string;
}

/** The current state of an object. `GET objects` returns an array with all objects. */
export interface ObjectState {
  /** The id of the object, 64 hexadecimal digits. */
  readonly id: string;
  readonly className: string;
  /** The role of an object of an endpoint. Undefined for other classes, and while it is unknown. */
  readonly role?: string;
  /** The name from which its id was created, redacted. Undefined for unique ids. */
  readonly name?: string;
  /** Whether it is in memory. Inferred from its last invocation. */
  readonly awake: boolean;
  /** When it was last invoked. Undefined if it has not been invoked since the recorder started. */
  readonly lastInvokedAtMs?: number;
  /** When its next alarm is due. */
  readonly alarmAtMs?: number;
  /** The size of its database, in bytes. */
  readonly bytes: number;
  /** The tables, each with its number of rows and its first rows. */
  readonly tables: readonly StoredTable[];
  /** The stored keys. Their values are redacted like the arguments in entries. */
  readonly keys: readonly StoredKey[];
  /** Facts that depend on the role of the object, such as `["streams", "2"]` or `["status", "working"]`. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** The ids of the entries that invoked it, newest first. */
  readonly entries: readonly string[];
}

/** A table of an object. */
export interface StoredTable {
  readonly name: string;
  readonly rows: number;
  readonly columns: readonly string[];
  /** The first rows, with values in the order of the columns. */
  readonly first: readonly (readonly unknown[])[];
}

/** A key in the key-value storage of an object. */
export interface StoredKey {
  readonly key: string;
  readonly bytes: number;
  readonly value: unknown;
}

/** The faults that can be injected. */
export type FaultKind = "cut" | "abort" | "evict" | "kill" | "clock" | "alarm" | "delay";

/** The faults that require `mcp-edge dev --faults`. */
export const FAULTS_WITH_FLAG: readonly FaultKind[] = ["abort", "clock", "alarm"];

/** The body of `POST faults`. */
export interface FaultRequest {
  readonly kind: FaultKind;
  /** For `cut`: the id of a running entry. */
  readonly entry?: string;
  /** For `abort`, `evict` and `alarm`: the id of an object, 64 hexadecimal digits. */
  readonly object?: string;
  /**
   * For `clock`: how far to advance the clock, in milliseconds. For `delay`: how long to hold back each answer of a client to a
   * question of the server, in milliseconds; 0 ends the delay.
   */
  readonly ms?: number;
}

/** The result of injecting a fault. */
export interface FaultResult {
  readonly done: boolean;
  /** A sentence for the user. */
  readonly text: string;
}

/** A recording: the file that `GET recording` returns and `POST recording` accepts. */
export interface RecordingFile {
  readonly format: "mcp-edge-recording";
  readonly formatVersion: 1;
  readonly writtenAtMs: number;
  readonly info: RecorderInfo;
  readonly entries: readonly Entry[];
}

/** The response to `POST recording`. Imported entries get new ids. */
export interface ImportResult {
  readonly entries: number;
  readonly firstId?: string;
  readonly lastId?: string;
}

/** The body of `POST compare`: the ids of two entries, or two lists of ids. */
export interface CompareRequest {
  readonly a: string | readonly string[];
  readonly b: string | readonly string[];
}

/** One difference between two entries. */
export interface Difference {
  /** The ids of the entries. One is undefined if only the other side has the entry. */
  readonly a?: string;
  readonly b?: string;
  /** The path of the differing value: `outcome`, `counts.rowsRead`, `messages[2].result.content[0].text`. */
  readonly where: string;
  readonly left: unknown;
  readonly right: unknown;
}

/** The response to `POST compare`. */
export interface Comparison {
  /** The pairs that were compared. */
  readonly pairs: readonly (readonly [a: string | undefined, b: string | undefined])[];
  readonly differences: readonly Difference[];
}

/** The response to `GET entries/<id>/curl` and `GET entries/<id>/test`. It has status 409 if it contains `problem`. */
export type Copied = { readonly text: string } | { readonly problem: string };
