import type { Elicited } from "../ask/answers.ts";
import type { AskedOptions, Asker } from "../ask/asker.ts";
import type { ElicitationSchema } from "../ask/elicitation-schema.ts";
import type { QuestionOptions } from "../ask/question-options.ts";
import type { Question } from "../ask/questions.ts";
import type { SampleParams } from "../ask/sampling-params.ts";
import type { UrlElicitation } from "../ask/url-elicitation.ts";
import type { Step } from "../define/handler-run.ts";
import type { AnySchema } from "../protocol/schema.ts";
import type { Attempt } from "./attempt.ts";
import type { JournaledRun } from "./create-rounds.ts";
import type { SUSPENDED } from "./round.ts";

/**
 * A first run. Its {@link Attempt} is created when the handler needs it, because most handlers have neither questions
 * nor steps.
 */
export class LazyAttempt implements JournaledRun, Asker {
  readonly asker: Asker = this;
  readonly #create: () => Attempt;
  #created: Attempt | undefined;
  #isClosed = false;
  #suspend: (value: typeof SUSPENDED) => void = () => undefined;
  readonly suspended = new Promise<typeof SUSPENDED>((resolve) => {
    this.#suspend = resolve;
  });

  constructor(create: () => Attempt) {
    this.#create = create;
  }

  get #attempt(): Attempt {
    if (!this.#created) {
      this.#created = this.#create();
      void this.#created.suspended.then(this.#suspend);
      if (this.#isClosed) this.close();
    }
    return this.#created;
  }

  get isSilent(): boolean {
    return this.#created?.isSilent ?? false;
  }

  get hasEntries(): boolean {
    return this.#created?.hasEntries ?? false;
  }

  get journal(): unknown {
    return this.#attempt.journal;
  }

  questions(): Readonly<Record<string, Question>> {
    return this.#attempt.questions();
  }

  async settled(): Promise<void> {
    await this.#created?.settled();
  }

  step<T>(name: string, work: Step<T>): Promise<T> {
    return this.#attempt.step(name, work);
  }

  within<T>(work: () => Promise<T>): Promise<T> {
    return this.#attempt.within(work);
  }

  elicit<S extends AnySchema | ElicitationSchema>(
    message: string,
    schema: S,
    signal: AbortSignal,
    options?: QuestionOptions,
  ): Promise<Elicited<S>> {
    return this.#attempt.asker.elicit(message, schema, signal, options);
  }

  elicitUrl(elicitation: UrlElicitation, signal: AbortSignal, options?: QuestionOptions) {
    return this.#attempt.asker.elicitUrl(elicitation, signal, options);
  }

  sample(params: SampleParams, signal: AbortSignal, options?: QuestionOptions) {
    return this.#attempt.asker.sample(params, signal, options);
  }

  listRoots(signal: AbortSignal, options?: QuestionOptions) {
    return this.#attempt.asker.listRoots(signal, options);
  }

  ping(signal: AbortSignal): Promise<void> {
    return this.#attempt.asker.ping(signal);
  }

  ask(question: Question, signal: AbortSignal, options?: AskedOptions): Promise<unknown> {
    return this.#attempt.asker.ask(question, signal, options);
  }

  close(): void {
    this.#isClosed = true;
    this.#created?.asker.close?.();
  }
}
