/**
 * The Durable Object of one task. It is created before the client receives the task id. Its alarm runs the handler
 * repeatedly until the handler finishes. Each run replays the journal of the earlier runs. The object can be evicted while
 * it waits for answers.
 *
 * When the object is reset, the current step is run again with the same key, and status messages that were not stored yet
 * are lost.
 *
 * @module
 */

import type { FailedQuestion } from "../../core/ask/answers.ts";
import type { Registry } from "../../core/define/registry.ts";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { McpError } from "../../core/protocol/errors.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import { ROUNDS_MAX } from "../../core/run/create-rounds.ts";
import { failedEntry, type QuestionEntry } from "../../core/run/journal.ts";
import type { WaitedTask } from "../../core/tasks/legacy/legacy-task-result.ts";
import { type Asked, type RunEnd, runTask } from "../../core/tasks/run-task.ts";
import type { TaskView } from "../../core/tasks/task.ts";
import type { RoleObject } from "../object.ts";
import type { ObjectServices } from "../services.ts";
import { ChangeWaiters, unansweredError, withNameOnly } from "./legacy-parts.ts";
import { toTaskId } from "./task-id.ts";
import { type TaskEnd, TaskReports } from "./task-reports.ts";
import { getOwner, type TaskCaller, type TaskRpc, type TaskSeed } from "./task-rpc.ts";
import { createTryStore, storeProgress, toCall, toFailure } from "./task-run.ts";
import {
  endless,
  expired,
  expiresAtMs,
  type FinalStatus,
  interrupted,
  isExpired,
  isOver,
  newState,
  nextAlarmMs,
  replaceQuestions,
  restore,
  toTaskView,
  wireKey,
} from "./task-state.ts";
import { type StoredQuestion, type StoredStart, type StoredState, TaskStore } from "./task-store.ts";

/** A task as it was read, with changes that have not been stored yet. */
interface LoadedTask {
  readonly start: StoredStart;
  readonly state: StoredState;
}

/** Times of a task, all in milliseconds. */
export interface TaskObjectOptions {
  /** Time from the creation of a task to its deletion. */
  readonly ttlMs: number;
  /** The interval at which clients are asked to poll the status. */
  readonly pollIntervalMs: number;
  /** How long a run lasts before it ends at its next finished step. */
  readonly runMs: number;
}

/**
 * The maximum number of consecutive runs that are interrupted without progress. The task then fails.
 * @limit count Consecutive runs of a task that a reset of its object interrupts without progress. The task then fails.
 */
const STARTS_MAX = 20;
/** The latest time, in milliseconds, at which the alarm of a task that works should be due. */
const LATER_MS = 60_000;
/** The minimum lifetime of a task, in poll intervals. */
const LOOKS_MIN = 3;

export class TaskObject implements RoleObject, TaskRpc {
  readonly #ctx: DurableObjectState;
  readonly #env: unknown;
  readonly #services: ObjectServices;
  readonly #options: TaskObjectOptions;
  readonly #store: TaskStore;
  readonly #reports: TaskReports;
  /** The task with changes that have not been stored yet. Undefined until it has been read. */
  #task: LoadedTask | undefined;
  /** Aborts the current run. Undefined if the handler is not running. */
  #running: AbortController | undefined;
  /** Keys of questions that were answered during the current run. */
  readonly #answeredKeys = new Set<string>();
  readonly #waiters = new ChangeWaiters();

  constructor(ctx: DurableObjectState, env: unknown, services: ObjectServices, options: TaskObjectOptions) {
    this.#ctx = ctx;
    this.#env = env;
    this.#services = services;
    this.#options = options;
    this.#store = new TaskStore(ctx.storage);
    this.#reports = new TaskReports(services, { env, execution: ctx }, this.#taskId);
  }

  // Called by the Worker

