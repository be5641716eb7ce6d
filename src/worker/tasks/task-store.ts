/**
 * What a task object stores, as JSON under names, each value in as many pieces as it takes.
 *
 * | name | what | written | rows |
 * | --- | --- | --- | --- |
 * | `start` | the request and what came before it | when the task is made | 1 |
 * | `state` | status, questions, result | when the task is made, when a run begins, when the status changes, when a try of a step fails | 1 each |
 * | `entry/000001`... | one answer or step of the journal | when there is one | 1 each |
 *
 * Setting the alarm is a row more each time. All goes at once when the task's time is over. A piece is 256 Ki units of text:
 * larger values take a row for each.
 *
 * @module
 */
import { QuestionError } from "../../core/ask/question-errors.ts";
import { KitError } from "../../core/protocol/errors.ts";
import type { JSONRPCErrorObject, JsonObject } from "../../core/protocol/jsonrpc.ts";
import { failedEntry, type JournalData, type JournalEntry, type StepEntry } from "../../core/run/journal.ts";
import type { TaskRound, TaskStart } from "../../core/tasks/begin-task.ts";
import type { KeptTries } from "../../core/tasks/kept-tries.ts";
import type { Asked } from "../../core/tasks/run-task.ts";
import type { TaskStatus } from "../../core/tasks/task.ts";
import type { PlainRequest } from "../../http/sessions.ts";
import type { TaskOwner } from "./task-rpc.ts";

/** What does not change over a task's life. */
export interface StoredStart extends TaskStart, TaskOwner {
  /** Format of what is stored, for a later build to read. */
  readonly format: 1;
  readonly createdAtMs: number;
  /** As it was then: later configurations are for later tasks. */
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  /** What may be stored of the HTTP request, where something of the author's asks for it: see http/storable-request.ts. */
  readonly http: PlainRequest | undefined;
}

/** A question that waits for its answer. */
export interface StoredQuestion extends Asked {
  readonly askedAtMs: number;
}

/** What does. */
export interface StoredState {
  status: TaskStatus;
  message?: string | undefined;
  updatedAtMs: number;
  /** Runs begun since the journal last grew, and how long it was then. */
  starts: number;
  journaled: number;
  /** Of a handler that asks by returning. */
  round: TaskRound;
  /** What waits for an answer, by its key on the wire. */
  questions: Record<string, StoredQuestion>;
  /** Answers to those of them that were asked by returning. */
  answers: JsonObject;
  /** How often each key was used by a handler that asks by returning. */
  uses: Record<string, number>;
  /** What the run before asked for when it ended: key and digest. Absent before there was one. */
  asked?: JournalData["asked"];
  /** Runs of such a handler since it last asked something or the journal grew: it gave a state, and no question. */
  silent: number;
  /** Of steps that failed and are tried again, by their keys. */
  tries: Record<string, KeptTries>;
  /** When the first of them is due, whatever the task waits for beside it. */
  wakeAtMs?: number | undefined;
  result?: JsonObject;
  error?: JSONRPCErrorObject;
}

/** Units of text in a row: 1 MB at most, of the 2 a row may have. */
const PIECE = 256 * 1024;
/** Entries of one journal. Each run reads them all. */
const ENTRIES_MAX = 10_000;
/** Units of text in one journal. An isolate has 128 MB, and reads it whole. */
const JOURNAL_MAX = 16 * 1024 * 1024;

export class TaskStore {
  readonly #storage: DurableObjectStorage;
  /** Entries, and units of text in them; undefined until they were read. */
  #journal: { entries: number; units: number } | undefined;
  /** How many each value has, of those read or written. */
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

  /** @throws {KitError} `state-too-large` naming the limit. */
  addEntry(entry: JournalEntry): void {
    const { entries, units } = this.#read();
    const text = JSON.stringify(entry);
    if (entries >= ENTRIES_MAX || units + text.length > JOURNAL_MAX) {
      throw new KitError(
        "state-too-large",
        `A task keeps at most ${ENTRIES_MAX} answers and results of steps, ${JOURNAL_MAX} characters together.`,
      );
    }
    this.#append(text);
  }

  /**
   * Adds what came of a question. An answer beyond the limit counts as one that is invalid, and that is stored beyond the
   * limit: without an entry the task would ask the same question again and again.
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

  /** What was known of the journal is not so any more. */
  reset(): void {
    this.#journal = undefined;
    this.#pieces.clear();
  }

  #append(text: string): void {
    const { entries, units } = this.#read();
    this.#journal = { entries: entries + 1, units: units + text.length };
    this.#putText(`entry/${String(entries + 1).padStart(6, "0")}`, text);
  }

  #read(): { readonly entries: number; readonly units: number } {
    if (!this.#journal) this.entries();
    return this.#journal ?? { entries: 0, units: 0 };
  }

  #get(name: string): unknown {
    let text = "";
    for (let at = 0; ; at += 1) {
      const piece = this.#storage.kv.get<string>(keyOf(name, at));
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

  #putText(name: string, text: string): void {
    let pieces = 0;
    for (let from = 0; from < text.length; from += PIECE) {
      this.#storage.kv.put(keyOf(name, pieces), text.slice(from, from + PIECE));
      pieces += 1;
    }
    // A value that was longer before.
    for (let at = pieces; at < (this.#pieces.get(name) ?? 0); at += 1) this.#storage.kv.delete(keyOf(name, at));
    this.#pieces.set(name, pieces);
  }
}

function keyOf(name: string, piece: number): string {
  return `${name}/${String(piece).padStart(4, "0")}`;
}
