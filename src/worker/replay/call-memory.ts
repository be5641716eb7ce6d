/**
 * What one run of a call remembers, and a later one reads: the journal, and the questions that went out without an
 * answer so far. Each change is one write of one row.
 *
 * @module
 */
import { QuestionError } from "../../core/asker.ts";
import type { AskedBefore } from "../../core/asking.ts";
import { KitError } from "../../core/errors.ts";
import type { RequestId } from "../../core/jsonrpc.ts";
import { failedEntry, type JournalData, type JournalEntry } from "../../core/replay/journal.ts";
import type { SessionPost } from "../../http/sessions.ts";
import type { Caller } from "../sessions/session-state.ts";

/** Units of text in one call, its request and journal. A row may have 2 MB on the platform, which is two bytes for each and some more. */
const CALL_MAX = 900_000;

interface OpenQuestion {
  readonly key: string;
  readonly digest: string;
  readonly untilMs: number;
}

/** A call at rest. */
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

export interface MemoryHost {
  put(call: StoredCall): void;
  /** Called with when a question that goes out is given up. */
  wakeAt(atMs: number): void;
}

export class CallMemory implements AskedBefore {
  readonly #host: MemoryHost;
  #call: StoredCall;

  /** Whether there is a row of it. */
  isStored: boolean;
  #rest: () => void = () => undefined;
  /** Resolves when a question has gone out: from then on nothing need hold the object awake. */
  atRest = this.#untilRest();
  /** Called when a question is answered: the run goes on. */
  onAnswer: () => void = () => undefined;

  constructor(host: MemoryHost, call: StoredCall, isStored: boolean) {
    this.#host = host;
    this.#call = call;
    this.isStored = isStored;
  }

  get call(): StoredCall {
    return this.#call;
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
    this.#change({ reruns: this.#call.reruns + 1 });
  }

  find(key: string): RequestId | undefined {
    return Object.entries(this.#call.questions).find(([, question]) => question.key === key)?.[0];
  }

  entry(key: string): JournalEntry | undefined {
    return this.#call.journal.entries.find((entry) => entry.key === key && !("step" in entry));
  }

  add(id: string, key: string, digest: string, timeoutMs: number): void {
    const untilMs = Date.now() + timeoutMs;
    this.#change({ questions: { ...this.#call.questions, [id]: { key, digest, untilMs } } });
    this.#host.wakeAt(untilMs);
    this.#rest();
  }

  /**
   * Keeps what came of a question or step. An answer that is too large counts as one that is invalid.
   *
   * @throws {KitError} `state-too-large` naming the limit.
   */
  record(entry: JournalEntry): void {
    try {
      this.#record(entry);
    } catch (error) {
      if (!KitError.is(error) || "step" in entry) throw error;
      const { key, digest = "" } = entry;
      this.#record(failedEntry(key, digest, new QuestionError("invalid-answer", error.message)));
      throw error;
    }
  }

  #record(entry: JournalEntry): void {
    if (!("step" in entry) && this.entry(entry.key)) return;
    const { journal, questions } = this.#call;
    const open = Object.entries(questions).filter(([, { key }]) => "step" in entry || key !== entry.key);
    this.#change({
      journal: { ...journal, entries: [...journal.entries, entry] },
      questions: Object.fromEntries(open),
      // It has come further: what ends the object is not the call.
      reruns: 0,
    });
    if ("step" in entry) return;
    this.atRest = this.#untilRest();
    if (open.length > 0) this.#rest();
    this.onAnswer();
  }

  #untilRest(): Promise<void> {
    return new Promise((resolve) => {
      this.#rest = resolve;
    });
  }

  #change(changes: Partial<StoredCall>): void {
    const call = { ...this.#call, ...changes };
    const units = JSON.stringify(call).length;
    if (units > CALL_MAX) throw tooLarge(units);
    this.#call = call;
    this.isStored = true;
    this.#host.put(call);
  }
}

function tooLarge(units: number): KitError {
  return new KitError(
    "state-too-large",
    `A call in a session is kept in one row with what it has had, ${CALL_MAX} characters at most, and is ${units} now. ` +
      "Store elsewhere what is large, and return its name from ctx.step().",
  );
}
