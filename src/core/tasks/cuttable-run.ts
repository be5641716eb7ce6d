/**
 * A run of a handler that can be ended between its steps, to go on in another: on the request where it becomes a task,
 * and in a task before the platform ends it.
 *
 * @module
 */
import type { Asker } from "../asker.ts";
import type { Attempt } from "../replay/attempt.ts";
import type { Replaying, Step, StepContext, SUSPENDED } from "../rounds.ts";

/** What a run ends with that was cut. */
export const CUT: unique symbol = Symbol("cut");

const never = new Promise<never>(() => undefined);

export class CuttableRun implements Replaying {
  readonly #attempt: Attempt;
  readonly #isDue: () => boolean;
  readonly #cutAtTask: boolean;
  #stepsUnderWay = 0;
  #isCut = false;
  readonly #end = Promise.withResolvers<typeof CUT>();
  readonly suspended: Promise<typeof SUSPENDED>;

  /** @param isDue Whether to end after a step that was done now. */
  constructor(attempt: Attempt, options: { readonly isDue: () => boolean; readonly cutAtTask: boolean }) {
    this.#attempt = attempt;
    this.#isDue = options.isDue;
    this.#cutAtTask = options.cutAtTask;
    // What a run ends with is handed through to whoever began it, whatever it is.
    this.suspended = Promise.race([attempt.suspended, this.#end.promise as Promise<never>]);
  }

  get asker(): Asker {
    return this.#attempt.asker;
  }

  get isSilent(): boolean {
    return this.#isCut || this.#attempt.isSilent;
  }

  async step<T>(name: string, work: Step<T>): Promise<T> {
    if (this.#isCut) return never;
    let isNew = false;
    const done = (context: StepContext) => {
      isNew = true;
      return work(context);
    };
    this.#stepsUnderWay += 1;
    try {
      const result = await this.#attempt.step(name, done);
      if (isNew && this.#isDue()) this.#isCut = true;
      return this.#isCut ? never : result;
    } catch (error) {
      // The next run does it again.
      if (this.#isCut) return never;
      throw error;
    } finally {
      this.#stepsUnderWay -= 1;
      this.#look();
    }
  }

  within<T>(work: () => Promise<T>): Promise<T> {
    return this.#isCut ? never : this.#attempt.within(work);
  }

  async task(): Promise<void> {
    if (!this.#cutAtTask) return undefined;
    this.#isCut = true;
    this.#look();
    return never;
  }

  /** Steps that have begun are awaited first, so that none is done twice for nothing. */
  #look(): void {
    if (this.#isCut && this.#stepsUnderWay === 0) this.#end.resolve(CUT);
  }
}
