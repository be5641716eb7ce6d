/**
 * One call of a session that survives a restart of its Durable Object. Each run records its journal and its open questions
 * for the next run.
 *
 * They are stored in rows of limited size, so that the cost of a change does not depend on the amount of recorded data.
 * The first row contains the whole call and is rewritten while the call is small. When the call grows larger, the first
 * row stays unchanged, and additional rows contain as many of the later changes as fit. Each change writes one row.
 *
 * @module
 */

import type { AskedBefore } from "../../core/ask/client-asker.ts";
import { QuestionError } from "../../core/ask/question-errors.ts";
import { KitError } from "../../core/protocol/errors.ts";
import type { StartTimer } from "../../core/protocol/execution.ts";
import type { RequestId } from "../../core/protocol/jsonrpc.ts";
import { failedEntry, type JournalData, type JournalEntry, type QuestionEntry } from "../../core/run/journal.ts";
import type { SessionPost } from "../../http/sessions.ts";
import type { Caller } from "../sessions/session-state.ts";

/**
 * The maximum size of a stored call in characters: its request, journal and questions. The platform allows rows of twice
 * this size.
 * @limit characters The stored data of a legacy call. A larger call does not continue after a reset of its object.
 */
const CALL_MAX = 900_000;
/** The maximum size of a row in characters. A change that would exceed it starts a new row. @limit internal */
const ROW_MAX = 4_096;

interface OpenQuestion {
  readonly key: string;
  readonly digest: string;
  readonly untilMs: number;
  /** When the run that asks must end, in epoch milliseconds. Absent without a time limit. */
  readonly endMs?: number | undefined;
}

/** The content of the first row of a call. */
export interface StoredCall {
  readonly stream: number;
  readonly caller: Caller;
  readonly post: SessionPost;
  /** The `endMs` of the latest question. */
  readonly endMs?: number | undefined;
  readonly journal: JournalData;
  /** Open questions, by the ids of the requests that carried them. */
  readonly questions: Readonly<Record<string, OpenQuestion>>;
  /** Whether the call may be run again without an open question, because its tool is idempotent or read-only. */
  readonly isRepeatable: boolean;
  /** Number of reruns since the journal last grew. */
  readonly reruns: number;
}

/** One change in an additional row. */
export type StoredChange =
  | { readonly entry: JournalEntry }
  | { readonly id: string; readonly question: OpenQuestion }
  | Partial<Pick<StoredCall, "isRepeatable" | "reruns">>;

export interface DurableCallHost {
  /** Stores a row of the call. The first row is row 0. */
  put(row: number, value: StoredCall | readonly StoredChange[]): void;
  /** Returns the part of the POST that may be stored. */
  storable(post: SessionPost): SessionPost;
  /** Called when a question is sent. @param atMs When the question expires. */
  wakeAt(atMs: number): void;
}

/** Keeps the object in memory until the run ends. @param rest Resolves earlier, when the run waits for its client. */
type Hold = (rest: Promise<void>) => void;

export class DurableCall implements AskedBefore {
  readonly #host: DurableCallHost;
  #call: StoredCall;
  readonly #entries: JournalEntry[];
  /** The journal entries of questions, by key. */
  readonly #answers = new Map<string, QuestionEntry>();
  /** Number of the current row, to which changes are written. */
  #row = 0;
  /** The changes in the current row, unless it is the first row. */
  #changes: StoredChange[] = [];
  /** Size of the current row in characters. */
  #rowUnits = 0;
  /** Size of all rows in characters. */
  #units = 0;
  /** Whether a row has been stored. */
  isStored = false;
  /** Set when the call has been deleted. A step that is still running must not store the call again. */
  isDeleted = false;
  /** Whether this call was read from the storage and has not been run again yet. */
  #isRestored = false;
  /** The time that remained for the interrupted run when its question was answered, in milliseconds. */
  #leftMs = Infinity;
  #hold: Hold | undefined;
  /** Called when a question has been sent. From then on the object may be evicted. */
  #rest: () => void = () => undefined;
  /** When the run must end, in epoch milliseconds. */
  #endMs = Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Ends the run if its time limit is exceeded. Otherwise starts the timer, unless a question is open. */
  #look: () => void = () => undefined;

