/**
 * The storage of a task object: named JSON values, each split into as many pieces as necessary.
 *
 * | name | content | written | rows |
 * | --- | --- | --- | --- |
 * | `start` | the request and its journal so far | when the task is created | 1 |
 * | `state` | status, questions, result | when the task is created, when a run begins, when the status changes, when an attempt of a step fails | 1 each |
 * | `entry/000001`... | one answer or step of the journal | when it is recorded | 1 each |
 *
 * Each time the alarm is set, one more row is written. All rows are deleted when the task expires. A piece is one row with
 * at most 256 Ki UTF-16 code units.
 *
 * @module
 */
import { QuestionError } from "../../core/ask/question-errors.ts";
import { KitError } from "../../core/protocol/errors.ts";
import type { JSONRPCErrorObject, JsonObject } from "../../core/protocol/jsonrpc.ts";
import { failedEntry, type JournalData, type JournalEntry, type StepEntry } from "../../core/run/journal.ts";
import type { TaskRound, TaskStart } from "../../core/tasks/begin-task.ts";
import type { Asked } from "../../core/tasks/run-task.ts";
import type { StoredTries } from "../../core/tasks/stored-tries.ts";
import type { TaskStatus } from "../../core/tasks/task.ts";
import type { PlainRequest } from "../../http/sessions.ts";
import type { TaskOwner } from "./task-rpc.ts";

/** The part of a task that does not change. */
export interface StoredStart extends TaskStart, TaskOwner {
  /** Version of the storage format, so that later builds can read it. */
  readonly format: 1;
  readonly createdAtMs: number;
  /** The `ttlMs` that applied when the task was created. Later changes of the option apply only to later tasks. */
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  /** The storable part of the HTTP request, if the author's code uses the request: see http/storable-request.ts. */
  readonly http: PlainRequest | undefined;
}

/** A question that waits for its answer. */
export interface StoredQuestion extends Asked {
  readonly askedAtMs: number;
}

/** The part of a task that changes. */
export interface StoredState {
  status: TaskStatus;
  message?: string | undefined;
  updatedAtMs: number;
  /** Number of runs begun since the last progress. */
  starts: number;
  /** Length of the journal when the last run began. */
  journaled: number;
  /** The state and the answers for a handler that asks by returning `inputRequired()`. */
  round: TaskRound;
  /** Open questions, by their keys in `inputRequests`. */
  questions: Record<string, StoredQuestion>;
  /** The answers so far to questions that were asked by returning `inputRequired()`. */
  answers: JsonObject;
  /** Number of times that each key was used in `inputRequired()`. */
  uses: Record<string, number>;
  /** Key and digest of each question that was open when the last run ended. Absent before the first run has ended. */
  asked?: JournalData["asked"];
  /** Number of consecutive runs that returned a state without a question, while the journal did not grow. */
  silent: number;
  /** Failed attempts of steps that will be retried, by step key. */
  tries: Record<string, StoredTries>;
  /** When the first of these retries is due, in epoch milliseconds. The task may wait for answers too. */
  wakeAtMs?: number | undefined;
  result?: JsonObject;
  error?: JSONRPCErrorObject;
}

/** UTF-16 code units in one row, which are at most 1 MB. The platform allows 2 MB. */
const PIECE = 256 * 1024;
/**
 * The maximum number of entries in one journal. Each run reads all of them.
 * @limit count The steps and questions of one task. If there are more, the task fails.
 */
const ENTRIES_MAX = 10_000;
/**
 * The maximum size of one journal, in UTF-16 code units. The journal is read as a whole, and an isolate has 128 MB.
 * @limit characters The answers and step results of one task together. If they are longer, the task fails.
 */
const JOURNAL_MAX = 16 * 1024 * 1024;

export class TaskStore {
  readonly #storage: DurableObjectStorage;
  /** The number of entries and their size in UTF-16 code units. Undefined until they have been read. */
  #journal: { entries: number; units: number } | undefined;
  /** The number of pieces of each value that was read or written. */
  readonly #pieces = new Map<string, number>();

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  get start(): StoredStart | undefined {
    return this.#get("start") as StoredStart | undefined;
  }

