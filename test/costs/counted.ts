/** Counts what Cloudflare bills for an object, in the isolate that serves all of them. */

export interface Counts {
  /** Calls and upgrades from Workers. */
  requests: number;
  /** The same of the hub. */
  hubRequests: number;
  /** WebSocket messages into objects, billed as a twentieth of a request each. */
  messages: number;
  /** Alarms that ran, billed as a request each. */
  alarms: number;
  /** Instances that were created, that is, objects that woke. */
  wakes: number;
  rowsRead: number;
  /** Rows written by SQL, by each write under a key, and by each setting of the alarm. */
  rowsWritten: number;
}

const none = (): Counts => ({
  requests: 0,
  hubRequests: 0,
  messages: 0,
  alarms: 0,
  wakes: 0,
  rowsRead: 0,
  rowsWritten: 0,
});

let counts = none();
/** Rows are read as the caller iterates, so cursors are added up last. */
let cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];

export function count(what: keyof Counts, by = 1): void {
  counts[what] += by;
}

/** Returns the counts since the previous call. */
export function takeCounts(): Counts {
  const taken = counts;
  for (const { rowsRead, rowsWritten } of cursors) {
    taken.rowsRead += rowsRead;
    taken.rowsWritten += rowsWritten;
  }
  counts = none();
  cursors = [];
  return taken;
}

/** Counts what an object reads and writes, without replacing its storage. */
export function countStorage({ storage }: DurableObjectState): void {
  const { sql, kv } = storage;
  const exec = sql.exec.bind(sql);
  sql.exec = (<Row extends Record<string, SqlStorageValue>>(query: string, ...bindings: unknown[]) => {
    const cursor = exec<Row>(query, ...bindings);
    cursors.push(cursor);
    return cursor;
  }) as typeof sql.exec;
  watch(kv, "get", "rowsRead");
  watch(kv, "put", "rowsWritten");
  watch(kv, "delete", "rowsWritten");
  watch(storage, "getAlarm", "rowsRead");
  watch(storage, "setAlarm", "rowsWritten");
}

function watch<Key extends string>(
  target: Record<Key, (...args: never[]) => unknown>,
  method: Key,
  what: keyof Counts,
): void {
  const original = target[method];
  target[method] = (...args) => {
    count(what);
    return Reflect.apply(original, target, args);
  };
}
