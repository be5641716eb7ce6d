/**
 * The interface between `mcp-edge dev` and its page: what the routes in `/__mcp-edge/api/` return and accept, as JSON.
 *
 * @module
 */
import type { Entry } from "./entry.ts";

/** The path of the page, and the beginning of all routes of the recorder. */
export const RECORDER_PATH = "/__mcp-edge/";

/** The header that a request must have that changes something, so that no form of another site can send it. */
export const DEV_HEADER = "Mcp-Edge-Dev";

/** `GET info`. */
export interface RecorderInfo {
  /** What is recorded: a Worker in `mcp-edge dev`, or the messages of any server in `mcp-edge record`. */
  readonly mode: "dev" | "record";
  /** The URL and the path of the endpoint. */
  readonly endpoint: { readonly url: string; readonly path: string };
  /** The name and version of the server, once a response has contained them. */
  readonly server?: { readonly name: string; readonly version: string };
  /** Whether arguments, results and log lines are recorded as they are. */
  readonly contents: boolean;
  /** Whether the faults that need `--faults` can be caused. */
  readonly faults: boolean;
  /** The version of mcp-edge. */
  readonly version: string;
}

/** An object as it is now. `GET objects` returns all of them as an array. */
export interface ObjectState {
  /** 64 hexadecimal digits. */
  readonly id: string;
  readonly className: string;
  /** The role of an object of an endpoint. Undefined for other classes, and if it is not known. */
  readonly role?: string;
  /** The name that its id was created from, redacted. Undefined for unique ids. */
  readonly name?: string;
  /** Whether it is in memory. Inferred from its last invocation. */
  readonly awake: boolean;
  /** When it was last invoked. Undefined if it was not invoked since the start. */
  readonly lastInvokedAtMs?: number;
  /** When its next alarm is due. */
  readonly alarmAtMs?: number;
  /** The size of its database. */
  readonly bytes: number;
  /** The tables with their numbers of rows, and the first rows. */
  readonly tables: readonly StoredTable[];
  /** The stored keys, with values of the same form as arguments in entries. */
  readonly keys: readonly StoredKey[];
  /** What the role of the object makes of it, such as `["streams", "2"]` or `["status", "working"]`. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** The entries that invoked it, the newest first. */
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

/** A key of an object. */
export interface StoredKey {
  readonly key: string;
  readonly bytes: number;
  readonly value: unknown;
}

/** The faults that can be caused. */
export type FaultKind = "cut" | "abort" | "evict" | "kill" | "clock" | "alarm" | "delay";

/** The faults that need `mcp-edge dev --faults`. */
export const FAULTS_WITH_FLAG: readonly FaultKind[] = ["abort", "clock", "alarm"];

/** `POST faults`. */
export interface FaultRequest {
  readonly kind: FaultKind;
  /** For `cut`: the id of a running entry. */
  readonly entry?: string;
  /** For `abort`, `evict` and `alarm`: the id of an object, 64 hexadecimal digits. */
  readonly object?: string;
  /**
   * For `clock`: by how many milliseconds it moves ahead. For `delay`: how long each answer of a client to a question of the
   * server is held, in milliseconds; 0 ends it.
   */
  readonly ms?: number;
}

/** What came of a fault. */
export interface FaultResult {
  readonly done: boolean;
  /** A sentence. */
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

/** `POST recording`: what was imported. The entries get new ids. */
export interface ImportResult {
  readonly entries: number;
  readonly firstId?: string;
  readonly lastId?: string;
}

/** `POST compare`: the ids of two entries, or lists of ids of two recordings. */
export interface CompareRequest {
  readonly a: string | readonly string[];
  readonly b: string | readonly string[];
}

/** One difference of two entries. */
export interface Difference {
  /** The entries, or undefined if only one side has it. */
  readonly a?: string;
  readonly b?: string;
  /** Where: `outcome`, `counts.rowsRead`, `messages[2].result.content[0].text`. */
  readonly where: string;
  readonly left: unknown;
  readonly right: unknown;
}

/** What `POST compare` returns. */
export interface Comparison {
  /** The pairs that were compared. */
  readonly pairs: readonly (readonly [a: string | undefined, b: string | undefined])[];
  readonly differences: readonly Difference[];
}

/** `GET entries/<id>/curl` and `GET entries/<id>/test` return this, or 409 with `problem`. */
export type Copied = { readonly text: string } | { readonly problem: string };
