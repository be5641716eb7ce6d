/**
 * What one run of a call in a session remembers, and a later one reads: the journal, and the questions that have no
 * answer so far.
 *
 * It is stored in rows of bounded size, so that a change costs the same however much the call remembers. The first row
 * has the call as a whole, and is replaced while the call is small. Beyond that it stays as it is, and each further row
 * has the changes that followed, as many as fit. Each change writes one row.
 *
 * @module
 */

import type { AskedBefore } from "../../core/ask/client-asker.ts";
import { QuestionError } from "../../core/ask/question-errors.ts";
import { KitError } from "../../core/protocol/errors.ts";
import type { RequestId } from "../../core/protocol/jsonrpc.ts";
import { failedEntry, type JournalData, type JournalEntry, type QuestionEntry } from "../../core/run/journal.ts";
import type { SessionPost } from "../../http/sessions.ts";
import type { Caller } from "../sessions/session-state.ts";

/** Characters that one call may store: its request and all that it remembers. A row of the platform holds twice that. */
const CALL_MAX = 900_000;
/** Characters that one journal row may hold. An entry that would exceed them starts a new row. */
const ROW_MAX = 4_096;

interface OpenQuestion {
  readonly key: string;
  readonly digest: string;
  readonly untilMs: number;
}

/** A call as its first row has it. In layout 1 this row was the only one, whatever its size. */
export interface StoredCall {
  readonly stream: number;
  readonly caller: Caller;
  readonly post: SessionPost;
  readonly journal: JournalData;
  /** Questions without an answer, by the ids they went out with. */
  readonly questions: Readonly<Record<string, OpenQuestion>>;
  /** Whether it may be run again although it was not waiting: its tool says so. */
  readonly isRepeatable: boolean;
  /** How often it was run again without coming further. */
  readonly reruns: number;
}

/** One change, as the further rows have it. */
export type StoredChange =
  | { readonly entry: JournalEntry }
  | { readonly id: string; readonly question: OpenQuestion }
  | Partial<Pick<StoredCall, "isRepeatable" | "reruns">>;

export interface MemoryHost {
  /** Stores a row of the call: row 0 is the first. */
  put(row: number, value: StoredCall | readonly StoredChange[]): void;
  /** What may be stored of the message that began the call. */
  storable(post: SessionPost): SessionPost;
  /** Called with when a question that goes out is given up. */
  wakeAt(atMs: number): void;
}

export class CallMemory implements AskedBefore {
  readonly #host: MemoryHost;
  #call: StoredCall;
  readonly #entries: JournalEntry[];
  /** Of them, those of questions, by key. */
  readonly #answers = new Map<string, QuestionEntry>();
  /** The row being written, what it has unless it is the first, and the characters in it and in all rows. */
  #row = 0;
  #changes: StoredChange[] = [];
  #rowUnits = 0;
  #units = 0;
  /** Whether there is a row of it. */
  isStored = false;
  #rest: () => void = () => undefined;
  /** Resolves when a question has gone out: from then on nothing need hold the object awake. */
  atRest = this.#untilRest();
  /** Called when a question is answered: the run goes on. */
  onAnswer: () => void = () => undefined;