  /** @param rows The changes in the additional rows of a stored call. Absent for a new call. */
  constructor(host: DurableCallHost, call: StoredCall, rows?: readonly (readonly StoredChange[])[]) {
    this.#host = host;
    this.#call = call;
    this.#entries = [...call.journal.entries];
    for (const entry of this.#entries) this.#index(entry);
    if (!rows) return;
    this.isStored = true;
    this.#isRestored = true;
    this.#units = computeSize(call);
    for (const row of rows) {
      for (const change of row) this.#apply(change);
      this.#units += computeSize(row);
    }
    this.#row = rows.length;
    // Additional rows that were read are not rewritten. The next change starts a new row.
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

  /** Whether a question is open. */
  get isAsking(): boolean {
    return Object.keys(this.#call.questions).length > 0;
  }

  get isRepeatable(): boolean {
    return this.#call.isRepeatable;
  }

  get reruns(): number {
    return this.#call.reruns;
  }

  /** A copy of the journal, which does not change with later entries. */
  get journal(): JournalData {
    return { ...this.#call.journal, entries: [...this.#entries] };
  }

  /**
   * Stores that the call may be run again without an open question. A call that is too large to be stored cannot be run
   * again.
   */
  repeatable(): void {
    try {
      this.#change({ isRepeatable: true });
    } catch (error) {
      if (!KitError.is(error)) throw error;
    }
  }

  /** Increments the number of reruns. */
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
    const endMs = this.#endMs;
    const untilMs = Math.min(Date.now() + timeoutMs, endMs);
    this.#change({ id, question: { key, digest, untilMs, ...(endMs < Infinity ? { endMs } : {}) } });
    this.#host.wakeAt(untilMs);
    clearTimeout(this.#timer);
    this.#rest();
  }

  /** Called when a run has begun and is pending. @param hold Keeps the object in memory while the run continues. */
  begin(hold: Hold): void {
    if (this.#hold) return;
    this.#hold = hold;
    this.#goOn();
  }

  /**
   * Starts the time limit of the run, which includes the client's time to answer. A timer would keep the object in memory,
   * so the timer is stopped while a question is open. Instead, the question expires when the run must end.
   */
  startTimer: StartTimer = (timeoutMs, end) => {
    this.#endMs = Date.now() + Math.min(timeoutMs, this.#leftMs);
    this.#isRestored = false;
    this.#leftMs = Infinity;
    this.#look = () => {
      clearTimeout(this.#timer);
      const leftMs = this.#endMs - Date.now();
      if (leftMs <= 0) end();
      else if (!this.isAsking) this.#timer = setTimeout(end, leftMs);
    };
    this.#look();
    return () => {
      this.#look = () => undefined;
      clearTimeout(this.#timer);
    };
  };

  /**
   * Records the outcome of a question or step.
   *
   * @throws {QuestionError} `invalid-answer` naming the limit, for an answer that is too large. The error is recorded
   *   instead of the answer, so that later runs throw it too.
   * @throws {KitError} `state-too-large` naming the limit, for the result of a step.
   */
  record = (entry: JournalEntry): void => {
    try {
      this.#record(entry, false);
    } catch (error) {
      if (!KitError.is(error) || "step" in entry) throw error;
      const failure = new QuestionError("invalid-answer", error.message);
      // The failure is always stored, because the question would stay open otherwise. It is short and replaces the question.
      this.#record(failedEntry(entry.key, entry.digest ?? "", failure), true);
      throw failure;
    }
  };

  #record(entry: JournalEntry, isForced: boolean): void {
    const isStep = "step" in entry;
    if (!isStep && this.outcome(entry.key)) return;
    // The time until the handler runs again, such as the time of hooks, does not count toward its limit.
    if (this.#isRestored) this.#leftMs = (this.#call.endMs ?? Infinity) - Date.now();
    this.#change({ entry }, isForced);
    if (isStep) return;
    this.#look();
    this.#goOn();
  }

  #goOn(): void {
    const rest = new Promise<void>((resolve) => {
      this.#rest = resolve;
    });
    if (this.isAsking) this.#rest();
    this.#hold?.(rest);
  }

  #change(change: StoredChange, isForced = false): void {
    if (this.isDeleted) return;
    if (!this.isStored) this.#call = { ...this.#call, post: this.#host.storable(this.#call.post) };
    const before = this.#units || computeSize(this.#call);
    const units = computeSize(change);
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
      // The journal has grown, so this call is not the cause of repeated resets.
      this.#call = { ...this.#call, questions: Object.fromEntries(open), reruns: 0 };
    } else if ("question" in change) {
      const { id, question } = change;
      this.#call = { ...this.#call, endMs: question.endMs, questions: { ...questions, [id]: question } };
    } else this.#call = { ...this.#call, ...change };
  }

  #index(entry: JournalEntry): void {
    if (!("step" in entry)) this.#answers.set(entry.key, entry);
  }
}

function computeSize(value: unknown): number {
  return JSON.stringify(value).length;
}

function tooLarge(units: number): KitError {
  return new KitError(
    "state-too-large",
    `The request, answers and step results of a call in a session may have ${CALL_MAX} characters, not ${units}. ` +
      "Store large values elsewhere, and return a reference to them from ctx.step().",
  );
}
