/**
 * One run of a handler over a journal. Answers and results in the journal are returned immediately; other questions are
 * asked, and other steps run. If the client cannot be asked in the middle of a request, the run is suspended once it
 * waits for an answer and no step is running. Later calls of its context then have no effect.
 *
 * @module
 */

import { toAnswer } from "../ask/answers.ts";
import type { Asker } from "../ask/asker.ts";
import { contextClosed, overLimit, QuestionError } from "../ask/question-errors.ts";
import { type Question, requireAnswerable } from "../ask/questions.ts";
import type { Step } from "../define/handler-run.ts";
import { KitError } from "../protocol/errors.ts";
import { AttemptAsker } from "./attempt-asker.ts";
import type { JournaledRun } from "./create-rounds.ts";
import { diverged, duplicateKey, list, stalled } from "./failures.ts";
import {
  computeDigest,
  failedEntry,
  isEarly,
  type JournalData,
  type JournalEntry,
  type QuestionEntry,
  type StepEntry,
} from "./journal.ts";
import { ReplayProgress } from "./replay-progress.ts";
import type { RequestContext } from "./request-context.ts";
import { SUSPENDED } from "./round.ts";
import { RunKeys } from "./run-keys.ts";
import { withinStep } from "./step-scope.ts";
import { suspend } from "./suspend.ts";

/** The services that a run needs from its transport. */
export interface AttemptHost {
  readonly context: RequestContext;
  readonly journal: JournalData;
  /** Asks the client during the run. Absent if a question ends the run. */
  readonly live?: Asker;
  /** Stores an entry. Resolves when the entry is durable. */
  readonly record: (entry: JournalEntry) => void | Promise<void>;
  /**
   * Throws if a journal is too large to be stored until the client has answered. Absent if each entry is checked
   * separately.
   */
  readonly check?: ((journal: JournalData) => void) | undefined;
}

/**
 * How long a run that seems to have diverged may continue, in milliseconds. A branch may be waiting for a timer or
 * `fetch` of the author, which the engine cannot observe and which may have been faster in the previous run.
 */
const CATCH_UP_MS = 4_000;

export class Attempt implements JournaledRun {
  readonly #host: AttemptHost;
  readonly #answers = new Map<string, QuestionEntry>();
  readonly #results = new Map<string, StepEntry>();
  /** Entries that this run has added. */
  readonly #added: JournalEntry[] = [];
  readonly #progress: ReplayProgress;
  readonly #keys = new RunKeys();
  readonly #pending = new Map<string, Pending>();
  /** The running steps, with their names. */
  readonly #runningSteps = new Map<Promise<unknown>, string>();
  #samples = 0;
  #hasDiverged = false;
  #isSuspended = false;
  #isClosed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the timer runs for a handler that seems to have diverged. */
  #isCatchingUp = false;
  /** The timer that runs while questions wait for steps. */
  #stall: ReturnType<typeof setTimeout> | undefined;
  #suspend: (value: typeof SUSPENDED) => void = () => undefined;
  readonly suspended = new Promise<typeof SUSPENDED>((resolve) => {
    this.#suspend = resolve;
  });
  readonly asker: Asker;