  /** @param rows The changes of its further rows, for a call that was stored. */
  constructor(host: MemoryHost, call: StoredCall, rows?: readonly (readonly StoredChange[])[]) {
    this.#host = host;
    this.#call = call;
    this.#entries = [...call.journal.entries];
    for (const entry of this.#entries) this.#index(entry);
    if (!rows) return;
    this.isStored = true;
    this.#units = sizeOf(call);
    for (const row of rows) {
      for (const change of row) this.#apply(change);
      this.#units += sizeOf(row);
    }
    this.#row = rows.length;
    // A further row is left as it was found.
    this.#rowUnits = rows.length > 0 ? ROW_MAX : this.#units;
  }

  get stream(): number {
    return this.#call.stream;
  }

  get caller(): Caller {
    return this.#call.caller;
  }

  get post(): SessionPost {
    return this.#call.post;
  }

  get questions(): StoredCall["questions"] {
    return this.#call.questions;
  }

  get isRepeatable(): boolean {
    return this.#call.isRepeatable;
  }

  get reruns(): number {
    return this.#call.reruns;
  }

  /** The journal as it is now: what is recorded later does not change it. */
  get journal(): JournalData {
    return { ...this.#call.journal, entries: [...this.#entries] };
  }

  /** Stores that the call may be run again although it does not wait. One too large to be stored is not. */
  repeatable(): void {
    try {
      this.#change({ isRepeatable: true });
    } catch (error) {
      if (!KitError.is(error)) throw error;
    }
  }

  /** Stores that it is run again. */
  rerun(): void {
    this.#change({ reruns: this.#call.reruns + 1 }, true);
  }

  find(key: string): RequestId | undefined {
    return Object.entries(this.#call.questions).find(([, question]) => question.key === key)?.[0];
  }

  outcome(key: string): QuestionEntry | undefined {
    return this.#answers.get(key);
  }

  add(id: string, key: string, digest: string, timeoutMs: number): void {
    const untilMs = Date.now() + timeoutMs;
    this.#change({ id, question: { key, digest, untilMs } });
    this.#host.wakeAt(untilMs);
    this.#rest();
  }

  /**
   * Keeps what came of a question or step.
   *
   * @throws {QuestionError} `invalid-answer` naming the limit, for an answer that is too large. This is kept in place of
   *   the answer, so that a later run meets the same.
   * @throws {KitError} `state-too-large` naming the limit, for the result of a step.
   */
  record(entry: JournalEntry): void {
    try {
      this.#record(entry, false);
    } catch (error) {
      if (!KitError.is(error) || "step" in entry) throw error;
      const failure = new QuestionError("invalid-answer", error.message);
      // Always stored, or the question would stay open. It is short, and to ask it took room as well.
      this.#record(failedEntry(entry.key, entry.digest ?? "", failure), true);
      throw failure;
    }
  }

  #record(entry: JournalEntry, isForced: boolean): void {
    const isStep = "step" in entry;
    if (!isStep && this.outcome(entry.key)) return;
    this.#change({ entry }, isForced);
    if (isStep) return;
    this.atRest = this.#untilRest();
    if (Object.keys(this.#call.questions).length > 0) this.#rest();
    this.onAnswer();
  }

  #untilRest(): Promise<void> {
    return new Promise((resolve) => {
      this.#rest = resolve;
    });
  }

  #change(change: StoredChange, isForced = false): void {
    if (!this.isStored) this.#call = { ...this.#call, post: this.#host.storable(this.#call.post) };
    const before = this.#units || sizeOf(this.#call);
    const units = sizeOf(change);
    if (before + units > CALL_MAX && !isForced) throw tooLarge(before + units);
    this.#units = before + units;
    this.#apply(change);
    this.#write(change, units);
    this.isStored = true;
  }

  #write(change: StoredChange, units: number): void {
    if (this.#row === 0 && (!this.isStored || this.#units <= ROW_MAX)) {
      this.#rowUnits = this.#units;
      this.#host.put(0, { ...this.#call, journal: { ...this.#call.journal, entries: this.#entries } });
      return;
    }
    if (this.#row === 0 || this.#rowUnits + units > ROW_MAX) {
      this.#row += 1;
      this.#changes = [];
      this.#rowUnits = 0;
    }
    this.#changes.push(change);
    this.#rowUnits += units;
    this.#host.put(this.#row, this.#changes);
  }

  #apply(change: StoredChange): void {
    const { questions } = this.#call;
    if ("entry" in change) {
      const { entry } = change;
      this.#entries.push(entry);
      this.#index(entry);
      const isOpen = ({ key }: OpenQuestion) => "step" in entry || key !== entry.key;
      const open = Object.entries(questions).filter(([, question]) => isOpen(question));
      // It has come further: what ends the object is not the call.
      this.#call = { ...this.#call, questions: Object.fromEntries(open), reruns: 0 };
    } else if ("question" in change) {
      this.#call = { ...this.#call, questions: { ...questions, [change.id]: change.question } };
    } else this.#call = { ...this.#call, ...change };
  }

  #index(entry: JournalEntry): void {
    if (!("step" in entry)) this.#answers.set(entry.key, entry);
  }
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length;
}

function tooLarge(units: number): KitError {
  return new KitError(
    "state-too-large",
    `A call in a session keeps its request, its answers and the results of its steps: ${CALL_MAX} characters at most, ` +
      `and with this it would be ${units}. Store large values elsewhere, and return a reference to them from ctx.step().`,
  );
}