  async create({ ttlMs: wantedMs = Infinity, toolTtlMs, ...seed }: TaskSeed): Promise<TaskView> {
    const { pollIntervalMs } = this.#options;
    const ttlMaxMs = toolTtlMs ?? this.#options.ttlMs;
    // A task must not expire before its client polls.
    const ttlMs = Math.min(Math.max(wantedMs, pollIntervalMs * LOOKS_MIN), ttlMaxMs);
    const nowMs = Date.now();
    const start: StoredStart = { ...seed, format: 1, createdAtMs: nowMs, ttlMs, pollIntervalMs };
    const state = newState(start);
    // The alarm is set first. If the task cannot be stored, the alarm deletes what is left of it.
    await this.#ctx.storage.setAlarm(nowMs);
    this.#store.start = start;
    this.#store.state = state;
    this.#task = { start, state };
    return toTaskView(this.#taskId, start, state);
  }

  async read(caller: TaskCaller): Promise<TaskView | undefined> {
    const task = this.#find(caller);
    if (!task) return undefined;
    // The task can be read even if its alarm cannot be set. The next read tries again.
    await this.#wake(task).catch((error: unknown) => this.#reports.failed(error));
    return toTaskView(this.#taskId, task.start, task.state);
  }

  async wait(caller: TaskCaller, atMostMs: number): Promise<WaitedTask | undefined> {
    if ((await this.read(caller))?.status === "working") await this.#waiters.next(atMostMs);
    const view = await this.read(caller);
    const task = this.#task;
    return view && task && { ...view, request: withNameOnly(task.start.request), wakeAtMs: task.state.wakeAtMs };
  }

  async update(
    caller: TaskCaller,
    responses: JsonObject,
    failed: Record<string, FailedQuestion> = {},
  ): Promise<boolean> {
    const task = this.#find(caller);
    if (!task) return false;
    const { questions } = task.state;
    const open = Object.keys(questions).filter((key) => !Object.hasOwn(failed, key) && !Object.hasOwn(responses, key));
    if (open.length === Object.keys(questions).length) return true;
    // The alarm is set first. If the answers cannot be stored, the alarm finds that the task still waits for them.
    if (open.length === 0) await this.#ctx.storage.setAlarm(Date.now());
    this.#change(task.state, () => this.#answer(task, responses, failed));
    return true;
  }

  /** Changes a task. A change that cannot be stored is undone, so that it can be repeated. */
  #change(state: StoredState, change: () => void): void {
    const before = structuredClone(state);
    try {
      change();
    } catch (error) {
      restore(state, before);
      throw error;
    }
  }

  #answer({ start, state }: LoadedTask, responses: JsonObject, failed: Readonly<Record<string, FailedQuestion>>): void {
    const answered: StoredQuestion[] = [];
    const answers: unknown[] = [];
    const entries: QuestionEntry[] = [];
    for (const [key, question] of Object.entries(state.questions)) {
      const failure = Object.hasOwn(failed, key) ? failed[key] : undefined;
      if (!failure && !Object.hasOwn(responses, key)) continue;
      const { key: own, digest } = question;
      answered.push(question);
      answers.push(responses[key]);
      delete state.questions[key];
      if (failure) {
        // The task fails if the handler asked by returning inputRequired(), because it has no call that could throw.
        if (digest === undefined) {
          this.#settle(state, { status: "failed", error: unansweredError(failure) });
          return;
        }
        entries.push(failedEntry(own, digest, failure));
      } else if (digest === undefined) state.answers[own] = responses[key];
      else entries.push({ key: own, digest, answer: responses[key] });
    }
    if (answered.length === 0) return;
    // The handler runs again only once all its questions have been answered.
    if (Object.keys(state.questions).length === 0) {
      if (Object.keys(state.answers).length > 0) state.round = { ...state.round, inputResponses: state.answers };
      state.answers = {};
      state.status = "working";
    }
    this.#store.atomically(() => {
      for (const entry of entries) this.#store.addAnswer(entry);
      this.#save(state);
    });
    for (const { key } of answered) this.#answeredKeys.add(key);
    this.#ctx.waitUntil(this.#reports.closed(start, answered, answers));
  }

  async cancel(caller: TaskCaller): Promise<boolean> {
    const task = this.#find(caller);
    if (!task) return false;
    if (isOver(task.state)) return true;
    this.#change(task.state, () => this.#settle(task.state, { status: "cancelled" }));
    this.#running?.abort(new McpError(ErrorCode.InternalError, "The task was cancelled."));
    return true;
  }

  // Alarm and runs

  async alarm(): Promise<void> {
    const task = this.#load();
    if (!task || isExpired(task.start)) return this.#forget();
    const { start, state } = task;
    if (this.#running) return undefined;
    const { status, wakeAtMs = Infinity } = state;
    if (status === "working" || (status === "input_required" && wakeAtMs <= Date.now())) await this.#run(start, state);
    if (isExpired(start)) return this.#forget();
    await this.#ctx.storage.setAlarm(nextAlarmMs(start, state));
  }

  /** Runs the handler once. If the run is paused or interrupted, the task stays `working`. */
  async #run(start: StoredStart, state: StoredState): Promise<void> {
    const entries = this.#store.entries();
    if (!this.#beginRun(state, entries.length)) return;
    const running = new AbortController();
    const refusals: unknown[] = [];
    const storing = storeProgress(running, (error) => {
      refusals.push(error);
      this.#reports.failed(error);
    });
    this.#running = running;
    this.#answeredKeys.clear();
    // The counter must be durable before the handler starts. Otherwise a handler that crashes its object would run forever.
    await this.#ctx.storage.sync();
    const expiry = setTimeout(() => running.abort(expired()), Math.min(expiresAtMs(start) - Date.now(), 2 ** 31 - 1));
    const untilMs = Date.now() + this.#options.runMs;
    let registry: Registry | undefined;
    try {
      registry = await this.#services.serverFor(start.http, this.#env, start.principal);
      const call = await toCall(
        registry,
        start,
        { env: this.#env, execution: this.#ctx, ending: running },
        this.#services,
      );
      const end = await runTask(call, {
        taskId: this.#taskId,
        journal: {
          ...start.journal,
          entries: [...start.journal.entries, ...entries],
          asked: state.asked ?? start.journal.asked,
        },
        round: state.round,
        record: (entry) => storing(() => this.#store.addEntry(entry)),
        report: (message) => {
          if (isOver(state)) return;
          state.message = message;
          state.updatedAtMs = Date.now();
        },
        isDue: () => Date.now() >= untilMs,
        tries: createTryStore(state, storing, this.#store),
      });
      // Does nothing if the task was cancelled or expired during the run.
      if (!isOver(state)) storing(() => this.#change(state, () => this.#end(state, end)));
      if (refusals.length > 0) throw refusals[0];
    } catch (error) {
      if (refusals.length > 0) throw error;
      // Thrown by the server function, or because the handler returned too many states without a question.
      const failed = toFailure(error, start, registry, this.#services);
      if (!isOver(state)) this.#change(state, () => this.#settle(state, { status: "failed", error: failed }));
    } finally {
      clearTimeout(expiry);
      this.#running = undefined;
      registry?.changes.publish({ kind: "task", id: this.#taskId });
    }
  }

  /** Stores that a run begins. Returns false if too many runs were interrupted, so that the task has failed. */
  #beginRun(state: StoredState, entries: number): boolean {
    if (entries > state.journaled) Object.assign(state, { starts: 0, silent: 0 });
    this.#change(state, () => {
      if (state.starts >= STARTS_MAX) this.#settle(state, { status: "failed", error: interrupted(STARTS_MAX) });
      else this.#store.state = Object.assign(state, { starts: state.starts + 1, journaled: entries });
    });
    return !isOver(state);
  }

  #end(state: StoredState, end: RunEnd): void {
    switch (end.kind) {
      case "completed":
        this.#settle(state, { status: "completed", result: end.result });
        break;
      case "failed":
        this.#settle(state, { status: "failed", error: end.error, message: end.error.message });
        break;
      case "paused":
        state.wakeAtMs = Date.now();
        break;
      case "waiting":
        this.#rest(state, [], end.wakeAtMs);
        break;
      case "asked": {
        if (end.round) {
          state.round = { inputResponses: {}, requestState: end.round.requestState };
          state.silent = end.questions.length > 0 ? 0 : state.silent + 1;
          if (state.silent >= ROUNDS_MAX) throw endless();
        }
        // A question that was open at the start of the run may have been answered since then.
        const open = end.questions.filter(({ key, digest }) => digest === undefined || !this.#answeredKeys.has(key));
        this.#rest(
          state,
          open.map((asked) => [wireKey(asked, state), asked]),
          open.length > 0 ? end.wakeAtMs : Date.now(),
        );
      }
    }
  }

  /** Stores that the task is waiting. This counts as progress even if the journal has not grown. */
  #rest(state: StoredState, asked: readonly (readonly [string, Asked])[], wakeAtMs: number | undefined): void {
    const questions = asked.map(([key, each]) => {
      return [key, { ...each, askedAtMs: state.questions[key]?.askedAtMs ?? Date.now() }] as const;
    });
    const closed = replaceQuestions(state, Object.fromEntries(questions));
    state.asked = asked.flatMap(([, { key, digest }]) => (digest === undefined ? [] : [[key, digest]]));
    Object.assign(state, { status: asked.length > 0 ? "input_required" : "working", wakeAtMs, starts: 0 });
    this.#save(state);
    this.#reportClosed(closed);
  }

  // Internal

  #settle(state: StoredState, end: { readonly status: FinalStatus } & Partial<StoredState>): void {
    const closed = replaceQuestions(state, {});
    Object.assign(state, end, { answers: {} });
    this.#save(state);
    this.#reportClosed(closed);
    const { status, error, result } = end;
    const isOk = status === "completed" && result?.isError !== true;
    const outcome = status === "cancelled" ? status : isOk ? "ok" : "error";
    this.#reportEnd({ taskStatus: status, outcome, errorCode: error?.code });
  }

  /** Reports that questions are no longer open and were not answered. */
  #reportClosed(closed: readonly StoredQuestion[]): void {
    const start = this.#load()?.start;
    if (start) this.#ctx.waitUntil(this.#reports.closed(start, closed));
  }

  #reportEnd(end: TaskEnd): void {
    const start = this.#load()?.start;
    if (start) this.#ctx.waitUntil(this.#reports.ended(start, end));
  }

  #save(state: StoredState): void {
    state.updatedAtMs = Date.now();
    this.#store.state = state;
    this.#waiters.end();
  }

  /** Sets the alarm again if the runtime has dropped it, or if it is later than the retry of a failed run or driver. */
  async #wake({ start, state }: LoadedTask): Promise<void> {
    const atMs = nextAlarmMs(start, state);
    const latestMs = Math.max(atMs, Math.min(Date.now() + LATER_MS, expiresAtMs(start) - 1));
    const alarmAtMs = (await this.#ctx.storage.getAlarm()) ?? Infinity;
    if (alarmAtMs > latestMs && !this.#running) await this.#ctx.storage.setAlarm(atMs);
  }

  #load() {
    if (!this.#task) {
      const { start, state } = this.#store;
      if (start && state) this.#task = { start, state };
    }
    return this.#task;
  }

  #find({ owner, scopes }: TaskCaller) {
    const task = this.#load();
    if (!task || isExpired(task.start) || getOwner(task.start) !== owner) return undefined;
    const needed = scopes && this.#services.scopesOf?.([{ ...task.start.request }]);
    return !needed || needed.every((scope) => scopes.includes(scope)) ? task : undefined;
  }

  async #forget(): Promise<void> {
    const { state } = this.#load() ?? {};
    await this.#ctx.storage.deleteAll();
    if (state && !isOver(state)) {
      this.#reportClosed(Object.values(state.questions));
      this.#reportEnd({ taskStatus: "expired", outcome: "error", errorCode: undefined });
    }
    this.#task = undefined;
    this.#store.reset();
    this.#waiters.end();
  }

  get #taskId(): string {
    return toTaskId(this.#ctx.id.toString());
  }
}
