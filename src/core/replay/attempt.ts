/**
 * One run of a handler over a journal. What the journal has is returned at once; what it has not is asked, or done.
 * Where the client cannot be asked in the middle of a request the run is suspended once it can go no further: it waits
 * for an answer and no step is under way. Nothing it does afterwards has any effect.
 *
 * @module
 */
import { type Asker, type Elicited, QuestionError } from "../asker.ts";
import type { Call } from "../context.ts";
import type { ElicitationSchema } from "../elicitation-schema.ts";
import { KitError } from "../errors.ts";
import type { Attempted } from "../input-required.ts";
import type { JsonObject } from "../jsonrpc.ts";
import type { Question } from "../question.ts";
import {
  checkSampleParams,
  elicitQuestion,
  misfit,
  readAnswer,
  readRoots,
  readSampleResult,
  requireAnswerable,
  requireJson,
  tryElicitResult,
} from "../questions.ts";
import { type QuestionOptions, type Step, type StepContext, SUSPENDED } from "../rounds.ts";
import type { AnySchema } from "../schema.ts";
import { type UrlElicitation, urlParams } from "../url-elicitation.ts";
import { digestOf, idFrom, type JournalData, type JournalEntry } from "./journal.ts";

/** What a run needs of the way it is served. */
export interface AttemptHost {
  readonly call: Call<never>;
  readonly journal: JournalData;
  /** Asks the client at once; absent where it is asked by ending the run. */
  readonly live?: Asker;
  /** Stores an entry. Resolves when it will not be lost. */
  readonly record: (entry: JournalEntry) => void | Promise<void>;
}

/** How often an answer that does not fit is asked for again. */
const REASKS_MAX = 3;
const never = new Promise<never>(() => undefined);

export class Attempt implements Attempted {
  readonly #host: AttemptHost;
  readonly #entries = new Map<string, JournalEntry>();
  /** What this run has added. */
  readonly #added: JournalEntry[] = [];
  readonly #unused: Set<string>;
  readonly #uses = new Map<string, number>();
  readonly #pending = new Map<string, Question>();
  #stepsUnderWay = 0;
  #isOnNewGround: boolean;
  #isSuspended = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #suspend: (value: typeof SUSPENDED) => void = () => undefined;
  readonly suspended = new Promise<typeof SUSPENDED>((resolve) => {
    this.#suspend = resolve;
  });
  readonly asker: Asker;

  constructor(host: AttemptHost) {
    this.#host = host;
    for (const entry of host.journal.entries) this.#entries.set(entry.key, entry);
    // What a client says before it was asked need not be of use.
    const had = host.journal.entries.filter((entry) => "step" in entry || entry.digest !== undefined);
    this.#unused = new Set(had.map(({ key }) => key));
    this.#isOnNewGround = this.#unused.size === 0;
    this.asker = this.#createAsker();
  }

  /** Whether the run repeats what another has said already, or is over: it says nothing. */
  get isSilent(): boolean {
    return this.#isSuspended || !this.#isOnNewGround;
  }

  get hasEntries(): boolean {
    return this.#entries.size + this.#added.length > 0;
  }

