/**
 * The order of the steps. An exception in one step does not end the other steps.
 *
 * @module
 */
import { CliError } from "../../exit.ts";
import { redactText } from "../../terminal/redact.ts";
import type { Diagnosis, Step } from "./diagnosis.ts";
import { RateLimitedError } from "./exchange.ts";

/** Runs the steps of one command. */
export class Steps {
  readonly #diagnosis: Diagnosis;
  readonly #signal: AbortSignal;
  readonly #onStep: (step: Step) => void;

  constructor(diagnosis: Diagnosis, signal: AbortSignal, onStep: (step: Step) => void) {
    this.#diagnosis = diagnosis;
    this.#signal = signal;
    this.#onStep = onStep;
  }

  begin(step: Step): void {
    this.#diagnosis.reached = step;
    this.#onStep(step);
  }

  /**
   * Runs one step. An exception becomes a finding, except for a limit on requests, wrong use and the abort of the command, which end all steps.
   *
   * @returns the result; undefined after an exception.
   */
  async run<T>(step: Step, work: () => T | Promise<T>): Promise<T | undefined> {
    this.begin(step);
    try {
      return await work();
    } catch (error) {
      this.#signal.throwIfAborted();
      if (error instanceof RateLimitedError || error instanceof CliError) throw error;
      const message = error instanceof Error ? error.message : String(error);
      this.#diagnosis.add({
        id: "check-failed",
        step: this.#diagnosis.reached,
        severity: this.#diagnosis.severityOfGap,
        fault: "server",
        what: `This step could not be completed, because the server sent something unexpected: ${redactText(message.slice(0, 200))}.`,
        fix: "Look at the responses of the server, for example with mcp-edge ping --debug.",
      });
      return undefined;
    }
  }
}
