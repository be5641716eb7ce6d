/**
 * A task object whose handler is run by a driver, such as a Workflow. Its alarm notifies the driver instead of running the
 * handler.
 *
 * @module
 */
import type { TaskStatus } from "../../core/tasks/task.ts";
import type { RoleObject } from "../object.ts";
import { toTaskId } from "../tasks/task-id.ts";
import type { TaskObject } from "../tasks/task-object.ts";
import type { TaskCaller, TaskRpc, TaskSeed } from "../tasks/task-rpc.ts";
import { TaskStore } from "../tasks/task-store.ts";

/** Identifies a task to its driver. */
export interface DrivenTask {
  readonly taskId: string;
  /** Id of the task's Durable Object: 64 hexadecimal digits. */
  readonly object: string;
}

/** The outcome of a call of `work()`, as JSON. */
export interface Turn {
  readonly status: TaskStatus;
  /** Time until the next turn, in milliseconds, unless an answer arrives earlier. 0 means immediately. */
  readonly waitMs: number;
  /** Keys of the steps completed in this turn. */
  readonly steps: readonly string[];
}

/** Runs the handler of a task by calling `work()` repeatedly until the task waits or ends. */
export interface Driver {
  /** Starts or continues the task. It may be called more often than necessary, and is called again if it rejects. */
  drive(env: unknown, task: DrivenTask): Promise<void>;
  /** Called when the task is cancelled. */
  stop(env: unknown, taskId: string): Promise<void>;
}

/** The RPC interface that a driver calls. */
export interface DrivenRpc {
  /** Runs the handler once, or joins the current run. Has no effect if the task is waiting or has ended. */
  work(): Promise<Turn>;
}

/** The minimum time between two notifications of the driver about an unchanged task, in milliseconds. */
const AGAIN_MS = 10_000;

/** A task whose handler is run by a driver. */
export class DrivenTaskObject implements RoleObject, TaskRpc, DrivenRpc {
  readonly #task: TaskObject;
  readonly #ctx: DurableObjectState;
  readonly #env: unknown;
  readonly #driver: Driver;
  #turn: Promise<void> | undefined;
  /** When the driver was last notified, and `updatedAtMs` of the task at that time. */
  #lastNotification = { atMs: 0, updatedAtMs: 0 };

  constructor(task: TaskObject, ctx: DurableObjectState, env: unknown, driver: Driver) {
    this.#task = task;
    this.#ctx = ctx;
    this.#env = env;
    this.#driver = driver;
  }

  create(seed: TaskSeed) {
    return this.#task.create(seed);
  }

  read(who: TaskCaller) {
    return this.#task.read(who);
  }

  wait(who: TaskCaller, atMostMs: number) {
    return this.#task.wait(who, atMostMs);
  }

  update(...given: Parameters<TaskRpc["update"]>) {
    return this.#task.update(...given);
  }

  async work(): Promise<Turn> {
    const before = new TaskStore(this.#ctx.storage).entries().length;
    if (this.#stored()?.status === "working") await this.#takeTurn();
    const stored = this.#stored();
    if (!stored) return { status: "failed", waitMs: 0, steps: [] };
    const { status, expiresAtMs } = stored;
    // If a run continues later, it has set the alarm to that time.
    const untilMs = status === "input_required" ? expiresAtMs : ((await this.#ctx.storage.getAlarm()) ?? 0);
    const added = new TaskStore(this.#ctx.storage).entries().slice(before);
    return {
      status,
      waitMs: Math.max(untilMs - Date.now(), 0),
      steps: added.flatMap((entry) => ("step" in entry ? [entry.key] : [])),
    };
  }

  async alarm(): Promise<void> {
    const stored = this.#stored();
    if (stored?.status !== "working" || Date.now() >= stored.expiresAtMs) return this.#takeTurn();
    // Set this alarm first, because an answer that arrives during the next await sets an earlier alarm.
    await this.#ctx.storage.setAlarm(stored.expiresAtMs);
    const { atMs, updatedAtMs } = this.#lastNotification;
    if (updatedAtMs === stored.updatedAtMs && Date.now() - atMs < AGAIN_MS) return undefined;
    const taskId = toTaskId(this.#ctx.id.toString());
    try {
      await this.#driver.drive(this.#env, { taskId, object: this.#ctx.id.toString() });
      this.#lastNotification = { atMs: Date.now(), updatedAtMs: stored.updatedAtMs };
    } catch (error) {
      console.error(`mcp-edge: the driver of task ${taskId} failed; the next attempt follows in ${AGAIN_MS} ms`, error);
      await this.#ctx.storage.setAlarm(Math.min(Date.now() + AGAIN_MS, stored.expiresAtMs));
    }
    return undefined;
  }

  async cancel(who: TaskCaller): Promise<boolean> {
    const isFound = await this.#task.cancel(who);
    if (this.#stored()?.status === "cancelled") {
      // A failure is ignored, because the next turn finds that the task has ended.
      this.#ctx.waitUntil(this.#driver.stop(this.#env, toTaskId(this.#ctx.id.toString())).catch(() => undefined));
    }
    return isFound;
  }

  /** Runs a turn. Concurrent callers share one turn. */
  #takeTurn(): Promise<void> {
    this.#turn ??= this.#task.alarm().finally(() => {
      this.#turn = undefined;
    });
    return this.#turn;
  }

  #stored() {
    const { start, state } = new TaskStore(this.#ctx.storage);
    if (!start || !state) return undefined;
    return { status: state.status, updatedAtMs: state.updatedAtMs, expiresAtMs: start.createdAtMs + start.ttlMs };
  }
}