  /** The journal with what this run added, and what it waits for. */
  get journal(): JournalData {
    const { id, rounds, entries } = this.#host.journal;
    const asked = [...this.#pending].map(([key, question]) => [key, digestOf(question)] as const);
    return { id, rounds: rounds + 1, entries: [...entries, ...this.#added], asked };
  }

  /** What it waits for. @throws {KitError} `replay-diverged` when it no longer asks for what was answered. */
  questions(): Record<string, Question> {
    const answered = [...this.#unused].filter((key) => !("step" in (this.#entries.get(key) ?? {})));
    if (answered.length > 0) {
      throw diverged(
        `asked for ${list(this.#pending.keys())}, and not again for ${list(answered)}, which was answered`,
      );
    }
    return Object.fromEntries(this.#pending);
  }

  async step<T>(name: string, work: Step<T>): Promise<T> {
    if (this.#isSuspended) return never;
    const key = this.#numbered(`step ${name}`);
    const known = this.#take(key);
    if (known && "step" in known) return known.step as T;
    if (known) throw diverged(`began step "${name}" where it asked before`);
    this.#isOnNewGround = true;
    this.#stepsUnderWay += 1;
    try {
      const context: StepContext = { key: `${this.#host.journal.id}/${key.slice("step ".length)}` };
      const result = plain(name, await work(context));
      await this.#record({ key, step: result });
      return result as T;
    } finally {
      this.#stepsUnderWay -= 1;
      this.#look();
    }
  }

  // Asking

  #createAsker(): Asker {
    const { call, live = call.asker } = this.#host;
    return {
      elicit: (message, schema, signal, options) => heard(() => this.#elicit(message, schema, signal, options)),
      elicitUrl: (elicitation, signal, options) => heard(() => this.#elicitUrl(elicitation, signal, options)),
      sample: (params, signal, options) =>
        heard(async () => {
          checkSampleParams(params);
          return this.#once({ method: "sampling/createMessage", params }, readSampleResult, signal, options);
        }),
      listRoots: (signal, options) => heard(() => this.#once({ method: "roots/list" }, readRoots, signal, options)),
      ping: (signal) => live.ping(signal),
      ask: (question, signal) => live.ask(question, signal),
      close: () => live.close?.(),
    };
  }

  /** Asks until what the person says fits, some times. */
  async #elicit<S extends AnySchema | ElicitationSchema>(
    message: string,
    schema: S,
    signal: AbortSignal,
    options: QuestionOptions = {},
  ): Promise<Elicited<S>> {
    let question = elicitQuestion(message, schema);
    const key = this.#keyOf(question, options);
    for (let again = 0; ; again += 1) {
      const answer = await this.#ask(again === 0 ? key : `${key}~${again}`, question, signal);
      const read = await tryElicitResult(answer, schema);
      if (typeof read !== "string") return read;
      if (again === REASKS_MAX) throw misfit(read);
      question = elicitQuestion(`${message}\n\n(${read})`, schema);
    }
  }

  async #once<T>(
    question: Question,
    read: (answer: unknown) => T,
    signal: AbortSignal,
    options: QuestionOptions = {},
  ): Promise<T> {
    return read(await this.#ask(this.#keyOf(question, options), question, signal, read));
  }

  async #elicitUrl(elicitation: UrlElicitation, signal: AbortSignal, options: QuestionOptions = {}) {
    const params = urlParams({ ...elicitation, elicitationId: elicitation.elicitationId ?? "made" });
    const question: Question = { method: "elicitation/create", params };
    const key = this.#keyOf(question, options);
    // The same on every run, unlike others: the author may have stored it.
    const elicitationId = elicitation.elicitationId ?? idFrom(this.#host.journal.id, key);
    const asked: Question = { method: "elicitation/create", params: { ...params, elicitationId } };
    return { action: readAnswer(await this.#ask(key, asked, signal)).action, elicitationId };
  }

  /** @param read Throws what is wrong with an answer, for the record of what was asked. */
  async #ask(
    key: string,
    question: Question,
    signal: AbortSignal,
    read?: (answer: unknown) => unknown,
  ): Promise<unknown> {
    if (this.#isSuspended) return never;
    const known = this.#take(key);
    const digest = digestOf(question);
    if (known) return answerOf(known, question, digest);
    requireAnswerable(question, this.#host.call.client);
    this.#isOnNewGround = true;
    const { live } = this.#host;
    if (live)
      return this.#askNow({ key, digest }, () => live.ask(question, signal, { key, ...(read ? { read } : {}) }));
    if (this.#pending.has(key)) throw new KitError("options-invalid", `The key "${key}" names two questions at once.`);
    this.#pending.set(key, question);
    this.#look();
    return never;
  }

  async #askNow(entry: { key: string; digest: string }, ask: () => Promise<unknown>): Promise<unknown> {
    try {
      const answer = await ask();
      await this.#record({ ...entry, answer });
      return answer;
    } catch (error) {
      if (error instanceof QuestionError) {
        const { reason, message, code } = error;
        await this.#record({ ...entry, failed: { reason, message, code } });
      }
      throw error;
    }
  }

  // Keys

  /** The author's key, or one made of what is asked; the same question asked again gets a number. */
  #keyOf(question: Question, { key }: QuestionOptions): string {
    requireJson(question);
    if (key !== undefined) return key;
    const kind = question.method.slice(0, question.method.indexOf("/"));
    return this.#numbered(`${kind}-${digestOf(question)}`);
  }

  #numbered(name: string): string {
    const use = (this.#uses.get(name) ?? 0) + 1;
    this.#uses.set(name, use);
    return use === 1 ? name : `${name}.${use}`;
  }

  #take(key: string): JournalEntry | undefined {
    const entry = this.#entries.get(key);
    this.#unused.delete(key);
    if (this.#unused.size === 0) queueMicrotask(() => this.#arrive());
    return entry;
  }

  /** Everything known has been had: what comes now is new. */
  #arrive(): void {
    this.#isOnNewGround = true;
  }

  async #record(entry: JournalEntry): Promise<void> {
    this.#added.push(entry);
    await this.#host.record(entry);
  }

  // Suspension

  /** Suspends in a later turn, so that what is asked in this one goes out together. */
  #look(): void {
    if (this.#timer !== undefined || this.#isSuspended) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      // A step that ends looks again.
      if (this.#pending.size === 0 || this.#stepsUnderWay > 0) return;
      this.#isSuspended = true;
      this.#suspend(SUSPENDED);
    }, 0);
  }
}

/** What `work` gives. A question nobody waits for must not end the process when it is called off. */
function heard<T>(work: () => Promise<T>): Promise<T> {
  const answer = work();
  answer.catch(() => undefined);
  return answer;
}

function answerOf(entry: JournalEntry, { method }: Question, digest: string): unknown {
  if ("step" in entry) throw diverged(`asked ${method} where it began a step`);
  if (entry.digest !== undefined && entry.digest !== digest) {
    throw diverged(`asked ${method} under the key "${entry.key}", which named another question`);
  }
  if ("failed" in entry) {
    const { reason, message, code } = entry.failed;
    throw new QuestionError(reason as QuestionError["reason"], message, code);
  }
  return entry.answer;
}

/** What JSON makes of a result, so that the first run sees what later ones will. */
function plain(name: string, result: unknown): unknown {
  try {
    return result === undefined ? undefined : (JSON.parse(JSON.stringify(result)) as JsonObject);
  } catch (error) {
    throw new KitError("result-invalid", `Step "${name}" returned what JSON has no form for.`, { cause: error });
  }
}

function diverged(what: string): KitError {
  return new KitError(
    "replay-diverged",
    `Run again, the handler ${what}. Between questions a handler does the same with the same answers: keep clocks, ` +
      "random values and what others may change in ctx.step().",
  );
}

function list(keys: Iterable<string>): string {
  return [...keys].map((key) => `"${key}"`).join(", ");
}
