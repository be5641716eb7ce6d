/**
 * The stored calls of a recorder object.
 *
 * @module
 */

import { summaryOf } from "../assemble/live-entry.ts";
import type { Entry, Summary } from "../entry.ts";
import type { CheckedOptions } from "./recording-options.ts";

/** The maximum size of a stored call, in characters. Larger calls are stored without spans and log lines. @limit internal */
const CALL_CHARACTERS_MAX = 256 * 1024;

const TABLE =
  "CREATE TABLE IF NOT EXISTS call (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, summary TEXT NOT NULL, entry TEXT NOT NULL)";

/** How many times expired calls are deleted per `keepMs`. */
const DELETIONS = 24;

export class StoredCalls {
  readonly #storage: DurableObjectStorage;
  readonly #options: CheckedOptions;
  #count: number;
  #hasAlarm = false;

  constructor(storage: DurableObjectStorage, options: CheckedOptions) {
    this.#storage = storage;
    this.#options = options;
    storage.sql.exec(TABLE);
    this.#count = storage.sql.exec<{ count: number }>("SELECT count(*) AS count FROM call").one().count;
  }

  /** The id of the newest call, or 0 if there is none. */
  get lastId(): number {
    return this.#storage.sql.exec<{ id: number | null }>("SELECT max(id) AS id FROM call").one().id ?? 0;
  }

  /** Inserts or replaces a call. */
  save(entry: Entry): void {
    const { sql } = this.#storage;
    const whole = JSON.stringify(entry);
    const stored = whole.length > CALL_CHARACTERS_MAX ? JSON.stringify(withoutDetails(entry)) : whole;
    const id = Number(entry.id);
    const isKnown = sql.exec("SELECT id FROM call WHERE id = ?", id).toArray().length > 0;
    const summary = JSON.stringify(summaryOf(entry));
    sql.exec("INSERT OR REPLACE INTO call VALUES (?, ?, ?, ?)", id, entry.startedAtMs, summary, stored);
    if (!isKnown) this.#count += 1;
    const surplus = this.#count - this.#options.callsMax;
    if (surplus > 0) this.#delete("id IN (SELECT id FROM call ORDER BY id LIMIT ?)", surplus);
    if (!this.#hasAlarm) void this.#setAlarm(entry.startedAtMs);
  }

  /** Returns the newest calls, or the newest calls before a call. */
  list(max: number, before: number = Number.MAX_SAFE_INTEGER): readonly Summary[] {
    const query = "SELECT summary FROM call WHERE id < ? AND at > ? ORDER BY id DESC LIMIT ?";
    const rows = this.#storage.sql.exec<{ summary: string }>(query, before, this.#expiredBefore(), max);
    return rows.toArray().map(({ summary }) => JSON.parse(summary) as Summary);
  }

  find(id: number): Entry | undefined {
    const query = "SELECT entry FROM call WHERE id = ? AND at > ?";
    const [row] = this.#storage.sql.exec<{ entry: string }>(query, id, this.#expiredBefore()).toArray();
    return row && (JSON.parse(row.entry) as Entry);
  }

  /** Returns the newest calls whose total size is at most this many characters, oldest first. */
  newest(charactersMax: number): readonly Entry[] {
    const query = "SELECT entry FROM call WHERE at > ? ORDER BY id DESC";
    const found: Entry[] = [];
    let characters = 0;
    for (const { entry } of this.#storage.sql.exec<{ entry: string }>(query, this.#expiredBefore())) {
      characters += entry.length;
      if (characters > charactersMax) break;
      found.unshift(JSON.parse(entry) as Entry);
    }
    return found;
  }

  async deleteExpired(): Promise<void> {
    this.#hasAlarm = false;
    this.#delete("at <= ?", this.#expiredBefore());
    const { at } = this.#storage.sql.exec<{ at: number | null }>("SELECT min(at) AS at FROM call").one();
    if (at !== null) await this.#setAlarm(at);
  }

  #expiredBefore(): number {
    return Date.now() - this.#options.keepMs;
  }

  #delete(condition: string, value: number): void {
    this.#count -= this.#storage.sql.exec(`DELETE FROM call WHERE ${condition} RETURNING id`, value).toArray().length;
  }

  /** @param at When the oldest call began. */
  async #setAlarm(at: number): Promise<void> {
    const { keepMs } = this.#options;
    this.#hasAlarm = true;
    const known = await this.#storage.getAlarm();
    if (known === null) await this.#storage.setAlarm(Math.max(at + keepMs, Date.now() + keepMs / DELETIONS));
  }
}

/** Returns a call without its spans and log lines, but with their numbers. */
function withoutDetails(entry: Entry): Entry {
  const { invocations, omitted = { messages: 0, spans: 0, logs: 0 } } = entry;
  const count = (member: "spans" | "logs") => invocations.reduce((sum, each) => sum + each[member].length, 0);
  return {
    ...entry,
    invocations: invocations
      .slice(0, 50)
      .map((each) => ({ ...each, spans: [], logs: [], exceptions: each.exceptions.slice(0, 5) })),
    omitted: { ...omitted, spans: omitted.spans + count("spans"), logs: omitted.logs + count("logs") },
  };
}