  set start(start: StoredStart) {
    this.#put("start", start);
  }

  get state(): StoredState | undefined {
    return this.#get("state") as StoredState | undefined;
  }

  set state(state: StoredState) {
    this.#put("state", state);
  }

  entries(): JournalEntry[] {
    const texts = new Map<string, string>();
    for (const [key, piece] of this.#storage.kv.list<string>({ prefix: "entry/" })) {
      const name = key.slice(0, key.lastIndexOf("/"));
      texts.set(name, (texts.get(name) ?? "") + piece);
    }
    const all = [...texts.values()];
    this.#journal = { entries: all.length, units: all.reduce((sum, text) => sum + text.length, 0) };
    return all.map((text) => JSON.parse(text) as JournalEntry);
  }

  /** Adds an entry to the journal. @throws {KitError} `state-too-large` naming the limit. */
  addEntry(entry: JournalEntry): void {
    const { entries, units } = this.#read();
    const text = JSON.stringify(entry);
    if (entries >= ENTRIES_MAX || units + text.length > JOURNAL_MAX) {
      throw new KitError(
        "state-too-large",
        `A task stores at most ${ENTRIES_MAX} answers and step results with ${JOURNAL_MAX} characters.`,
      );
    }
    this.#append(text);
  }

  /**
   * Adds the outcome of a question. An answer that exceeds the limit is replaced by an `invalid-answer` failure, which is
   * stored although the limit is reached. Without an entry, the task would ask the same question forever.
   */
  addAnswer(entry: Exclude<JournalEntry, StepEntry>): void {
    try {
      this.addEntry(entry);
    } catch (error) {
      if (!KitError.is(error)) throw error;
      const { key, digest = "" } = entry;
      this.#append(JSON.stringify(failedEntry(key, digest, new QuestionError("invalid-answer", error.message))));
    }
  }

  /** Makes several changes. If one of them cannot be stored, none is. */
  atomically(change: () => void): void {
    try {
      this.#storage.transactionSync(change);
    } catch (error) {
      this.reset();
      throw error;
    }
  }

  /** Clears the cached sizes. To be called when the storage has been deleted. */
  reset(): void {
    this.#journal = undefined;
    this.#pieces.clear();
  }

  #append(text: string): void {
    const { entries, units } = this.#read();
    this.#putText(`entry/${String(entries + 1).padStart(6, "0")}`, text);
    this.#journal = { entries: entries + 1, units: units + text.length };
  }

  #read(): { readonly entries: number; readonly units: number } {
    if (!this.#journal) this.entries();
    return this.#journal ?? { entries: 0, units: 0 };
  }

  #get(name: string): unknown {
    let text = "";
    for (let at = 0; ; at += 1) {
      const piece = this.#storage.kv.get<string>(toKey(name, at));
      if (piece === undefined) {
        this.#pieces.set(name, at);
        return text === "" ? undefined : JSON.parse(text);
      }
      text += piece;
    }
  }

  #put(name: string, value: unknown): void {
    this.#putText(name, JSON.stringify(value));
  }

  /** Stores a value: all of its pieces, or none. */
  #putText(name: string, text: string): void {
    this.atomically(() => {
      let pieces = 0;
      for (let from = 0; from < text.length; from += PIECE) {
        this.#storage.kv.put(toKey(name, pieces), text.slice(from, from + PIECE));
        pieces += 1;
      }
      // Delete the remaining pieces of an earlier, longer value.
      for (let at = pieces; at < (this.#pieces.get(name) ?? 0); at += 1) this.#storage.kv.delete(toKey(name, at));
      this.#pieces.set(name, pieces);
    });
  }
}

function toKey(name: string, piece: number): string {
  return `${name}/${String(piece).padStart(4, "0")}`;
}
