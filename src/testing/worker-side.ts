/**
 * The part of the test harness that runs in the Worker: a method of each Durable Object class, which only the harness calls, over RPC.
 * It is added to the class itself, so that the class, its name and its instances do not change.
 *
 * This file is bundled into the Worker; it does not run in Node.
 */

import { storedRole } from "../worker/roles.ts";
import { CONTROL } from "./names.ts";

/** A command for an object. */
export type Control =
  | { readonly ask: "storage" }
  | { readonly ask: "role" }
  | { readonly ask: "sql"; readonly query: string; readonly bindings: readonly unknown[] }
  | { readonly ask: "alarm"; readonly onlyIfDue: boolean }
  | { readonly ask: "abort"; readonly reason: string };

/** All data that an object stores. */
export interface StoredState {
  /** The stored values, by key. */
  readonly keys: Readonly<Record<string, unknown>>;
  /** The rows of each SQL table, by table name. */
  readonly tables: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  /** When the alarm is due, in milliseconds since 1970; undefined if no alarm is set. */
  readonly alarmAtMs: number | undefined;
  /** The size of the database in bytes, including free pages. */
  readonly bytes: number;
}

type ControlledObject = { ctx?: DurableObjectState; alarm?: (info: AlarmInvocationInfo) => unknown };
type AlarmInvocationInfo = { readonly isRetry: boolean; readonly retryCount: number; readonly scheduledTime: number };

/** Adds the method to the Durable Object classes that a module exports. */
export function control(module: Readonly<Record<string, unknown>>, classNames: readonly string[]): void {
  for (const name of classNames) {
    const found = module[name];
    if (typeof found !== "function" || Object.hasOwn(found.prototype, CONTROL)) continue;
    Object.defineProperty(found.prototype, CONTROL, {
      value(this: ControlledObject, asked: Control): unknown {
        if (!this.ctx)
          throw new Error(`The Durable Object class "${name}" must extend DurableObject so that it can be tested.`);
        return answer(this, this.ctx, asked);
      },
    });
  }
}

function answer(object: ControlledObject, ctx: DurableObjectState, asked: Control): unknown {
  switch (asked.ask) {
    case "storage":
      return storedIn(ctx);
    case "role":
      return storedRole(ctx.storage.kv);
    case "sql":
      return ctx.storage.sql.exec(asked.query, ...(asked.bindings as SqlStorageValue[])).toArray();
    case "alarm":
      return runAlarm(object, ctx, asked.onlyIfDue);
    case "abort":
      return ctx.abort(asked.reason);
  }
}

/** Runs the alarm as the runtime does: deletes it first, so that the handler can set another alarm. */
async function runAlarm(object: ControlledObject, ctx: DurableObjectState, onlyIfDue: boolean): Promise<boolean> {
  const scheduledTime = await ctx.storage.getAlarm();
  if (scheduledTime === null || (onlyIfDue && scheduledTime > Date.now())) return false;
  await ctx.storage.deleteAlarm();
  await object.alarm?.({ isRetry: false, retryCount: 0, scheduledTime });
  return true;
}

async function storedIn(ctx: DurableObjectState): Promise<StoredState> {
  const { sql } = ctx.storage;
  const names = sql
    .exec<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'",
    )
    .toArray()
    .map(({ name }) => name)
    .filter((name) => !name.startsWith("sqlite_"));
  return {
    keys: Object.fromEntries(await ctx.storage.list()),
    tables: Object.fromEntries(names.map((name) => [name, readRows(sql, name)])),
    alarmAtMs: (await ctx.storage.getAlarm()) ?? undefined,
    bytes: sql.databaseSize,
  };
}

function readRows(sql: SqlStorage, table: string): Record<string, unknown>[] {
  return sql.exec(`SELECT * FROM "${table.replaceAll('"', '""')}"`).toArray();
}
