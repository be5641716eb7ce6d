/**
 * Calls the author's hooks for the end of a task and for the outcome of each of its sampling requests. Each hook is called
 * at most once. A call that is pending when the object is reset is lost.
 *
 * @module
 */

import type { AskedBy } from "../../core/ask/asked-by.ts";
import { reportSample } from "../../core/ask/sampling-audit.ts";
import type { RequestEnd } from "../../core/define/hook-types.ts";
import type { Registry } from "../../core/define/registry.ts";
import { runDetached } from "../../core/protocol/error-reports.ts";
import type { HookContext } from "../../core/protocol/execution.ts";
import { reportAnsweredSample } from "../../core/run/sampling-rounds.ts";
import { hookData } from "../../core/serve/hooks.ts";
import type { ObjectServices } from "../services.ts";
import { findCaller } from "./legacy-parts.ts";
import type { StoredQuestion, StoredStart } from "./task-store.ts";

export type TaskEnd = Required<Pick<RequestEnd, "taskStatus">> & Pick<RequestEnd, "outcome" | "errorCode">;

export class TaskReports {
  readonly #services: ObjectServices;
  readonly #surroundings: Pick<HookContext, "env" | "execution">;
  readonly #taskId: string;

  /** @param surroundings The bindings, and the state of the object as execution context. */
  constructor(services: ObjectServices, surroundings: Pick<HookContext, "env" | "execution">, taskId: string) {
    this.#services = services;
    this.#surroundings = surroundings;
    this.#taskId = taskId;
  }

  /** Calls `onRequestEnd`. Never rejects. */
  async ended(start: StoredStart, end: TaskEnd): Promise<void> {
    const durationMs = Date.now() - start.createdAtMs;
    await this.#report(start, (by) => {
      const about = { ...hookData(by), taskId: this.#taskId };
      by.registry.reportEnd(
        { ...about, ...end, durationMs },
        this.#services.onError,
        this.#services.hooks?.onRequestEnd,
      );
    });
  }

  /**
   * Calls `onSample` for each question that is a sampling request. Without `answers`, they are reported as cancelled. The
   * sampling requests of a legacy client are reported by the code that sends them instead. Never rejects.
   */
  async closed(start: StoredStart, questions: readonly StoredQuestion[], answers?: readonly unknown[]): Promise<void> {
    if (start.client) return;
    const samples = questions
      .map((question, at) => ({ ...question, answer: answers?.[at] }))
      .filter(({ request }) => request.method === "sampling/createMessage");
    if (samples.length === 0) return;
    await this.#report(start, (call) => {
      for (const { request, askedAtMs, answer } of samples) {
        const { maxTokens } = request.params as { readonly maxTokens: number };
        if (answers) reportAnsweredSample(maxTokens, askedAtMs, answer, call);
        else reportSample(call, { maxTokens, outcome: "cancelled", durationMs: Date.now() - askedAtMs });
      }
    });
  }

  async #report(start: StoredStart, report: (by: AskedBy & { readonly registry: Registry }) => void) {
    const { onError } = this.#services;
    try {
      const { principal, request } = start;
      const registry = await this.#services.serverFor(start.http, this.#surroundings.env, principal);
      report({ ...this.#surroundings, registry, request, client: findCaller(start, registry), principal, onError });
    } catch (error) {
      // Thrown by the server function.
      this.failed(error);
    }
  }

  /** Calls `onError`. */
  failed(error: unknown): void {
    const report = () => this.#services.onError(error, { correlationId: crypto.randomUUID(), method: "(task)" });
    runDetached(report, () => undefined);
  }
}