  constructor(host: AttemptHost) {
    this.#host = host;
    const { context, journal, live = context.asker } = host;
    for (const entry of journal.entries) {
      if ("step" in entry) this.#results.set(entry.key, entry);
      else this.#answers.set(entry.key, entry);
    }
    this.#progress = new ReplayProgress(journal, this.#answers);
    this.asker = new AttemptAsker({
      context,
      live,
      callId: journal.id,
      keys: this.#keys,
      within: (work) => this.within(work),
      ask: (...asked) => this.#ask(...asked),
      close: () => {
        this.#isClosed = true;
        clearTimeout(this.#timer);
        clearTimeout(this.#stall);
      },
    });
  }

  /** Whether messages are dropped, because the run repeats an earlier one or is over. */
  get isSilent(): boolean {
    return this.#isSuspended || !this.#progress.isPastReplay;
  }

  get hasEntries(): boolean {
    return this.#host.journal.entries.length + this.#added.length > 0 || this.#keys.hasSteps;
  }

  /** The journal with the entries that this run added and the questions that it waits for. */
  get journal(): JournalData {
    const { id, rounds, entries } = this.#host.journal;
    const asked = [...this.#pending].map(([key, { question }]) => [key, computeDigest(question)] as const);
    return { id, rounds: rounds + 1, entries: [...entries.filter((entry) => !isEarly(entry)), ...this.#added], asked };
  }

  /**
   * Returns the questions that the run waits for.
   *
   * @throws {KitError} `replay-diverged` if the handler has diverged.
   */
  questions(): Record<string, Question> {
    if (this.#hasDiverged) {
      const [asked, unreached] = [list(this.#pending.keys()), list(this.#progress.unreached())];
      throw diverged(`asked ${asked}, but not ${unreached} again, which was answered`);
    }
    return this.pending;
  }

  /**
   * The open questions of a run that continues, or that has ended for another reason. Questions that it has not reached
   * are missing.
   */
  get pending(): Record<string, Question> {
    return Object.fromEntries([...this.#pending].map(([key, { question }]) => [key, question]));
  }

  async settled(): Promise<void> {
    while (this.#runningSteps.size > 0) await Promise.allSettled(this.#runningSteps.keys());
  }

  step<T>(name: string, work: Step<T>): Promise<T> {
    return this.within(async () => {
      const key = this.#keys.ofStep(name);
      const known = this.#results.get(`step ${key}`);
      if (known) return copy(known.result) as T;
      if (this.#isClosed) throw contextClosed(`Step "${name}"`);
      const running = this.#run(name, key, work);
      this.#runningSteps.set(running, name);
      try {
        return await running;
      } finally {
        this.#runningSteps.delete(running);
        this.#look();
      }
    });
  }

  async #run<T>(name: string, key: string, work: Step<T>): Promise<T> {
    // The step failed in the previous run, or was not reached, so the following questions may differ.
    this.#progress.isSame = true;
    const done = await withinStep(name, () => work({ key: `${this.#host.journal.id}/${key}` }));
    const result = plain(name, done);
    await this.#record({ key: `step ${key}`, step: true, result });
    return copy(result) as T;
  }

  /**
   * Runs work, and marks its rejection as handled: a question or step that the handler does not await must not end the
   * process.
   */
  within<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isSuspended) return suspend();
    const result = (async () => work())();
    result.catch(() => undefined);
    return result;
  }

  // Asking

  /** @param read Throws if an answer is invalid, for the audit. */
  async #ask(
    key: string,
    question: Question,
    signal: AbortSignal,
    read?: (answer: unknown) => unknown,
  ): Promise<unknown> {
    const { live, context } = this.#host;
    const isSample = question.method === "sampling/createMessage";
    if (isSample) this.#samples += 1;
    const known = this.#answers.get(key);
    const digest = computeDigest(question);
    if (this.#progress.reach(key)) this.#look();
    if (known) {
      if (isEarly(known)) this.#added.push({ ...known, digest });
      return copy(answerTo(question, known, digest));
    }
    if (live) {
      const options = { key, digest, ...(read ? { read } : {}) };
      return this.#askNow({ key, digest }, () => live.ask(question, signal, options));
    }
    if (this.#isClosed) throw contextClosed("The question");
    requireAnswerable(question, context.client);
    const { samplesPerCallMax } = context.limits;
    if (isSample && this.#samples > samplesPerCallMax) throw overLimit("call", "samplesPerCallMax", samplesPerCallMax);
    if (this.#pending.has(key)) throw duplicateKey(key);
    return new Promise<never>((_, reject) => {
      this.#pending.set(key, { question, reject });
      this.#look();
    });
  }

  async #askNow(entry: { key: string; digest: string }, ask: () => Promise<unknown>): Promise<unknown> {
    try {
      const answer = await ask();
      await this.#record({ ...entry, answer });
      return copy(answer);
    } catch (error) {
      if (error instanceof QuestionError) await this.#record(failedEntry(entry.key, entry.digest, error));
      throw error;
    }
  }

  /**
   * Whether the handler seems to have diverged: it has not reached any of the last questions, although one of them was
   * answered, has not begun a step, and asks other questions.
   *
   * Different questions alone do not prove this. Answers in the journal are available immediately, so branches may
   * reach their questions in another order: equal questions then swap their numbers, and one branch may wait for an
   * answer that another branch has received. A step that failed may succeed when it runs again. Answers that a run does
   * not reach are stored for later runs.
   */
  get #seemsOther(): boolean {
    return !this.#progress.isSame && ![...this.#pending.keys()].some((key) => this.#keys.isRepeated(key));
  }

  async #record(entry: JournalEntry): Promise<void> {
    this.#added.push(entry);
    await this.#host.record(entry);
  }

  // Suspension

  get #isAtRest(): boolean {
    return this.#pending.size > 0 && this.#runningSteps.size === 0 && !this.#isClosed;
  }

  /**
   * Suspends the run in the next turn of the event loop, so that all questions of this turn are sent together. A
   * handler that seems to have diverged gets more time, because it may only be late.
   */
  #look(): void {
    this.#watchStall();
    const isOther = this.#seemsOther;
    // A scheduled suspension stays scheduled. The wait for a late handler ends when the handler has caught up.
    if (this.#timer !== undefined && (isOther || !this.#isCatchingUp)) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#isAtRest) return;
    this.#isCatchingUp = isOther;
    this.#timer = setTimeout(() => this.#suspendNow(), isOther ? CATCH_UP_MS : 0);
  }

  #suspendNow(): void {
    this.#timer = undefined;
    // The end of the running step calls `#look` again.
    if (this.#isAtRest) {
      this.#hasDiverged = this.#isCatchingUp;
      if (!this.#hasDiverged && this.#failWhatIsTooLarge()) return;
      this.#isSuspended = true;
      this.#suspend(SUSPENDED);
    } else this.#watchStall();
  }

  /** Fails the open questions if the journal is too large to be stored. Then the handler continues. */
  #failWhatIsTooLarge(): boolean {
    try {
      this.#host.check?.(this.journal);
      return false;
    } catch (error) {
      const failure = new QuestionError("limit", (error as Error).message);
      const pending = [...this.#pending];
      this.#pending.clear();
      for (const [key, { question, reject }] of pending) {
        // A later run gets the same error.
        this.#added.push(failedEntry(key, computeDigest(question), failure));
        reject(failure);
      }
      return true;
    }
  }

  /**
   * Bounds how long a question waits for running steps, because a step that awaits the answer would block it forever.
   */
  #watchStall(): void {
    clearTimeout(this.#stall);
    if (this.#pending.size === 0 || this.#runningSteps.size === 0 || this.#isClosed) return;
    const { elicitTimeoutMs } = this.#host.context.limits;
    this.#stall = setTimeout(() => {
      const error = stalled(this.#runningSteps.values(), elicitTimeoutMs);
      const pending = [...this.#pending.values()];
      this.#pending.clear();
      for (const { reject } of pending) reject(error);
    }, elicitTimeoutMs);
  }
}

/** A question that is asked when the run ends. */
interface Pending {
  readonly question: Question;
  readonly reject: (error: unknown) => void;
}

function answerTo({ method }: Question, entry: QuestionEntry, digest: string): unknown {
  if (entry.digest !== undefined && entry.digest !== digest) {
    throw diverged(`asked ${method} under the key "${entry.key}", which named another question`);
  }
  return toAnswer(entry);
}

/** Returns a copy that the handler may change, so that the journal stays unchanged. */
function copy(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** Returns a result in its JSON form, so that the first run gets the same value as later runs. */
function plain(name: string, result: unknown): unknown {
  try {
    return copy(result);
  } catch (error) {
    throw new KitError("result-invalid", `Step "${name}" returned a value that cannot be encoded as JSON.`, {
      cause: error,
    });
  }
}
