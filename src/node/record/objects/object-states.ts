/**
 * The current state of a Worker's objects: their storage, their next alarms, and whether they are in memory. Reading the state
 * does not wake them.
 *
 * @module
 */
import { type Dirent, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../../../core/protocol/jsonrpc.ts";
import type { ObjectState } from "../../../recorder/api.ts";
import { roleOfKey, roleOfName } from "../../../recorder/assemble/roles.ts";
import type { Recorder } from "../../../recorder/recorder.ts";
import { shapeOf } from "../../../recorder/redact/shape.ts";
import { readStored, type StoredObject } from "./stored-object.ts";

/** The location of the objects' databases. */
export interface ObjectLocation {
  /** The folder that contains one folder for each class. */
  readonly folder: string;
  /** The name of the Worker, which is the prefix of the names of these folders. */
  readonly workerName: string;
}

/** The maximum number of objects that are shown, most recently changed first. */
const OBJECTS_MAX = 300;

/** How long an object must be idle before workerd evicts it, in milliseconds. */
const IDLE_MS = 10_000;

/** The database file of an object. */
interface DatabaseFile {
  readonly id: string;
  readonly className: string;
  readonly path: string;
  readonly changedAtMs: number;
  readonly bytes: number;
}

/** Reads the objects of one Worker. Unchanged databases are not read again. */
export class ObjectReader {
  readonly #place: ObjectLocation;
  readonly #recorder: Recorder;
  readonly #read = new Map<string, { readonly version: string; readonly stored: StoredObject | undefined }>();

  constructor(place: ObjectLocation, recorder: Recorder) {
    this.#place = place;
    this.#recorder = recorder;
  }

  /** Returns the objects, most recently changed first. */
  async states(): Promise<readonly ObjectState[]> {
    const { DatabaseSync } = await import("node:sqlite");
    const states: ObjectState[] = [];
    const found = this.#findFiles();
    const alarms = new Map<string, number>();
    for (const className of new Set(found.map((each) => each.className))) {
      for (const [id, atMs] of readAlarms(join(this.#folderOf(className), "metadata.sqlite"), DatabaseSync)) {
        alarms.set(id, atMs);
      }
    }
    for (const file of found) {
      states.push(this.#toState(file, this.#stored(file, DatabaseSync), alarms.get(file.id)));
      // Files are read synchronously, and this process also proxies client requests.
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#evict(found);
    return states;
  }

  #folderOf(className: string): string {
    return join(this.#place.folder, `${this.#place.workerName}-${className}`);
  }

  #findFiles(): readonly DatabaseFile[] {
    const prefix = `${this.#place.workerName}-`;
    const folders = list(this.#place.folder).filter((each) => each.isDirectory() && each.name.startsWith(prefix));
    const found = folders.flatMap(({ name }) =>
      findDatabases(join(this.#place.folder, name), name.slice(prefix.length)),
    );
    return found.sort((one, other) => other.changedAtMs - one.changedAtMs).slice(0, OBJECTS_MAX);
  }

  #stored(
    { path, changedAtMs, bytes }: DatabaseFile,
    Database: typeof import("node:sqlite").DatabaseSync,
  ): StoredObject | undefined {
    const version = `${changedAtMs}/${bytes}`;
    const known = this.#read.get(path);
    if (known?.version === version) return known.stored;
    let stored: StoredObject | undefined;
    try {
      const database = new Database(path, { readOnly: true });
      try {
        stored = readStored(database);
      } finally {
        database.close();
      }
    } catch {
      // The file is being created or removed. The next call reads it again.
      return undefined;
    }
    this.#read.set(path, { version, stored });
    return stored;
  }

  #evict(found: readonly DatabaseFile[]): void {
    const paths = new Set(found.map(({ path }) => path));
    for (const path of this.#read.keys()) if (!paths.has(path)) this.#read.delete(path);
  }

  #toState(
    { id, className, bytes }: DatabaseFile,
    stored: StoredObject | undefined,
    alarmAtMs: number | undefined,
  ): ObjectState {
    const { redactor, roles } = this.#recorder;
    const activity = this.#recorder.activityOf(id);
    const role = roles.get(id) ?? roleOfStored(stored);
    if (role !== undefined) roles.set(id, role);
    const isAwake = activity !== undefined && (activity.open > 0 || Date.now() - activity.lastAtMs < IDLE_MS);
    // The objects of mcp-edge itself store keys, tokens and requests, which are never shown.
    const show = (value: unknown) => (role === undefined ? redactor.value(value) : shapeOf(value));
    return {
      id,
      className,
      ...(role === undefined ? {} : { role }),
      ...(stored?.name === undefined ? {} : { name: redactor.key(stored.name) }),
      awake: isAwake,
      ...(activity ? { lastInvokedAtMs: activity.lastAtMs } : {}),
      ...(alarmAtMs === undefined ? {} : { alarmAtMs }),
      bytes,
      tables: (stored?.tables ?? []).map(({ name, rows, columns, first }) => ({
        name,
        rows,
        columns,
        first: first.map((row) => row.map(show)),
      })),
      keys: (stored?.keys ?? []).map((each) => ({
        key: redactor.key(each.key),
        bytes: each.bytes,
        value: show(each.value),
      })),
      facts: stored && role !== undefined ? factsOf(role, stored) : [],
      entries: [...new Set(activity?.entries)].reverse(),
    };
  }
}

function list(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // No object has been created yet.
    return [];
  }
}

function findDatabases(folder: string, className: string): DatabaseFile[] {
  return list(folder).flatMap(({ name }) => {
    const [, id] = /^([\da-f]{64})\.sqlite$/.exec(name) ?? [];
    if (id === undefined) return [];
    const path = join(folder, name);
    const files = [path, `${path}-wal`].map((each) => statSync(each, { throwIfNoEntry: false }));
    const bytes = files.reduce((sum, each) => sum + (each?.size ?? 0), 0);
    return [{ id, className, path, changedAtMs: Math.max(...files.map((each) => each?.mtimeMs ?? 0)), bytes }];
  });
}

/** The nanoseconds in a millisecond. workerd stores the times of alarms in nanoseconds. */
const NANOSECONDS_IN_MS = 1_000_000n;

function readAlarms(
  path: string,
  Database: typeof import("node:sqlite").DatabaseSync,
): readonly (readonly [id: string, atMs: number])[] {
  try {
    const database = new Database(path, { readOnly: true });
    try {
      const statement = database.prepare("SELECT actor_id, scheduled_time FROM _cf_ALARM LIMIT 10000");
      statement.setReadBigInts(true);
      return statement.all().map(({ actor_id, scheduled_time }) => {
        return [String(actor_id), Number(BigInt(scheduled_time as bigint) / NANOSECONDS_IN_MS)] as const;
      });
    } finally {
      database.close();
    }
  } catch {
    // No alarm has been set yet.
    return [];
  }
}

function roleOfStored(stored: StoredObject | undefined): string | undefined {
  if (!stored) return undefined;
  const byName = stored.name === undefined ? undefined : roleOfName(stored.name);
  const first = stored.keys[0]?.key;
  const isSession =
    stored.tables.some(({ name }) => name === "event") && stored.tables.some(({ name }) => name === "stream");
  return byName ?? (first === undefined ? undefined : roleOfKey(first)) ?? (isSession ? "session" : undefined);
}

type Fact = readonly [name: string, value: string];

/** Returns the facts that depend on the role of an object. */
function factsOf(role: string, { tables, keys, prefixes }: StoredObject): readonly Fact[] {
  const rows = (table: string) => tables.find(({ name }) => name === table)?.rows ?? 0;
  const count = (prefix: string) => prefixes.get(prefix) ?? 0;
  const facts: readonly (readonly [role: string, name: string, value: () => number | string | undefined])[] = [
    ["session", "streams", () => rows("stream")],
    ["session", "stored events", () => rows("event")],
    ["session", "pending calls", () => count("call:")],
    ["hub", "objects", () => toHubSize(keys)],
    ["task", "status", () => toTaskStatus(keys)],
    ["task", "answers and steps", () => count("entry/")],
    ["once", "calls", () => count("claim:")],
    ["rates", "counters", () => countMembers(keys, "rates")],
    ["proof", "used proofs", () => count("proofs/")],
    ["keys", "sealing keys", () => countMembers(keys, "keys")],
    ["user", "grants", () => keys.filter(({ key }) => key.startsWith("user/grant/")).length],
  ];
  return facts.flatMap(([of, name, value]): Fact[] => {
    const found = of === role ? value() : undefined;
    return found === undefined ? [] : [[name, String(found)]];
  });
}

function findValue(keys: StoredObject["keys"], key: string): unknown {
  return keys.find((each) => each.key === key)?.value;
}

function countMembers(keys: StoredObject["keys"], key: string): number | undefined {
  const value = findValue(keys, key);
  return isObject(value) || Array.isArray(value) ? Object.keys(value).length : undefined;
}

function toHubSize(keys: StoredObject["keys"]): number {
  const value = findValue(keys, "objects");
  return Array.isArray(value) && typeof value[1] === "number" ? value[1] : 1;
}

const STATUS = /"status":"([a-z_]{1,30})"/;

/** Returns the status of a task, which is in the beginning of its stored JSON. */
function toTaskStatus(keys: StoredObject["keys"]): string | undefined {
  const value = findValue(keys, "state/0000");
  return typeof value === "string" ? STATUS.exec(value)?.[1] : undefined;
}
